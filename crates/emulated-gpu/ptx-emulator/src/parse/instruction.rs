//! Parser of instructions and their operands (PTX ISA, "Instruction Operands").

use super::{Parser, Result};
use crate::check::intrinsic;
use crate::diagnostic::Problem;
use crate::lexer::TokenKind;
use crate::syntax::{Binary, Expression, Instruction, Name, Node, Operand, OperandKind};

impl<'a> Parser<'a, '_> {
    /// Parses `@p opcode.modifiers operands;`.
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

    /// Whether the next token begins another line and can't begin an operand. Then a `;` is missing, and that
    /// is the better error.
    fn at_line_end(&self) -> bool {
        matches!(self.kind(), TokenKind::End | TokenKind::Mark("}" | "@"))
    }

    fn operand(&mut self, call: bool) -> Result<Operand<'a>> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Mark("{") => {
                self.advance();
                let parts = self.nested(|p| p.list("}", Self::element))?;
                if self.take("|") {
                    OperandKind::VectorPair(parts, self.expression()?)
                } else {
                    OperandKind::Vector(parts)
                }
            }
            TokenKind::Mark("(") if call => {
                self.advance();
                OperandKind::List(self.nested(|p| p.list(")", Self::element))?)
            }
            TokenKind::Mark("[") => {
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
            _ => self.plain_operand(call)?,
        };
        Ok(Operand { kind, span: self.since(start) })
    }

    /// Parses an element of a vector or a list, which can't be a sum of a register and a constant.
    fn element(&mut self) -> Result<Operand<'a>> {
        let operand = self.operand(false)?;
        if let OperandKind::Plain(Node {
            expression: Expression::Binary(Binary::Add, left, _), ..
        }) = &operand.kind
            && matches!(left.expression, Expression::Name(name) if name != "WARP_SZ")
        {
            self.problems.push(
                Problem::new(operand.span, "a sum is not allowed in braces or parentheses")
                    .help("add first, with add, and name the register that holds the sum"),
            );
        }
        Ok(operand)
    }

    fn plain_operand(&mut self, call: bool) -> Result<OperandKind<'a>> {
        let node = self.expression()?;
        if let Expression::Name(text) = node.expression
            && self.is("(")
        {
            if call {
                return Err(self
                    .expected("`,`")
                    .help("write call (results), function, (arguments);"));
            }
            return Err(call_error(Name { text, span: node.span }));
        }
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

/// The error for `name(` in an operand: C has calls there, PTX has instructions.
fn call_error(name: Name) -> Problem {
    let help = match intrinsic(name.text) {
        Some(ptx) => format!("write {ptx} into a register first, and name that here"),
        None => "call it first, with call, or compute its value with instructions, and name the \
                 register here"
            .into(),
    };
    Problem::new(name.span, format!("`{}` can't be called in an operand", name.text))
        .label("an operand is a register or a constant")
        .help(help)
}
