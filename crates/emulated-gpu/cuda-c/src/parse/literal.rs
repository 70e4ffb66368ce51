//! Literals: numbers, characters and strings.

use std::rc::Rc;

use super::{Parsed, Parser};
use crate::diagnostic::Problem;
use crate::lex::Token;
use crate::syntax::{Expr, ExprKind};
use crate::types::Scalar;

/// Parses an integer: its value, whether it has a suffix for unsigned and for `long`, and whether
/// it is decimal.
pub(crate) fn integer(text: &str) -> Option<(u64, bool, bool, bool)> {
    let text = text.replace('\'', "").to_ascii_lowercase();
    let (radix, digits) = if let Some(digits) = text.strip_prefix("0x") {
        (16, digits)
    } else if let Some(digits) = text.strip_prefix("0b") {
        (2, digits)
    } else if text.len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit() {
        (8, &text[1..])
    } else {
        (10, text.as_str())
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    let value = u64::from_str_radix(digits, radix).ok()?;
    let (unsigned, long) = match suffix {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "lu" | "ull" | "llu" => (true, true),
        _ => return None,
    };
    Some((value, unsigned, long, radix == 10))
}

fn scalar_of((value, unsigned, long, decimal): (u64, bool, bool, bool)) -> Scalar {
    let fits = |limit: u64| value <= limit;
    if !unsigned && !long && fits(i32::MAX as u64) {
        Scalar::Int
    } else if !long && (unsigned || !decimal) && fits(u64::from(u32::MAX)) {
        Scalar::UnsignedInt
    } else if !unsigned && fits(i64::MAX as u64) {
        Scalar::Long
    } else {
        Scalar::UnsignedLong
    }
}

/// Parses a number with a point or an exponent, and whether it is a `float`.
fn floating(text: &str) -> Option<(f64, bool)> {
    let text = text.replace('\'', "").to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        let (digits, single) = match digits.strip_suffix('f') {
            Some(digits) if digits.contains('p') => (digits, true),
            _ => (digits, false),
        };
        let (mantissa, exponent) = digits.split_once('p')?;
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut value = 0.0f64;
        for digit in whole.chars().chain(part.chars()) {
            value = value * 16.0 + f64::from(digit.to_digit(16)?);
        }
        let exponent: i32 = exponent.parse().ok()?;
        let exponent = exponent.checked_sub(4 * part.len() as i32)?;
        return Some((value * 2.0f64.powi(exponent), single));
    }
    let (digits, single) = match text.strip_suffix('f') {
        Some(digits) => (digits, true),
        None => (text.as_str(), false),
    };
    let digits = digits.strip_suffix('l').unwrap_or(digits);
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '+' | '-');
    if !digits.chars().all(plain) || !digits.contains(['.', 'e']) {
        return None;
    }
    // A float is rounded once, from the decimal digits.
    let value =
        if single { f64::from(digits.parse::<f32>().ok()?) } else { digits.parse().ok()? };
    Some((value, single))
}

/// The bytes between the quotes; `None` if there is an unknown escape.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let inner = text.get(1..text.len() - 1)?;
    let mut bytes = Vec::new();
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = characters.next()?;
        let mut number = |radix: u32, most: usize, first: Option<u32>| {
            let mut value = first.unwrap_or(0);
            let mut count = usize::from(first.is_some());
            while let Some(digit) = characters.peek().and_then(|c| c.to_digit(radix)) {
                if count == most {
                    break;
                }
                value = value * radix + digit;
                count += 1;
                characters.next();
            }
            (count > 0).then_some(value as u8)
        };
        bytes.push(match escape {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => escape as u8,
            'x' => number(16, 2, None)?,
            digit @ '0'..='7' => number(8, 3, digit.to_digit(8))?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// The value of a character, or of a multi-character literal of up to four.
pub(crate) fn character(text: &str) -> Option<i64> {
    match unescape(text)?.as_slice() {
        [byte] => Some(i64::from(byte.cast_signed())),
        bytes @ [_, _, ..] if bytes.len() <= 4 => {
            let joined = bytes.iter().fold(0u32, |all, byte| all << 8 | u32::from(*byte));
            Some(i64::from(joined.cast_signed()))
        }
        _ => None,
    }
}

impl Parser<'_> {
    pub(super) fn number(&mut self, token: &Token) -> Parsed<Expr> {
        if let Some(read) = integer(&token.text) {
            return self.expr(ExprKind::Integer(read.0, scalar_of(read)), token.span);
        }
        if let Some((value, single)) = floating(&token.text) {
            return self.expr(ExprKind::Float(value, single), token.span);
        }
        let problem = Problem::new(token.span, format!("`{}` isn't a number", token.text));
        let digits = token.text.trim_end_matches(['f', 'F']);
        let plain = digits.len() < token.text.len() && digits.bytes().all(|b| b.is_ascii_digit());
        let help = plain.then(|| format!("a float has a point: `{digits}.0f`"));
        let help = help.or_else(|| {
            integer(&format!("{}0", token.text.get(..1)?))?;
            Some("suffixes are u, l, ul, ll, ull for integers and f for floats; integers have 64 bits at most".into())
        });
        self.fail(problem.maybe_help(help))
    }

    pub(super) fn bytes(&mut self, token: &Token) -> Parsed<Rc<[u8]>> {
        match unescape(&token.text) {
            Some(bytes) => Ok(bytes.into()),
            None => {
                let problem = Problem::new(token.span, "unknown escape sequence");
                self.fail(problem.help(
                    "known are \\n \\t \\r \\a \\b \\f \\v \\\\ \\' \\\" \\? \\x and octal ones",
                ))
            }
        }
    }

    pub(super) fn character(&mut self, token: &Token) -> Parsed<Expr> {
        let bytes = self.bytes(token)?;
        if bytes.len() != 1 {
            let problem = Problem::new(token.span, "a character literal is one byte");
            return self.fail(problem.help("write a string with `\"`"));
        }
        let value = i64::from(bytes[0] as i8) as u64;
        self.expr(ExprKind::Integer(value, Scalar::Char), token.span)
    }
}
