//! Parser of expressions (PTX ISA, "Constant Expressions"), with C's precedences.

use super::{Parser, Result};
use crate::diagnostic::Problem;
use crate::lexer::TokenKind;
use crate::syntax::{Binary, Expression, Name, Node, Unary};

/// Maximum number of operators in one expression, because its tree is processed recursively.
const MAX_OPERATORS: u32 = 512;

impl<'a> Parser<'a, '_> {
    pub(super) fn expression(&mut self) -> Result<Node<'a>> {
        let mut operators = 0;
        self.ternary(&mut operators)
    }

    fn count(&self, operators: &mut u32) -> Result<()> {
        *operators += 1;
        if *operators <= MAX_OPERATORS {
            return Ok(());
        }
        Err(Problem::new(self.span(), "the expression is too long")
            .help(format!("at most {MAX_OPERATORS} operators are read")))
    }

    fn ternary(&mut self, operators: &mut u32) -> Result<Node<'a>> {
        let start = self.span();
        let condition = self.binary(0, operators)?;
        if !self.take("?") {
            return Ok(condition);
        }
        self.count(operators)?;
        let yes = self.nested(|parser| parser.ternary(operators))?;
        self.expect(":")?;
        let no = self.nested(|parser| parser.ternary(operators))?;
        let expression = Expression::Ternary(Box::new([condition, yes, no]));
        Ok(Node { expression, span: self.since(start) })
    }

    /// Parses operators that bind at least as strongly as `weakest`.
    fn binary(&mut self, weakest: u8, operators: &mut u32) -> Result<Node<'a>> {
        let start = self.span();
        let mut left = self.unary(operators)?;
        while let Some((operator, strength)) = operator(self.kind()) {
            if strength < weakest {
                break;
            }
            self.count(operators)?;
            self.advance();
            let right = self.binary(strength + 1, operators)?;
            let expression = Expression::Binary(operator, Box::new(left), Box::new(right));
            left = Node { expression, span: self.since(start) };
        }
        Ok(left)
    }

    fn unary(&mut self, operators: &mut u32) -> Result<Node<'a>> {
        let start = self.span();
        let operator = match self.kind() {
            TokenKind::Mark("+") => Unary::Plus,
            TokenKind::Mark("-") => Unary::Minus,
            TokenKind::Mark("!") => Unary::Not,
            TokenKind::Mark("~") => Unary::Complement,
            _ => return self.primary(operators),
        };
        self.count(operators)?;
        self.advance();
        let of = self.nested(|parser| parser.unary(operators))?;
        Ok(Node { expression: Expression::Unary(operator, Box::new(of)), span: self.since(start) })
    }

    fn primary(&mut self, operators: &mut u32) -> Result<Node<'a>> {
        let start = self.span();
        let expression = match self.kind() {
            TokenKind::Integer { value, unsigned } => {
                self.advance();
                // `0xff(name)` selects a byte of an address.
                if self.is("(") && self.kind_ahead(1) == TokenKind::Word {
                    self.count(operators)?;
                    self.advance();
                    let of = Box::new(self.nested(|parser| parser.ternary(operators))?);
                    self.expect(")")?;
                    Expression::Mask { mask: value, of }
                } else {
                    Expression::Integer { value, unsigned }
                }
            }
            TokenKind::Float(value) => {
                self.advance();
                Expression::Float(value)
            }
            TokenKind::Single(bits) => {
                self.advance();
                Expression::Single(bits)
            }
            TokenKind::Word => self.named_operand()?,
            TokenKind::Mark("(") => {
                self.advance();
                return self.parenthesised(start, operators);
            }
            _ => return Err(self.expected("a register, a name or a constant")),
        };
        Ok(Node { expression, span: self.since(start) })
    }

    fn named_operand(&mut self) -> Result<Expression<'a>> {
        let name = self.name("a name")?;
        if name.text == "generic" && self.is("(") {
            self.advance();
            let of = self.name("the name of a variable")?;
            self.expect(")")?;
            return Ok(Expression::Generic(of));
        }
        // `%tid.x`: no blanks are allowed in between.
        if self.kind() == TokenKind::Dotted && self.span().start == name.span.end {
            let member = &self.word()[1..];
            self.advance();
            return Ok(Expression::Member(name.text, member));
        }
        Ok(Expression::Name(name.text))
    }

    fn parenthesised(
        &mut self,
        start: crate::source::Span,
        operators: &mut u32,
    ) -> Result<Node<'a>> {
        if self.kind() == TokenKind::Dotted {
            let unsigned = match self.word() {
                ".s64" => false,
                ".u64" => true,
                _ => {
                    return Err(self
                        .expected("`.s64` or `.u64`")
                        .help("constants are cast to these only"));
                }
            };
            self.advance();
            self.expect(")")?;
            self.count(operators)?;
            let of = Box::new(self.nested(|parser| parser.unary(operators))?);
            return Ok(Node {
                expression: Expression::Cast { unsigned, of },
                span: self.since(start),
            });
        }
        let inside = self.nested(|parser| parser.ternary(operators))?;
        self.expect(")")?;
        Ok(Node { span: self.since(start), ..inside })
    }

    /// Parses `[…]` after a name in a declaration: empty, or a length.
    pub(super) fn length(&mut self) -> Result<(Option<Node<'a>>, crate::source::Span)> {
        let start = self.span();
        self.expect("[")?;
        let length = if self.is("]") { None } else { Some(self.expression()?) };
        self.expect("]")?;
        Ok((length, self.since(start)))
    }

    pub(super) fn names(&mut self, what: &str) -> Result<Vec<Name<'a>>> {
        let mut names = vec![self.name(what)?];
        while self.take(",") {
            names.push(self.name(what)?);
        }
        Ok(names)
    }
}

fn operator(kind: TokenKind) -> Option<(Binary, u8)> {
    let TokenKind::Mark(mark) = kind else { return None };
    Some(match mark {
        "||" => (Binary::LogicalOr, 1),
        "&&" => (Binary::LogicalAnd, 2),
        "|" => (Binary::Or, 3),
        "^" => (Binary::Xor, 4),
        "&" => (Binary::And, 5),
        "==" => (Binary::Equal, 6),
        "!=" => (Binary::NotEqual, 6),
        "<" => (Binary::Less, 7),
        "<=" => (Binary::LessOrEqual, 7),
        ">" => (Binary::Greater, 7),
        ">=" => (Binary::GreaterOrEqual, 7),
        "<<" => (Binary::ShiftLeft, 8),
        ">>" => (Binary::ShiftRight, 8),
        "+" => (Binary::Add, 9),
        "-" => (Binary::Subtract, 9),
        "*" => (Binary::Multiply, 10),
        "/" => (Binary::Divide, 10),
        "%" => (Binary::Remainder, 10),
        _ => return None,
    })
}
