//! The lexer: turns a PTX text into tokens (PTX ISA, "Syntax").

use crate::diagnostic::{Problem, Problems};
use crate::source::Span;

/// The kind of a token. Its text is given by its span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name, including `%` and `$`, or a single `_`.
    Word,
    /// A word with its dot: `.global`, `.f32`, `.shared::cta`.
    Dotted,
    /// An integer. It is `unsigned` if it has the suffix `U` or does not fit into s64.
    Integer { value: u64, unsigned: bool },
    /// `1.5`, `1e5` and `0d…`.
    Float(f64),
    /// `0f…`
    Single(u32),
    /// A string in double quotes.
    Text,
    /// Punctuation, including two-character operators.
    Mark(&'static str),
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Longer marks come first.
const MARKS: [&str; 34] = [
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "{", "}", "(", ")", "[", "]", "<", ">", ",",
    ";", ":", "?", "=", "@", "!", "~", "+", "-", "*", "/", "%", "&", "|", "^", "#", ".",
];

/// All tokens of the text, and a final [`TokenKind::End`]. The text must be shorter than 4 GiB.
pub(crate) fn tokens(text: &str, problems: &mut Problems) -> Vec<Token> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), position: 0, problems };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        lexer.skip_blanks();
        let start = lexer.position;
        let Some(kind) = lexer.next() else { continue };
        let span = Span { start: start as u32, end: lexer.position as u32 };
        tokens.push(Token { kind, span });
        if kind == TokenKind::End {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    problems: &'a mut Problems,
}

