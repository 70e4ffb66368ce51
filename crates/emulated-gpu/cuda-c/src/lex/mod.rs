//! The lexer: splits a text into tokens, and marks those that start a line for the preprocessor.

use std::rc::Rc;

use crate::diagnostic::{Problem, Problems};
use crate::source::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword.
    Word,
    /// A number as it is written; the parser evaluates it.
    Number,
    /// A string literal with its quotes.
    String,
    /// A character literal with its quotes.
    Character,
    /// An operator or a bracket.
    Punctuation,
    /// `#pragma …`; the text is everything after the word.
    Pragma,
    /// A character that C doesn't use.
    Other,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// The text without line continuations.
    pub(crate) text: Rc<str>,
    /// The place in the source; for a macro's expansion, the place where the macro is used.
    pub(crate) span: Span,
    /// Whether the token is the first of its line.
    pub(crate) first: bool,
    /// Whether there is space before the token.
    pub(crate) spaced: bool,
    /// The macros that the token came from. They must not be expanded again in this token.
    pub(crate) hidden: Option<Rc<crate::preprocess::HideSet>>,
}

impl Token {
    /// Whether the token is the operator or word `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Punctuation) && &*self.text == text
    }
}

/// All operators and punctuation, the longest first, so that the first match is the right one.
const PUNCTUATION: [&str; 50] = [
    "<<<", ">>>", "<<=", ">>=", "...", "->*", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "##", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{",
];

/// The maximum number of tokens of a text, and of all texts of a compilation together: about 8 MB
/// of source. A token takes about 80 bytes, and the syntax tree and the code that come from it
/// several times more.
pub(crate) const MAX_TOKENS: usize = 2_000_000;

struct Lexer<'a> {
    text: &'a str,
    file: u32,
    position: usize,
}

/// All tokens of a text, the last of which is [`TokenKind::End`].
pub(crate) fn lex(text: &str, file: u32, problems: &mut Problems) -> Vec<Token> {
    let mut lexer = Lexer { text, file, position: 0 };
    let mut tokens = Vec::new();
    let (mut first, mut spaced) = (true, false);
    loop {
        lexer.skip_continuations();
        let start = lexer.position;
        let Some(character) = lexer.peek() else { break };
        if character == '\n' {
            lexer.bump();
            (first, spaced) = (true, true);
            continue;
        }
        if character.is_whitespace() || lexer.remaining_text().starts_with("//") {
            lexer.blank_or_line_comment();
            spaced = true;
            continue;
        }
        if lexer.remaining_text().starts_with("/*") {
            match lexer.remaining_text()[2..].find("*/") {
                Some(end) => lexer.position += end + 4,
                None => {
                    let span = lexer.span(start, start + 2);
                    problems.push(Problem::new(span, "this comment has no end").help("write `*/`"));
                    lexer.position = text.len();
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
        let span = lexer.span(start, lexer.position);
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
    fn remaining_text(&self) -> &str {
        &self.text[self.position..]
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    /// Skips line continuations (backslash and newline).
    fn skip_continuations(&mut self) {
        loop {
            if self.remaining_text().starts_with("\\\n") {
                self.position += 2;
            } else if self.remaining_text().starts_with("\\\r\n") {
                self.position += 3;
            } else {
                return;
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.remaining_text().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        Some(character)
    }

    fn blank_or_line_comment(&mut self) {
        if self.remaining_text().starts_with("//") {
            while let Some(character) = self.peek() {
                self.skip_continuations();
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

    /// Appends characters to `own` while `belongs` accepts them. The arguments of `belongs` are the
    /// last and the next character.
    fn take_while(&mut self, own: &mut String, mut belongs: impl FnMut(char, char) -> bool) {
        loop {
            self.skip_continuations();
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
        let after = self.remaining_text().chars().nth(1).unwrap_or(' ');
        if character.is_alphabetic() || character == '_' || character == '$' {
            self.take_while(&mut own, |_, c| c.is_alphanumeric() || c == '_' || c == '$');
            return (TokenKind::Word, own);
        }
        if character.is_ascii_digit() || character == '.' && after.is_ascii_digit() {
            let hexadecimal = character == '0' && (after == 'x' || after == 'X');
            self.take_while(&mut own, |last, c| {
                let exponent = if hexadecimal { "pP" } else { "eE" };
                c.is_alphanumeric()
                    || matches!(c, '.' | '_' | '\'')
                    || matches!(c, '+' | '-') && exponent.contains(last)
            });
            return (TokenKind::Number, own);
        }
        if character == '"' || character == '\'' {
            return self.quoted_literal(character, problems);
        }
        if let Some(found) =
            PUNCTUATION.iter().find(|text| self.remaining_text().starts_with(**text))
        {
            self.position += found.len();
            return (TokenKind::Punctuation, (*found).to_owned());
        }
        self.bump();
        own.push(character);
        let kind =
            if matches!(character, '}' | '#') { TokenKind::Punctuation } else { TokenKind::Other };
        (kind, own)
    }

    fn quoted_literal(&mut self, quote: char, problems: &mut Problems) -> (TokenKind, String) {
        let start = self.position;
        let mut own = String::new();
        own.extend(self.bump());
        loop {
            self.skip_continuations();
            match self.peek() {
                None | Some('\n') => {
                    let what = if quote == '"' { "string" } else { "character" };
                    let span = self.span(start, self.position);
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
