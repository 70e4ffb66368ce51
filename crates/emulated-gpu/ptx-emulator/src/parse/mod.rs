//! The parser: tokens to syntax tree. Names are not looked up here. After an error the parser continues after
//! the next `;`, so that one run finds several errors.

mod declaration;
mod expression;
mod function;
mod instruction;
mod module;

use crate::check;
use crate::diagnostic::{Diagnostic, Problem, Problems};
use crate::lexer::{self, Token, TokenKind};
use crate::program::Module;
use crate::source::{Source, Span};
use crate::syntax::{File, Name};

/// Maximum nesting of blocks, parentheses and braces, so that recursion doesn't overflow the stack.
const MAX_NESTING: u32 = 64;

/// Maximum size of a text in bytes, because positions have 32 bits.
const MAX_TEXT_BYTES: usize = 1 << 30;

type Result<T> = std::result::Result<T, Problem>;

/// Parses a text, and returns whether all of its declarations could be read.
pub(crate) fn file<'a>(text: &'a str, problems: &mut Problems) -> (File<'a>, bool) {
    let tokens = lexer::tokens(text, problems);
    let directives = Vec::new();
    let mut parser = Parser {
        text,
        tokens,
        position: 0,
        depth: 0,
        has_unread_declarations: false,
        directives,
        problems,
    };
    let file = parser.file();
    (file, !parser.has_unread_declarations)
}

struct Parser<'a, 'p> {
    text: &'a str,
    tokens: Vec<Token>,
    position: usize,
    depth: u32,
    /// Whether a declaration could not be read.
    has_unread_declarations: bool,
    /// The directives so far, for [`File::directives`].
    directives: Vec<Name<'a>>,
    problems: &'p mut Problems,
}