fn follows(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    fn problem(&mut self, start: usize, message: impl Into<String>, help: &str) {
        let span = Span { start: start as u32, end: self.position as u32 };
        self.problems.push(Problem::new(span, message).help(help));
    }

    /// Reports non-ASCII characters in `start..self.at`: ptxas rejects them, even in comments.
    fn refuse_non_ascii(&mut self, start: usize) {
        let Some(first) = self.bytes[start..self.position].iter().position(|b| !b.is_ascii())
        else {
            return;
        };
        let end = std::mem::replace(&mut self.position, start + first);
        let rest = &self.text[self.position..end];
        let run = rest.find(|c: char| c.is_ascii()).unwrap_or(rest.len());
        let from = self.position;
        self.position += run;
        let characters: String = self.text[from..self.position].chars().take(8).collect();
        let help = "PTX is ASCII only, in comments too: ptxas refuses anything else";
        self.problem(from, format!("`{characters}` is not ASCII"), help);
        self.position = end;
    }

    fn skip_blanks(&mut self) {
        loop {
            let start = self.position;
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, _) => self.position += 1,
                (b'/', b'/') => {
                    self.skip_line();
                    self.refuse_non_ascii(start);
                }
                (b'/', b'*') => {
                    if let Some(end) = self.text[self.position + 2..].find("*/") {
                        self.position += end + 4;
                    } else {
                        self.position += 2;
                        self.problem(start, "this comment has no end", "close it with */");
                        self.position = self.bytes.len();
                    }
                    self.refuse_non_ascii(start);
                }
                // `# 1 "file.c"`: a preprocessor's line marker.
                (b'#', _) if self.is_line_marker() => self.skip_line(),
                // `@@DWARF`: debug information of old PTX versions.
                (b'@', b'@') if self.text[self.position..].starts_with("@@DWARF") => {
                    self.skip_line()
                }
                // A NUL ends the text, as in the driver.
                (0, _) => {
                    self.position = self.bytes.len();
                    return;
                }
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.position..];
        self.position += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    /// Whether the rest of a line is `# 1 "file.c" 2` or `#line 1 "file.c"`, and the line has no other text before it.
    fn is_line_marker(&self) -> bool {
        let before = self.text[..self.position].trim_end_matches([' ', '\t']);
        let rest = self.text[self.position + 1..].lines().next().unwrap_or_default();
        let rest = rest.trim().strip_prefix("line").unwrap_or(rest).trim();
        let (number, rest) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        let digits =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let (file, flags) = match rest.trim().strip_prefix('"') {
            Some(quoted) => match quoted.split_once('"') {
                Some((_, flags)) => (true, flags),
                None => return false,
            },
            None => (rest.trim().is_empty(), ""),
        };
        (before.is_empty() || before.ends_with('\n'))
            && digits(number)
            && file
            && flags.split_whitespace().all(digits)
    }

    /// The kind of the next token; `None` after an unreadable character, which has been reported and skipped.
    fn next(&mut self) -> Option<TokenKind> {
        let start = self.position;
        if start == self.bytes.len() {
            return Some(TokenKind::End);
        }
        let (byte, second) = (self.peek(0), self.peek(1));
        match byte {
            b'0'..=b'9' => return Some(self.number()),
            b'.' if second.is_ascii_digit() && !self.after_word() => return Some(self.number()),
            b'"' => return Some(self.string()),
            b'.' if follows(second) => {
                self.position += 1;
                self.skip_word();
                while self.peek(0) == b':' && self.peek(1) == b':' && follows(self.peek(2)) {
                    self.position += 2;
                    self.skip_word();
                }
                return Some(TokenKind::Dotted);
            }
            b'%' if follows(second) => {
                self.position += 1;
                self.skip_word();
                return Some(TokenKind::Word);
            }
            _ if follows(byte) => {
                self.skip_word();
                return Some(TokenKind::Word);
            }
            _ => {}
        }
        if let Some(mark) =
            MARKS.iter().find(|mark| self.bytes[start..].starts_with(mark.as_bytes()))
        {
            self.position += mark.len();
            return Some(TokenKind::Mark(mark));
        }
        let rest = &self.text[start..];
        if byte.is_ascii() {
            self.position += 1;
            let character = char::from(byte).escape_default().to_string();
            self.problem(start, format!("`{character}` has no meaning in PTX"), "remove it");
        } else {
            self.position += rest.find(|c: char| c.is_ascii()).unwrap_or(rest.len());
            self.refuse_non_ascii(start);
        }
        None
    }

    /// Whether the previous byte is part of a word: then `.1d` is a modifier and not a number.
    fn after_word(&self) -> bool {
        self.position > 0 && follows(self.bytes[self.position - 1])
    }

    fn skip_word(&mut self) {
        while follows(self.peek(0)) {
            self.position += 1;
        }
    }

    fn string(&mut self) -> TokenKind {
        let start = self.position;
        self.position += 1;
        loop {
            match self.peek(0) {
                b'\\' if self.position + 1 < self.bytes.len() => self.position += 2,
                b'"' => {
                    self.position += 1;
                    break;
                }
                b'\n' | 0 => {
                    self.problem(start, "this string has no end", "close it with \" on its line");
                    break;
                }
                _ => self.position += 1,
            }
        }
        // The escaped character may be multi-byte: stay on a character boundary.
        while !self.text.is_char_boundary(self.position) {
            self.position += 1;
        }
        self.refuse_non_ascii(start);
        TokenKind::Text
    }

    fn number(&mut self) -> TokenKind {
        let start = self.position;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'f' | b'F' | b'd' | b'D') {
            return self.float_bits();
        }
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') {
            return self.integer(2, 16);
        }
        if self.peek(0) == b'0' && matches!(self.peek(1), b'b' | b'B') {
            return self.integer(2, 2);
        }
        let digits = |lexer: &Self, from: usize| {
            (from..).take_while(|&ahead| lexer.peek(ahead).is_ascii_digit()).count()
        };
        let whole = digits(self, 0);
        let mut length = whole;
        let point = self.peek(length) == b'.' && !self.peek(length + 1).is_ascii_alphabetic();
        let point = point || (self.peek(length) == b'.' && self.is_exponent(length + 1));
        if point {
            length += 1 + digits(self, length + 1);
        }
        let exponent = self.is_exponent(length);
        if exponent {
            let sign = usize::from(matches!(self.peek(length + 1), b'+' | b'-'));
            length += 1 + sign;
            length += digits(self, length);
        }
        if !point && !exponent {
            let octal = self.peek(0) == b'0' && whole > 1;
            return if octal { self.integer(1, 8) } else { self.integer(0, 10) };
        }
        self.position += length;
        if follows(self.peek(0)) {
            self.skip_word();
            self.bad_number(start);
            return TokenKind::Float(0.0);
        }
        // Rust also accepts `.5`, `5.` and `1e5`.
        match self.text[start..self.position].parse() {
            Ok(value) => TokenKind::Float(value),
            Err(_) => {
                self.bad_number(start);
                TokenKind::Float(0.0)
            }
        }
    }

    fn is_exponent(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b'e' | b'E')
            && (self.peek(ahead + 1).is_ascii_digit()
                || matches!(self.peek(ahead + 1), b'+' | b'-')
                    && self.peek(ahead + 2).is_ascii_digit())
    }

    fn bad_number(&mut self, start: usize) {
        let text = self.text[start..self.position].to_owned();
        let help = "write 12, 0x1F, 017, 0b101, 12U, 1.5, 1.5e3, 0f3F800000 or 0d3FF0000000000000";
        self.problem(start, format!("`{text}` is not a number"), help);
    }

    /// Reads `0f` and 8 hexadecimal digits, or `0d` and 16.
    fn float_bits(&mut self) -> TokenKind {
        let start = self.position;
        let single = matches!(self.peek(1), b'f' | b'F');
        self.position += 2;
        self.skip_word();
        let digits = &self.text[start + 2..self.position];
        let wanted = if single { 8 } else { 16 };
        let value = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == wanted);
        if value.is_none() {
            let text = self.text[start..self.position].to_owned();
            let help = format!("{} takes exactly {wanted} hexadecimal digits", &text[..2]);
            self.problem(start, format!("`{text}` is not a floating-point constant"), &help);
        }
        let value = value.unwrap_or(0);
        if single {
            TokenKind::Single(value as u32)
        } else {
            TokenKind::Float(f64::from_bits(value))
        }
    }

    fn integer(&mut self, prefix: usize, radix: u32) -> TokenKind {
        let start = self.position;
        self.skip_word();
        let word = &self.text[start + prefix..self.position];
        let digits = word.strip_suffix('U').unwrap_or(word);
        let suffix = digits.len() != word.len();
        match u64::from_str_radix(digits, radix) {
            Ok(value) => {
                TokenKind::Integer { value, unsigned: suffix || i64::try_from(value).is_err() }
            }
            Err(error) => {
                let text = self.text[start..self.position].to_owned();
                if *error.kind() == std::num::IntErrorKind::PosOverflow {
                    let help = "integer constants have 64 bits";
                    self.problem(start, format!("`{text}` is too large"), help);
                } else {
                    self.bad_number(start);
                }
                TokenKind::Integer { value: 0, unsigned: false }
            }
        }
    }
}
