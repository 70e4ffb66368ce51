//! Diagnostics of a PTX text, formatted like a compiler's: message, position, line, underline, help.
//!
//! `cuda-c` uses the crate annotate-snippets for its errors. That crate puts an empty line before the help, but
//! the book shows this form and programs parse it, so it is formatted here.

use std::collections::HashSet;
use std::fmt;

use crate::source::{Source, Span};

/// Maximum number of errors that are shown for one text. Later errors are probably consequences of earlier errors.
const MAX_ERRORS: usize = 50;
/// Maximum width of a line that is shown in full.
const MAX_WIDTH: usize = 160;

/// An error in a PTX text. It contains the affected line, so that it can be shown without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The message: one sentence that names the error.
    pub message: String,
    /// The name of the text, usually a path.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// The number of underlined characters, at least 1.
    pub width: usize,
    /// The text after the underline; may be empty.
    pub label: String,
    /// The advice: one sentence that says how to fix it.
    pub help: Option<String>,
    /// Whether the text is valid, but the host is out of memory for its variables.
    pub out_of_memory: bool,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Very long lines are shown in part. A tab is shown as four spaces, so that the underline is aligned.
        let from = if self.column > MAX_WIDTH { self.column - 1 - MAX_WIDTH / 2 } else { 0 };
        let mut shown = String::new();
        let (mut before, mut under) = (0, 0);
        for (index, character) in self.text.chars().enumerate().skip(from).take(MAX_WIDTH) {
            let blanks = if character == '\t' { 4 } else { 1 };
            match character {
                '\t' => shown.push_str("    "),
                c if c.is_control() => shown.push('\u{fffd}'),
                c => shown.push(c),
            }
            if index + 1 < self.column {
                before += blanks;
            } else if index + 1 < self.column + self.width {
                under += blanks;
            }
        }
        let underline = format!("{}{}", " ".repeat(before), "^".repeat(under.max(1)));
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, "{margin}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{}", format!("{number} | {shown}").trim_end())?;
        writeln!(f, "{}", format!("{margin} | {underline} {}", self.label).trim_end())?;
        if let Some(help) = &self.help {
            writeln!(f, "{margin} = help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// An error that still refers to its text by a span.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    span: Span,
    message: String,
    label: String,
    help: Option<String>,
    /// The undeclared name that the error is about.
    unknown: Option<String>,
    out_of_memory: bool,
}

impl Problem {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        let (message, label, help) = (message.into(), String::new(), None);
        Self { span, message, label, help, unknown: None, out_of_memory: false }
    }

    /// Marks an error about an undeclared name. It is dropped if the name's declaration has an error.
    pub(crate) fn unknown(self, name: &str) -> Self {
        Self { unknown: Some(name.to_owned()), ..self }
    }

    pub(crate) fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Marks an error that the host is out of memory.
    pub(crate) fn out_of_memory(self) -> Self {
        Self { out_of_memory: true, ..self }
    }

    /// Sets the help, if there is any.
    pub(crate) fn maybe_help(self, help: Option<String>) -> Self {
        Self { help: help.or(self.help), ..self }
    }
}

/// The problems so far, and the names whose declarations have errors.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>, HashSet<String>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Adds an error in the declaration of names. Later errors that these names are unknown are only consequences,
    /// and are dropped.
    pub(crate) fn push_for<'n>(
        &mut self,
        problem: Problem,
        names: impl IntoIterator<Item = &'n str>,
    ) {
        self.0.push(problem);
        self.1.extend(names.into_iter().map(str::to_owned));
    }

    /// Whether an error is only a consequence of an error in the declaration of a name, or of its range.
    fn follows(&self, problem: &Problem) -> bool {
        problem.unknown.as_deref().is_some_and(|name| {
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            self.1.contains(name) || self.1.contains(prefix)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts the problems by position, and keeps one for each position.
    pub(crate) fn into_diagnostics(mut self, source: &Source) -> Vec<Diagnostic> {
        let problems = std::mem::take(&mut self.0);
        self.0 = problems.into_iter().filter(|problem| !self.follows(problem)).collect();
        self.0.sort_by_key(|problem| (problem.span.start, problem.span.end));
        self.0.dedup_by(|b, a| a.span == b.span && a.message == b.message);
        let more = self.0.len().saturating_sub(MAX_ERRORS);
        if more > 0 {
            self.0.truncate(MAX_ERRORS + 1);
            let last = &mut self.0[MAX_ERRORS];
            let errors = if more == 1 { "error is" } else { "errors are" };
            *last = Problem::new(last.span, format!("{more} more {errors} not shown"));
        }
        self.0.into_iter().map(|problem| locate(problem, source)).collect()
    }
}

fn locate(problem: Problem, source: &Source) -> Diagnostic {
    let Problem { span, message, label, help, out_of_memory, .. } = problem;
    let (line, column, text) = source.line_of(span.start);
    let end = source.text.floor_char_boundary(span.end.max(span.start) as usize);
    let start = source.text.floor_char_boundary(span.start as usize);
    let characters = source.text[start..end].lines().next().map_or(0, |line| line.chars().count());
    let left = (text.chars().count() + 1).saturating_sub(column);
    Diagnostic {
        message,
        file: source.name.clone(),
        line,
        column,
        text: text.to_owned(),
        width: characters.min(left).max(1),
        label,
        help,
        out_of_memory,
    }
}

/// The candidate that is most similar to `word`, except the word itself; `None` if no candidate is similar enough.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let close = |candidate: &&str| *candidate != word && candidate.len().abs_diff(word.len()) <= 3;
    candidates
        .into_iter()
        .filter(close)
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance * 3 <= candidate.len().max(word.len()).max(3))
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_underlines_its_span() {
        let source = Source { name: "a.ptx".into(), text: "ret;\n\tadd.f32 %f1;\n".into() };
        let mut problems = Problems::default();
        let span = Span { start: 14, end: 17 };
        problems.push(Problem::new(span, "wrong").label("here").help("do it right"));
        let shown = problems.into_diagnostics(&source)[0].to_string();
        let expected = "error: wrong\n --> a.ptx:2:10\n  |\n2 |     add.f32 %f1;\n  |             \
                        ^^^ here\n  = help: do it right\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_diagnostic_at_the_end_of_the_text_can_be_shown() {
        let source = Source { name: "a.ptx".into(), text: String::new() };
        let mut problems = Problems::default();
        problems.push(Problem::new(Span { start: 0, end: 0 }, "empty"));
        assert!(problems.into_diagnostics(&source)[0].to_string().contains("a.ptx:1:1"));
    }

    #[test]
    fn closest_finds_similar_words_only() {
        assert_eq!(closest("fam", ["add", "fma", "mul"]), Some("fma"));
        assert_eq!(closest("%f9", ["%f1", "%rd3"]), Some("%f1"));
        assert_eq!(closest("quux", ["add", "fma", "mul"]), None);
    }
}