impl<'a> Parser<'a, '_> {
    fn token(&self) -> Token {
        self.tokens[self.position]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    /// The kind of the token `by` places further on.
    fn kind_ahead(&self, by: usize) -> TokenKind {
        self.tokens[(self.position + by).min(self.tokens.len() - 1)].kind
    }

    fn text_of(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn word(&self) -> &'a str {
        self.text_of(self.token().span)
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The end of the previous token.
    fn end(&self) -> u32 {
        self.tokens[self.position.saturating_sub(1)].span.end
    }

    fn since(&self, start: Span) -> Span {
        Span { start: start.start, end: self.end().max(start.end) }
    }

    fn advance(&mut self) -> Token {
        if self.kind() == TokenKind::Dotted && check::is_directive(self.word()) {
            self.note_versioned_word(self.word());
        }
        self.step()
    }

    /// Advances past a token that is not a directive's word.
    fn step(&mut self) -> Token {
        let token = self.token();
        if self.position + 1 < self.tokens.len() {
            self.position += 1;
        }
        token
    }

    /// Records a word that some versions or targets don't have.
    fn note_versioned_word(&mut self, text: &'a str) {
        let span = self.span();
        self.directives.push(Name { text, span });
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.kind(), TokenKind::Mark(m) if m == mark)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Word | TokenKind::Dotted) && self.word() == word
    }

    fn take(&mut self, mark: &str) -> bool {
        let taken = self.is(mark);
        if taken {
            self.advance();
        }
        taken
    }

    fn take_word(&mut self, word: &str) -> bool {
        let taken = self.is_word(word);
        if taken {
            self.advance();
        }
        taken
    }

    /// A description of the current token, for errors.
    fn describe_token(&self) -> String {
        match self.kind() {
            TokenKind::End => "the text ends".into(),
            _ => format!("found `{}`", shorten(self.word())),
        }
    }

    fn expected(&self, what: &str) -> Problem {
        Problem::new(self.span(), format!("expected {what}, {}", self.describe_token()))
            .help(format!("write {what} here, or complete the text before it"))
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    /// Expects the `;` at the end of a statement. If it is missing at the end of a line, that is reported and
    /// nothing is skipped.
    fn semicolon(&mut self) -> Result<()> {
        if self.take(";") {
            return Ok(());
        }
        let end = self.end();
        let between = self.text_of(Span { start: end, end: self.span().start.max(end) });
        if between.contains('\n') || self.is("}") || self.kind() == TokenKind::End {
            let span = Span { start: end.saturating_sub(1), end };
            self.problems.push(
                Problem::new(span, "missing `;`")
                    .label("the statement ends here")
                    .help("add a `;`"),
            );
            return Ok(());
        }
        Err(self.expected("`;`").help("every statement ends with a `;`"))
    }

    fn name(&mut self, what: &str) -> Result<Name<'a>> {
        if self.kind() != TokenKind::Word {
            return Err(self.expected(what));
        }
        let span = self.advance().span;
        Ok(Name { text: self.text_of(span), span })
    }

    /// Parses a small number, such as a line or a count.
    fn number(&mut self, what: &str) -> Result<u32> {
        let TokenKind::Integer { value, .. } = self.kind() else { return Err(self.expected(what)) };
        let number = u32::try_from(value).map_err(|_| {
            Problem::new(self.span(), format!("`{}` is too large", self.word()))
                .help(format!("{what} has at most 32 bits"))
        })?;
        self.advance();
        Ok(number)
    }

    /// Parses a string, and returns it without its quotes.
    fn string(&mut self) -> Result<String> {
        if self.kind() != TokenKind::Text {
            return Err(self.expected("a string in double quotes"));
        }
        let span = self.advance().span;
        Ok(self.text_of(span).trim_matches('"').to_owned())
    }

    /// Runs `inside` one nesting level deeper.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTING {
            return Err(Problem::new(self.span(), "nested too deep")
                .help(format!("at most {MAX_NESTING} levels of nesting are read")));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Parses `a, b, c` up to and including `close`.
    fn list<T>(
        &mut self,
        close: &str,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut elements = Vec::new();
        if self.take(close) {
            return Ok(elements);
        }
        loop {
            elements.push(element(self)?);
            if self.take(close) {
                return Ok(elements);
            }
            if !self.take(",") {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// Skips past the next `;`, or to the `}` that ends the block.
    fn recover(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Mark("{") => depth += 1,
                TokenKind::Mark("}") if depth == 0 => return,
                TokenKind::Mark("}") => depth -= 1,
                TokenKind::Mark(";") => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }
}

fn shorten(word: &str) -> String {
    if word.chars().count() <= 40 {
        word.into()
    } else {
        word.chars().take(37).collect::<String>() + "…"
    }
}

/// Parses and checks a PTX text: every name is resolved, and every instruction exists in the ISA.
///
/// # Errors
/// If the text has errors. Several are found at once, in the order of the text.
pub fn parse(source: &Source) -> std::result::Result<Module, Vec<Diagnostic>> {
    checked(source, true)
}

/// Parses and checks a text that is [linked](crate::link) with other texts, which may define functions that this text
/// calls.
///
/// # Errors
/// As for [`parse`].
pub fn parse_part(source: &Source) -> std::result::Result<Module, Vec<Diagnostic>> {
    checked(source, false)
}

fn checked(source: &Source, alone: bool) -> std::result::Result<Module, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    if source.text.len() > MAX_TEXT_BYTES {
        let start = Span { start: 0, end: 0 };
        problems.push(
            Problem::new(start, "the text is too long").help(format!(
                "at most {MAX_TEXT_BYTES} bytes are read: split it into several files"
            )),
        );
        return Err(problems.into_diagnostics(source));
    }
    let (file, whole) = file(&source.text, &mut problems);
    // If a declaration could not be read, all uses of its names would look like errors.
    if whole {
        let module = check::module(&file, alone, &mut problems);
        if problems.is_empty() {
            return Ok(module);
        }
    }
    Err(problems.into_diagnostics(source))
}
