//! `#if`: an expression of integers.

use super::Preprocessor;
use crate::diagnostic::Problem;
use crate::lex::{Token, TokenKind};
use crate::source::Span;

impl Preprocessor<'_> {
    /// Whether the condition of an `#if` holds. What can't be read is an error, and doesn't.
    pub(super) fn holds(&mut self, line: &[Token], span: Span) -> bool {
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < line.len() {
            if line[at].is("defined") {
                let bracket = line.get(at + 1).is_some_and(|token| token.is("("));
                let place = if bracket { at + 2 } else { at + 1 };
                let known =
                    line.get(place).is_some_and(|token| self.macros.contains_key(&token.text));
                let text = if known { "1" } else { "0" };
                tokens.push(Token {
                    kind: TokenKind::Number,
                    text: text.into(),
                    ..line[at].clone()
                });
                at = place + 1 + usize::from(bracket);
            } else {
                tokens.push(line[at].clone());
                at += 1;
            }
        }
        let tokens = self.expand(tokens);
        let mut reader = Reader { tokens: &tokens, at: 0, depth: 0 };
        match reader.ternary() {
            Ok(value) if reader.at == tokens.len() => value != 0,
            Ok(_) => {
                let place = tokens[reader.at].span;
                self.error(Problem::new(
                    place,
                    format!("`{}` is not expected here", tokens[reader.at].text),
                ));
                false
            }
            Err(message) => {
                let place = tokens.get(reader.at).map_or(span, |token| token.span);
                self.error(
                    Problem::new(place, message)
                        .help("a condition of the preprocessor is made of integers and names"),
                );
                false
            }
        }
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

/// The operators of each precedence, from the loosest.
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

    fn ternary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 200 {
            return Err("this condition nests too deep".into());
        }
        let condition = self.binary(0)?;
        let result = if self.accept("?") {
            let yes = self.ternary()?;
            if !self.accept(":") {
                return Err("`:` is missing in this condition".into());
            }
            let no = self.ternary()?;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn binary(&mut self, level: usize) -> Result<i64, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators
            .iter()
            .find(|operator| self.tokens.get(self.at).is_some_and(|token| token.is(operator)))
        {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = match *operator {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "<<" => left.wrapping_shl(right as u32),
                ">>" => left.wrapping_shr(right as u32),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                _ if right == 0 => return Ok(0),
                "/" => left.wrapping_div(right),
                _ => left.wrapping_rem(right),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 200 {
            return Err("this condition nests too deep".into());
        }
        let result = self.unary_inner();
        self.depth -= 1;
        result
    }

    fn unary_inner(&mut self) -> Result<i64, String> {
        if self.accept("!") {
            return Ok(i64::from(self.unary()? == 0));
        }
        if self.accept("-") {
            return Ok(self.unary()?.wrapping_neg());
        }
        if self.accept("+") {
            return self.unary();
        }
        if self.accept("~") {
            return Ok(!self.unary()?);
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
        match token.kind {
            TokenKind::Number => crate::parse::integer(&token.text)
                .map(|(value, ..)| value as i64)
                .ok_or_else(|| format!("`{}` is no integer", token.text)),
            TokenKind::Word if &*token.text == "true" => Ok(1),
            // A name that isn't defined counts as 0.
            TokenKind::Word => Ok(0),
            _ => Err(format!("`{}` is not expected in this condition", token.text)),
        }
    }
}
