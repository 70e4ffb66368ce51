//! Conditions of `#if`: constant expressions of integers.

use super::Preprocessor;
use super::include::{header_name, is_built_in};
use crate::diagnostic::Problem;
use crate::lex::{Token, TokenKind};
use crate::source::Span;

impl Preprocessor<'_> {
    /// Whether the condition of an `#if` is true. A condition with an error is false.
    pub(super) fn holds(&mut self, line: &[Token], span: Span) -> bool {
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let (known, next) = if line[at].is("__has_include")
                && let Some(close) = line[at..].iter().position(|token| token.is(")"))
            {
                (self.has_include(&line[at + 1..at + close]), at + close + 1)
            } else if line[at].is("defined") {
                let bracket = usize::from(line.get(at + 1).is_some_and(|token| token.is("(")));
                let place = at + 1 + bracket;
                let known = line.get(place).is_some_and(|token| {
                    self.macros.contains_key(&token.text) || token.is("__has_include")
                });
                (known, place + 1 + bracket)
            } else {
                tokens.push(line[at].clone());
                at += 1;
                continue;
            };
            let (kind, text) = (TokenKind::Number, if known { "1" } else { "0" });
            tokens.push(Token { kind, text: text.into(), ..line[at].clone() });
            at = next;
        }
        let tokens = self.expand(tokens);
        if self.stopped {
            return false;
        }
        let mut reader = Reader { tokens: &tokens, at: 0, depth: 0 };
        match reader.ternary() {
            Ok(value) if reader.at == tokens.len() => value.bits != 0,
            Ok(_) => {
                let token = &tokens[reader.at];
                let message = format!("`{}` is not expected here", token.text);
                self.error(Problem::new(token.span, message));
                false
            }
            Err(message) => {
                let place = tokens.get(reader.at).map_or(span, |token| token.span);
                let help = "a preprocessor condition consists of integers and names";
                self.error(Problem::new(place, message).help(help));
                false
            }
        }
    }

    /// Whether the file in `("name"` or `(<name>` exists.
    fn has_include(&self, written: &[Token]) -> bool {
        let Some(first) = written.get(1) else { return false };
        let Some(name) = header_name(&written[1..]) else { return false };
        let from = &self.sources.get(first.span.file).name;
        is_built_in(&name)
            || self.resolver.is_some_and(|resolver| resolver.resolve(&name, from).is_some())
    }
}

/// A 64-bit number. If an operand is unsigned, the operation is unsigned.
#[derive(Clone, Copy)]
struct Number {
    bits: i64,
    unsigned: bool,
}

impl From<bool> for Number {
    fn from(truth: bool) -> Self {
        Self { bits: i64::from(truth), unsigned: false }
    }
}

/// A recursive-descent parser that evaluates a condition.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

/// The operators of each precedence, the loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Reader<'_> {
    fn accept(&mut self, text: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is(text));
        self.at += usize::from(found);
        found
    }

    fn ternary(&mut self) -> Result<Number, String> {
        self.deeper(Self::ternary_inner)
    }

    fn ternary_inner(&mut self) -> Result<Number, String> {
        let condition = self.binary(0)?;
        if !self.accept("?") {
            return Ok(condition);
        }
        let yes = self.ternary()?;
        if !self.accept(":") {
            return Err("`:` is missing in this condition".into());
        }
        let no = self.ternary()?;
        let unsigned = yes.unsigned || no.unsigned;
        Ok(Number { unsigned, ..if condition.bits != 0 { yes } else { no } })
    }

    fn deeper(&mut self, inner: fn(&mut Self) -> Result<Number, String>) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > 200 {
            return Err("this condition is nested too deeply".into());
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn binary(&mut self, level: usize) -> Result<Number, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators
            .iter()
            .find(|operator| self.tokens.get(self.at).is_some_and(|token| token.is(operator)))
        {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = operate(operator, left, right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Number, String> {
        self.deeper(Self::unary_inner)
    }

    fn unary_inner(&mut self) -> Result<Number, String> {
        if let Some(operator) = ["!", "-", "+", "~"].into_iter().find(|text| self.accept(text)) {
            let value = self.unary()?;
            return Ok(match operator {
                "!" => (value.bits == 0).into(),
                "-" => Number { bits: value.bits.wrapping_neg(), ..value },
                "~" => Number { bits: !value.bits, ..value },
                _ => value,
            });
        }
        if self.accept("(") {
            let value = self.ternary()?;
            return if self.accept(")") {
                Ok(value)
            } else {
                Err("`)` is missing in this condition".into())
            };
        }
        let Some(token) = self.tokens.get(self.at) else {
            return Err("a value is missing in this condition".into());
        };
        self.at += 1;
        let signed = |bits| Number { bits, unsigned: false };
        match token.kind {
            TokenKind::Number => crate::parse::integer(&token.text)
                .map(|(value, unsigned, ..)| Number {
                    bits: value as i64,
                    unsigned: unsigned || value > i64::MAX as u64,
                })
                .ok_or_else(|| format!("`{}` isn't an integer", token.text)),
            TokenKind::Character => crate::parse::character(&token.text)
                .map(signed)
                .ok_or_else(|| format!("{} isn't a character", token.text)),
            TokenKind::Word if &*token.text == "true" => Ok(signed(1)),
            // The word is the prefix of a character, such as `L'a'`.
            TokenKind::Word
                if matches!(&*token.text, "L" | "u" | "U" | "u8")
                    && self.tokens.get(self.at).is_some_and(is_character) =>
            {
                self.unary_inner()
            }
            // A name that isn't defined counts as 0.
            TokenKind::Word => Ok(signed(0)),
            _ => Err(format!("`{}` is not expected in this condition", token.text)),
        }
    }
}

fn is_character(token: &Token) -> bool {
    token.kind == TokenKind::Character && !token.spaced
}

/// Applies an operator. The result of a division by zero is zero.
fn operate(operator: &str, left: Number, right: Number) -> Number {
    let (a, b) = (left.bits, right.bits);
    let (x, y) = (a as u64, b as u64);
    let unsigned = left.unsigned || right.unsigned;
    let bits = match operator {
        "||" => return (a != 0 || b != 0).into(),
        "&&" => return (a != 0 && b != 0).into(),
        "==" => return (a == b).into(),
        "!=" => return (a != b).into(),
        "<" => return (if unsigned { x < y } else { a < b }).into(),
        ">" => return (if unsigned { x > y } else { a > b }).into(),
        "<=" => return (if unsigned { x <= y } else { a <= b }).into(),
        ">=" => return (if unsigned { x >= y } else { a >= b }).into(),
        "<<" => return Number { bits: a.wrapping_shl(b as u32), ..left },
        ">>" if left.unsigned => return Number { bits: x.wrapping_shr(b as u32) as i64, ..left },
        ">>" => return Number { bits: a.wrapping_shr(b as u32), ..left },
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        _ if b == 0 => 0,
        "/" if unsigned => (x / y) as i64,
        "/" => a.wrapping_div(b),
        _ if unsigned => (x % y) as i64,
        _ => a.wrapping_rem(b),
    };
    Number { bits, unsigned }
}
