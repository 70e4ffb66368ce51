//! Tokens to syntax tree. Nothing is looked up here; after an error the parser goes on behind the
//! next `;`, so that one run finds several.

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

/// Blocks, parentheses and braces may be nested as deep as this: recursion has to end before the
/// stack does.
const DEEPEST: u32 = 64;

/// As long a text may be, in bytes: places in it are numbers of 32 bits.
const LARGEST: usize = 1 << 30;

type Result<T> = std::result::Result<T, Problem>;

/// Reads a text, and says whether all that it declares is in the tree.
pub(crate) fn file<'a>(text: &'a str, problems: &mut Problems) -> (File<'a>, bool) {
    let tokens = lexer::tokens(text, problems);
    let directives = Vec::new();
    let mut parser = Parser { text, tokens, at: 0, depth: 0, lost: false, directives, problems };
    let file = parser.file();
    (file, !parser.lost)
}

struct Parser<'a, 'p> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Whether a declaration could not be read.
    lost: bool,
    /// What has been read for [`File::directives`].
    directives: Vec<Name<'a>>,
    problems: &'p mut Problems,
}

impl<'a> Parser<'a, '_> {
    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    /// The kind of a token further on.
    fn ahead(&self, by: usize) -> TokenKind {
        self.tokens[(self.at + by).min(self.tokens.len() - 1)].kind
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

    /// Where the token before ends.
    fn end(&self) -> u32 {
        self.tokens[self.at.saturating_sub(1)].span.end
    }

    fn since(&self, start: Span) -> Span {
        Span { start: start.start, end: self.end().max(start.end) }
    }

    fn advance(&mut self) -> Token {
        if self.kind() == TokenKind::Dotted && check::is_directive(self.word()) {
            self.note(self.word());
        }
        self.step()
    }

    /// Goes on behind a token that is no word of a directive.
    fn step(&mut self) -> Token {
        let token = self.token();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// Records that something which not every version and target has is here.
    fn note(&mut self, text: &'a str) {
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

    /// What stands here instead of what was wanted.
    fn found(&self) -> String {
        match self.kind() {
            TokenKind::End => "the text ends".into(),
            _ => format!("found `{}`", shorten(self.word())),
        }
    }

    fn expected(&self, what: &str) -> Problem {
        Problem::new(self.span(), format!("expected {what}, {}", self.found()))
            .help(format!("write {what} here, or complete what stands before"))
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    /// The `;` at the end of a statement. Where it is missing at the end of a line, that is
    /// reported and nothing is skipped.
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

    /// A small number, such as a line or a count.
    fn number(&mut self, what: &str) -> Result<u32> {
        let TokenKind::Integer { value, .. } = self.kind() else { return Err(self.expected(what)) };
        let number = u32::try_from(value).map_err(|_| {
            Problem::new(self.span(), format!("`{}` is too large", self.word()))
                .help(format!("{what} has at most 32 bits"))
        })?;
        self.advance();
        Ok(number)
    }

    /// What a string says, without its quotes.
    fn string(&mut self) -> Result<String> {
        if self.kind() != TokenKind::Text {
            return Err(self.expected("a string in double quotes"));
        }
        let span = self.advance().span;
        Ok(self.text_of(span).trim_matches('"').to_owned())
    }

    /// Runs `inside` one level deeper.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEEPEST {
            return Err(Problem::new(self.span(), "nested too deep")
                .help(format!("at most {DEEPEST} levels of nesting are read")));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// `a, b, c` up to `close`, which is consumed.
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

    /// Goes behind the next `;`, or before the `}` that ends the block.
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

/// Reads and checks a PTX text: what the file means, every name resolved and every instruction
/// known to be one that the ISA has.
///
/// # Errors
/// What is wrong with the text, in its order; several errors are found in one go.
pub fn parse(source: &Source) -> std::result::Result<Module, Vec<Diagnostic>> {
    checked(source, true)
}

/// As [`parse`], of a text that is [linked](crate::link) with others, which may define what it calls.
///
/// # Errors
/// As of [`parse`].
pub fn parse_part(source: &Source) -> std::result::Result<Module, Vec<Diagnostic>> {
    checked(source, false)
}

fn checked(source: &Source, alone: bool) -> std::result::Result<Module, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    if source.text.len() > LARGEST {
        let start = Span { start: 0, end: 0 };
        problems.push(
            Problem::new(start, "the text is too long")
                .help(format!("at most {LARGEST} bytes are read: split it into several files")),
        );
        return Err(problems.into_diagnostics(source));
    }
    let (file, whole) = file(&source.text, &mut problems);
    // A declaration that was not understood would make all uses of its names look wrong.
    if whole {
        let module = check::module(&file, alone, &mut problems);
        if problems.is_empty() {
            return Ok(module);
        }
    }
    Err(problems.into_diagnostics(source))
}
