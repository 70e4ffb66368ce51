//! The linker: one PTX text is made of several, as `cuLinkComplete` and nvJitLink make one image of them (PTX ISA,
//! "Linking Directives"): what one text announces as `.extern`, another one defines; what has no
//! linkage directive is its text's alone; of several `.weak` or `.common` definitions one is left.

mod symbols;

use std::collections::HashMap;
use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Problem, Problems};
use crate::lexer::{self, Token, TokenKind};
use crate::parse;
use crate::source::{Source, Span};
use crate::syntax::{File, Item};
use symbols::{Fate, Resolution};

/// A text, read.
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
    fn of(&self, span: Span) -> &[Token] {
        let at = |byte| self.tokens.partition_point(|token| token.span.start < byte);
        &self.tokens[at(span.start)..at(span.end)]
    }
}

/// Links texts, in their order, as one text. What it means is checked by [`parse`](crate::parse) alone.
/// Lines of debug information lead to the same files as before; debug sections are left out.
///
/// # Errors
/// What is wrong with one of the texts by itself; a symbol that two of them define, or that two
/// `.common` declarations give different sizes.
pub fn link(sources: &[Source]) -> Result<String, Vec<Diagnostic>> {
    if let [one] = sources {
        parse::parse(one)?;
        return Ok(one.text.clone());
    }
    let mut parts = Vec::new();
    for source in sources {
        // What is wrong with it by itself is said of its own lines.
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
            let tokens = part.of(part.file.spans[index]);
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

/// The latest version and the newest target of all.
fn header(parts: &[Part]) -> String {
    let version = parts.iter().filter_map(|part| part.file.version).map(|(version, _)| version);
    let (major, minor) = version.max().unwrap_or((6, 0));
    let number = |target: &str| {
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or(0)
    };
    let targets = parts.iter().filter_map(|part| part.file.target).map(|name| name.text);
    // Of `sm_90` and `sm_90a`, the one that allows more.
    let target = targets.max_by_key(|name| (number(name), name.len())).unwrap_or("sm_30");
    format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n\n")
}

/// Writes the files that a text names, under numbers that no other text has, and says which.
fn files(part: &Part, number: usize, out: &mut String) -> HashMap<u32, u32> {
    /// Files of one text, at most: those beyond keep their lines, and lose their names.
    const MOST: u32 = 1 << 12;
    let mut files = HashMap::new();
    for item in &part.file.items {
        let Item::File(old, name) = item else { continue };
        let new = number as u32 * MOST + files.len() as u32 + 1;
        if files.len() < MOST as usize && files.insert(*old, new).is_none() {
            let _ = writeln!(out, ".file {new} \"{name}\"");
        }
    }
    files
}

/// An item with other names, and other numbers of files.
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

/// An item without its body or its value.
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

/// Tokens as they are written, with what stands between them.
struct Text<'p> {
    part: &'p Part<'p>,
    done: String,
    /// Where the last token ended.
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

/// An error at a name of a text.
fn problem(part: &Part, problem: Problem) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    problems.push(problem);
    problems.into_diagnostics(part.source)
}
