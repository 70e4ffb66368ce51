//! The linker: combines several PTX texts into one, as `cuLinkComplete` and nvJitLink do (PTX ISA, "Linking
//! Directives"). A symbol that is `.extern` in one text is defined in another. A symbol without a linkage directive is
//! private to its text. If a symbol has several `.weak` or `.common` definitions, one definition is kept.

mod symbols;

use std::collections::HashMap;
use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Problem, Problems};
use crate::lexer::{self, Token, TokenKind};
use crate::parse;
use crate::source::{Source, Span};
use crate::syntax::{File, Item};
use symbols::{Fate, Resolution};

/// A text with its tokens and its syntax tree.
struct Part<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    file: File<'a>,
}

impl<'a> Part<'a> {
    fn read(source: &'a Source) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Problems::default();
        let (file, whole) = parse::file(&source.text, &mut problems);
        if !whole || !problems.is_empty() {
            return Err(problems.into_diagnostics(source));
        }
        let tokens = lexer::tokens(&source.text, &mut problems);
        Ok(Self { source, tokens, file })
    }

    fn text(&self, span: Span) -> &'a str {
        self.source.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The tokens of an item.
    fn tokens_of(&self, span: Span) -> &[Token] {
        let at = |byte| self.tokens.partition_point(|token| token.span.start < byte);
        &self.tokens[at(span.start)..at(span.end)]
    }
}

/// Links texts, in order, into one text. The result is not checked; that is left to [`parse`](crate::parse).
/// Debug lines keep their files, and debug sections are dropped.
///
/// # Errors
/// If one of the texts is invalid by itself, if two of them define the same symbol, or if two `.common`
/// declarations give it different sizes.
pub fn link(sources: &[Source]) -> Result<String, Vec<Diagnostic>> {
    if let [one] = sources {
        parse::parse(one)?;
        return Ok(one.text.clone());
    }
    let mut parts = Vec::new();
    for source in sources {
        // Errors of a single text are reported at its own lines.
        parse::parse_part(source)?;
        parts.push(Part::read(source)?);
    }
    let resolution = Resolution::new(&parts)?;
    let mut out = header(&parts);
    for (number, part) in parts.iter().enumerate() {
        let files = files(part, number, &mut out);
        for (index, item) in part.file.items.iter().enumerate() {
            if matches!(item, Item::File(..)) {
                continue;
            }
            let renamed = |name: &str| resolution.name(number, name);
            let tokens = part.tokens_of(part.file.spans[index]);
            match resolution.fate(number, index, item) {
                Fate::Stays => out.push_str(&rewritten(part, tokens, &files, renamed)),
                Fate::Declares(linkage) => out.push_str(&declaration(part, tokens, linkage)),
                Fate::Goes => continue,
            }
            out.push('\n');
        }
    }
    Ok(out)
}

/// The header with the latest version and the newest target of all texts.
fn header(parts: &[Part]) -> String {
    let version = parts.iter().filter_map(|part| part.file.version).map(|(version, _)| version);
    let (major, minor) = version.max().unwrap_or((6, 0));
    let number = |target: &str| {
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or(0)
    };
    let targets = parts.iter().filter_map(|part| part.file.target).map(|name| name.text);
    // `sm_90a` is preferred to `sm_90`, because it allows more instructions.
    let target = targets.max_by_key(|name| (number(name), name.len())).unwrap_or("sm_30");
    format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n\n")
}

/// Writes the `.file` directives of a text with numbers that are unique among all texts. Returns the new number
/// of each.
fn files(part: &Part, number: usize, out: &mut String) -> HashMap<u32, u32> {
    /// Maximum number of files of one text. Further files keep their lines, but lose their names.
    const MAX_FILES: u32 = 1 << 12;
    let mut files = HashMap::new();
    for item in &part.file.items {
        let Item::File(old, name) = item else { continue };
        let new = number as u32 * MAX_FILES + files.len() as u32 + 1;
        if files.len() < MAX_FILES as usize && files.insert(*old, new).is_none() {
            let _ = writeln!(out, ".file {new} \"{name}\"");
        }
    }
    files
}

/// An item with renamed symbols and renumbered files.
fn rewritten(
    part: &Part,
    tokens: &[Token],
    files: &HashMap<u32, u32>,
    renamed: impl Fn(&str) -> Option<String>,
) -> String {
    let mut text = Text::new(part, tokens);
    let mut is_file = false;
    for token in tokens {
        let word = part.text(token.span);
        match token.kind {
            TokenKind::Integer { value, .. } if is_file => {
                let new = u32::try_from(value).ok().and_then(|old| files.get(&old));
                text.push(token, &new.copied().unwrap_or(0).to_string());
            }
            TokenKind::Word => match renamed(word) {
                Some(name) => text.push(token, &name),
                None => text.push(token, word),
            },
            _ => text.push(token, word),
        }
        is_file = word == ".loc" || word == "inlined_at";
    }
    text.done
}

/// An item without its body or its initial value.
fn declaration(part: &Part, tokens: &[Token], linkage: &str) -> String {
    let is_end = |token: &Token| matches!(token.kind, TokenKind::Mark("{" | "=" | ";"));
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    let mut text = Text::new(part, &tokens[..end]);
    for token in &tokens[..end] {
        match part.text(token.span) {
            ".extern" | ".weak" | ".common" => text.push(token, linkage),
            word => text.push(token, word),
        }
    }
    text.done.push(';');
    text.done
}

/// Tokens as written in the text, including the blanks and comments between them.
struct Text<'p> {
    part: &'p Part<'p>,
    done: String,
    /// The end of the last token.
    end: u32,
}

impl<'p> Text<'p> {
    fn new(part: &'p Part<'p>, tokens: &[Token]) -> Self {
        let end = tokens.first().map_or(0, |token| token.span.start);
        Self { part, done: String::new(), end }
    }

    fn push(&mut self, token: &Token, word: &str) {
        let between = Span { start: self.end, end: token.span.start };
        self.done.push_str(self.part.text(between));
        self.done.push_str(word);
        self.end = token.span.end;
    }
}

/// Reports an error at a name in a text.
fn problem(part: &Part, problem: Problem) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    problems.push(problem);
    problems.into_diagnostics(part.source)
}
