//! Text to tokens, of which the preprocessor still sees where lines begin.

use std::rc::Rc;

use crate::diagnostic::{Problem, Problems};
use crate::source::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword.
    Word,
    /// A number as it is written; the parser reads it.
    Number,
    /// A string literal with its quotes.
    String,
    /// A character literal with its quotes.
    Character,
    /// An operator or a bracket.
    Punctuation,
    /// `#pragma …`, whose text is what follows.
    Pragma,
    /// A character that C has no use for.
    Other,
    /// Behind the last token.
    End,
}

/// A token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// As it is written, without line continuations.
    pub(crate) text: Rc<str>,
    /// Where it stands; for what a macro expands to, where the macro is used.
    pub(crate) span: Span,
    /// Whether it is the first of its line.
    pub(crate) first: bool,
    /// Whether there is space before it.
    pub(crate) spaced: bool,
    /// The macros that it comes from, which it doesn't expand again.
    pub(crate) hidden: Option<Rc<crate::preprocess::Hidden>>,
}

impl Token {
    /// Whether it is this operator or word.
    #[must_use]
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Punctuation) && &*self.text == text
    }
}

/// Longest first, so that the first that fits is the right one.
const PUNCTUATION: [&str; 50] = [
    "<<<", ">>>", "<<=", ">>=", "...", "->*", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "##", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{",
];

/// A text has at most as many tokens, and so have all texts of a compilation together: about 8 MB of
/// source. A token takes some 80 bytes, and what is made of it several times as many.
pub(crate) const MAX_TOKENS: usize = 2_000_000;

struct Lexer<'a> {
    text: &'a str,
    file: u32,
    at: usize,
}

/// All tokens of a text, the last of which is [`TokenKind::End`].
pub(crate) fn lex(text: &str, file: u32, problems: &mut Problems) -> Vec<Token> {
    let mut lexer = Lexer { text, file, at: 0 };
    let mut tokens = Vec::new();
    let (mut first, mut spaced) = (true, false);
    loop {
        lexer.splice();
        let start = lexer.at;
        let Some(character) = lexer.peek() else { break };
        if character == '\n' {
            lexer.bump();
            (first, spaced) = (true, true);
            continue;
        }
        if character.is_whitespace() || lexer.rest().starts_with("//") {
            lexer.blank_or_line_comment();
            spaced = true;
            continue;
        }
        if lexer.rest().starts_with("/*") {
            match lexer.rest()[2..].find("*/") {
                Some(end) => lexer.at += end + 4,
                None => {
                    let span = lexer.span(start, start + 2);
                    problems.push(Problem::new(span, "this comment has no end").help("write `*/`"));
                    lexer.at = text.len();
                }
            }
            spaced = true;
            continue;
        }
        if tokens.len() == MAX_TOKENS {
            let span = lexer.span(start, start + character.len_utf8());
            problems.push(too_many_tokens(span));
            break;
        }
        let (kind, own) = lexer.token(character, problems);
        let span = lexer.span(start, lexer.at);
        tokens.push(Token { kind, text: own.into(), span, first, spaced, hidden: None });
        (first, spaced) = (false, false);
    }
    let span = lexer.span(text.len(), text.len());
    let (kind, own) = (TokenKind::End, Rc::from(""));
    tokens.push(Token { kind, text: own, span, first: true, spaced: true, hidden: None });
    tokens
}

pub(crate) fn too_many_tokens(span: Span) -> Problem {
    Problem::new(span, format!("the source has more than {MAX_TOKENS} tokens here"))
        .help("copy large tables from the host, or read them from memory that the host fills")
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    /// Skips line continuations.
    fn splice(&mut self) {
        loop {
            if self.rest().starts_with("\\\n") {
                self.at += 2;
            } else if self.rest().starts_with("\\\r\n") {
                self.at += 3;
            } else {
                return;
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn blank_or_line_comment(&mut self) {
        if self.rest().starts_with("//") {
            while let Some(character) = self.peek() {
                self.splice();
                if character == '\n' {
                    break;
                }
                if self.peek() == Some('\n') {
                    break;
                }
                self.bump();
            }
        } else {
            self.bump();
        }
    }

    /// Characters as long as they belong to the token.
    fn take(&mut self, own: &mut String, mut belongs: impl FnMut(char, char) -> bool) {
        loop {
            self.splice();
            let last = own.chars().next_back().unwrap_or(' ');
            match self.peek() {
                Some(character) if belongs(last, character) => own.push(character),
                _ => return,
            }
            self.bump();
        }
    }

    fn token(&mut self, character: char, problems: &mut Problems) -> (TokenKind, String) {
        let mut own = String::new();
        let after = self.rest().chars().nth(1).unwrap_or(' ');
        if character.is_alphabetic() || character == '_' || character == '$' {
            self.take(&mut own, |_, c| c.is_alphanumeric() || c == '_' || c == '$');
            return (TokenKind::Word, own);
        }
        if character.is_ascii_digit() || character == '.' && after.is_ascii_digit() {
            let hexadecimal = character == '0' && (after == 'x' || after == 'X');
            self.take(&mut own, |last, c| {
                let exponent = if hexadecimal { "pP" } else { "eE" };
                c.is_alphanumeric()
                    || matches!(c, '.' | '_' | '\'')
                    || matches!(c, '+' | '-') && exponent.contains(last)
            });
            return (TokenKind::Number, own);
        }
        if character == '"' || character == '\'' {
            return self.quoted(character, problems);
        }
        if let Some(found) = PUNCTUATION.iter().find(|text| self.rest().starts_with(**text)) {
            self.at += found.len();
            return (TokenKind::Punctuation, (*found).to_owned());
        }
        self.bump();
        own.push(character);
        let kind =
            if matches!(character, '}' | '#') { TokenKind::Punctuation } else { TokenKind::Other };
        (kind, own)
    }

    fn quoted(&mut self, quote: char, problems: &mut Problems) -> (TokenKind, String) {
        let start = self.at;
        let mut own = String::new();
        own.extend(self.bump());
        loop {
            self.splice();
            match self.peek() {
                None | Some('\n') => {
                    let what = if quote == '"' { "string" } else { "character" };
                    let span = self.span(start, self.at);
                    problems.push(
                        Problem::new(span, format!("this {what} has no end on its line"))
                            .help(format!("close it with `{quote}`")),
                    );
                    own.push(quote);
                    break;
                }
                Some('\\') => {
                    own.extend(self.bump());
                    own.extend(self.bump());
                }
                Some(character) => {
                    own.push(character);
                    self.bump();
                    if character == quote {
                        break;
                    }
                }
            }
        }
        (if quote == '"' { TokenKind::String } else { TokenKind::Character }, own)
    }
}
