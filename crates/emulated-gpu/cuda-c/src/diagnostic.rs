//! Diagnostics: an error or a warning with its position, the underlined line, and help.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use crate::source::{Sources, Span};

/// The maximum number of diagnostics of a source. Later diagnostics are likely to be consequences
/// of earlier ones.
const MAX_SHOWN: usize = 50;

/// A diagnostic doesn't show a source line that is longer than this.
const MAX_LINE_BYTES: usize = 10_000;

/// Whether a diagnostic prevents the compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The source can't be compiled.
    Error,
    /// The source was compiled, but probably doesn't do what was meant.
    Warning,
}

/// An error or a warning. It contains the source line to which it refers, so that it can be shown
/// without the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The problem.
    pub message: String,
    /// The name of the text, usually a path.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text of the source line; empty if the line is too long to show.
    pub text: String,
    /// The number of underlined characters, at least 1.
    pub width: usize,
    /// A short text next to the underline; may be empty.
    pub label: String,
    /// Advice on how to fix the problem.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let byte = |characters: usize| {
            self.text.char_indices().nth(characters).map_or(self.text.len(), |(at, _)| at)
        };
        let (start, end) = (byte(self.column - 1), byte(self.column - 1 + self.width));
        let mut place = AnnotationKind::Primary.span(start..end.max(start));
        if !self.label.is_empty() {
            place = place.label(self.label.as_str());
        }
        let title = level.primary_title(self.message.as_str());
        let mut report = if self.text.is_empty() {
            let origin = Origin::path(self.file.as_str());
            title.element(origin.line(self.line).char_column(self.column))
        } else {
            let snippet = Snippet::source(self.text.as_str()).line_start(self.line);
            title.element(snippet.path(self.file.as_str()).annotation(place))
        };
        if let Some(help) = &self.help {
            report = report.element(Level::HELP.message(help.as_str()));
        }
        writeln!(f, "{}", Renderer::plain().render(&[report]))
    }
}

impl std::error::Error for Diagnostic {}

/// A diagnostic whose position is still a span.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    pub(crate) span: Span,
    pub(crate) message: String,
    label: String,
    help: Option<String>,
}

impl Problem {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { severity: Severity::Error, span, message, label: String::new(), help: None }
    }

    pub(crate) fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::new(span, message) }
    }

    pub(crate) fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Suggests the most similar of the known words, if one is similar enough.
    pub(crate) fn did_you_mean<'a>(
        self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.maybe_help(closest(word, known).map(|known| format!("did you mean `{known}`?")))
    }

    pub(crate) fn maybe_help(self, help: Option<String>) -> Self {
        Self { help: help.or(self.help), ..self }
    }
}

/// The diagnostics found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops all but the first `len` diagnostics.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Whether there are too many errors for the compiler to continue.
    pub(crate) fn too_many(&self) -> bool {
        self.0.len() > 4 * MAX_SHOWN
    }

    /// Sorts the diagnostics, errors first and then by position, and keeps one diagnostic for each
    /// place.
    pub(crate) fn into_diagnostics(mut self, sources: &Sources) -> Vec<Diagnostic> {
        self.0.sort_by_key(|problem| (problem.severity, problem.span));
        self.0.dedup_by(|b, a| a.span == b.span && a.severity == b.severity);
        self.0.truncate(MAX_SHOWN);
        self.0.into_iter().map(|problem| locate(problem, sources)).collect()
    }
}

fn locate(problem: Problem, sources: &Sources) -> Diagnostic {
    let Problem { severity, span, message, label, help } = problem;
    let source = sources.get(span.file);
    let (line, column) = source.place(span.start);
    let text = source.line(line);
    let end = source.text.floor_char_boundary((span.end as usize).min(source.text.len()));
    let start = source.text.floor_char_boundary((span.start as usize).min(end));
    let characters = source.text[start..end].lines().next().map_or(0, |line| line.chars().count());
    let left = (text.chars().count() + 1).saturating_sub(column);
    let width = characters.min(left).max(1);
    let text = if text.len() > MAX_LINE_BYTES { "" } else { text };
    let (file, text) = (source.name.clone(), text.to_owned());
    Diagnostic { severity, message, file, line, column, text, width, label, help }
}

/// The longest word that is compared with others: the time grows with the product of the lengths.
const MAX_COMPARED_BYTES: usize = 100;

/// The candidate that is most similar to a misspelt word, if one is similar enough.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.len() > MAX_COMPARED_BYTES {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 3)
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance * 3 <= candidate.len().max(word.len()).max(3))
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}
