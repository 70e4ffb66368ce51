//! Instructions and their operands (PTX ISA, "Instruction Operands").

use super::{Parser, Result};
use crate::lexer::Kind;
use crate::syntax::{Expression, Instruction, Name, Operand, OperandKind};

impl<'a> Parser<'a, '_> {
    /// `@p opcode.modifiers operands;`
    pub(super) fn instruction(&mut self) -> Result<Instruction<'a>> {
        let start = self.span();
        let guard = if self.take("@") {
            let negated = self.take("!");
            Some((self.name("a predicate register")?, negated))
        } else {
            None
        };
        let opcode = self.name("an instruction")?;
        let modifiers = self.modifiers();
        let mut operands = Vec::new();
        if !self.is(";") && !self.at_line_end() {
            loop {
                operands.push(self.operand(opcode.text == "call")?);
                if !self.take(",") {
                    break;
                }
            }
        }
        let span = self.since(start);
        self.semicolon()?;
        Ok(Instruction { guard, opcode, modifiers, operands, span })
    }

    /// Whether the next token begins another line with something that no operand begins with: then
    /// a `;` is missing, which is said better there.
    fn at_line_end(&self) -> bool {
        matches!(self.kind(), Kind::End | Kind::Mark("}" | "@"))
    }

    fn operand(&mut self, call: bool) -> Result<Operand<'a>> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Mark("{") => {
                self.advance();
                OperandKind::Vector(self.nested(|p| p.list("}", |p| p.operand(false)))?)
            }
            Kind::Mark("(") if call => {
                self.advance();
                OperandKind::List(self.nested(|p| p.list(")", |p| p.operand(false)))?)
            }
            Kind::Mark("[") => {
                self.advance();
                let base = self.expression()?;
                let more = if self.take(",") {
                    self.nested(|p| p.list("]", |p| p.operand(false)))?
                } else {
                    self.expect("]")?;
                    Vec::new()
                };
                OperandKind::Address(base, more)
            }
            _ => self.plain()?,
        };
        Ok(Operand { kind, span: self.since(start) })
    }

    fn plain(&mut self) -> Result<OperandKind<'a>> {
        let node = self.expression()?;
        if let Expression::Name(text) = node.expression
            && self.take("[")
        {
            let index = self.expression()?;
            self.expect("]")?;
            return Ok(OperandKind::Element(Name { text, span: node.span }, index));
        }
        Ok(OperandKind::Plain(node))
    }
}
