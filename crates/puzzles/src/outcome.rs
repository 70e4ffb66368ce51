//! Outcome of an attempt: the data that a page draws, and the text for the terminal.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use crate::cost::{Cost, Measure};
use crate::puzzle::Language;

/// The verdict on an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every number is right on every size, and every demand is met.
    Solved,
    /// The attempt does not compile, or lacks the frame's kernel.
    Rejected,
    /// A thread caused a fault, or a warp exceeded the limit of instructions.
    Stopped,
    /// A number is wrong.
    Wrong,
    /// The numbers are right, but the kernel costs more than the puzzle allows.
    Costly,
}

impl Verdict {
    /// The verdict's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Rejected => "does not compile",
            Self::Stopped => "stopped",
            Self::Wrong => "wrong numbers",
            Self::Costly => "right, but too costly",
        }
    }
}

/// A compiler's error or warning, with its place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Whether this is a warning rather than an error.
    pub warning: bool,
    /// The message.
    pub message: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The number of characters to underline, at least 1.
    pub width: usize,
    /// The text next to the underline; may be empty.
    pub label: String,
    /// A suggestion for the fix.
    pub help: Option<String>,
    /// The text of the line.
    pub text: String,
}

/// A line of the reader's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownLine {
    /// The line's number, counted from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The reason why the line is shown, such as "where it happened".
    pub role: String,
}

/// A test case that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedSize {
    /// The size and the launch as text.
    pub size: String,
    /// Whether all numbers were right.
    pub passed: bool,
}

/// A buffer with wrong numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wrong {
    /// The name of the kernel's parameter.
    pub buffer: String,
    /// The buffer's number of elements along each axis; the last axis is contiguous.
    pub shape: Vec<usize>,
    /// Index of the first wrong element, along each axis.
    pub first: Vec<usize>,
    /// The expected numbers.
    pub expected: Vec<f64>,
    /// The computed numbers. In JSON a NaN is `null`.
    #[serde(deserialize_with = "numbers")]
    pub got: Vec<f64>,
    /// For each element, whether it is wrong.
    pub wrong: Vec<bool>,
}

fn numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The puzzle's name.
    pub puzzle: String,
    /// The language of the attempt.
    pub language: Language,
    /// The verdict.
    pub verdict: Verdict,
    /// What happened, in a sentence; empty if the puzzle is solved.
    pub what: String,
    /// Explanation and advice, as paragraphs.
    pub teaches: Vec<String>,
    /// Errors and warnings of the compiler.
    pub marks: Vec<Mark>,
    /// The lines of the source in which the failure happened.
    pub places: Vec<ShownLine>,
    /// The test cases up to the first that failed, in order.
    pub tried: Vec<TriedSize>,
    /// The first buffer with wrong numbers.
    pub wrong: Option<Wrong>,
    /// The attempt's cost, if the numbers are right.
    pub cost: Option<Cost>,
    /// The cost of the solution in this language, if the attempt has a [`cost`](Self::cost) to compare with.
    pub solution: Option<Cost>,
    /// Output of the kernel's `printf`.
    pub printed: String,
}

impl Outcome {
    pub(crate) fn new(puzzle: &str, language: Language, verdict: Verdict) -> Self {
        Self {
            puzzle: puzzle.to_owned(),
            language,
            verdict,
            what: String::new(),
            teaches: Vec::new(),
            marks: Vec::new(),
            places: Vec::new(),
            tried: Vec::new(),
            wrong: None,
            cost: None,
            solution: None,
            printed: String::new(),
        }
    }
}

/// Writes the whole report, with a line break at its end.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} in {}: {}", self.puzzle, self.language.name(), self.verdict.name())?;
        for tried in &self.tried {
            writeln!(f, "  {} {}", if tried.passed { "right" } else { "WRONG" }, tried.size)?;
        }
        if !self.what.is_empty() {
            paragraph(f, &self.what)?;
        }
        for place in &self.places {
            writeln!(f, "\n  line {}, {}:\n      {}", place.line, place.role, place.text.trim())?;
        }
        for mark in &self.marks {
            write!(f, "\n{mark}")?;
        }
        for text in &self.teaches {
            paragraph(f, text)?;
        }
        if !self.printed.is_empty() {
            write!(f, "\nThe kernel printed:\n{}", self.printed)?;
        }
        if let (Some(cost), Some(solution)) = (&self.cost, &self.solution) {
            writeln!(f, "\n  {:<26}{:>10}{:>14}", "over all sizes", "yours", "the solution")?;
            for measure in Measure::ALL {
                let (own, other) = (measure.count(cost), measure.count(solution));
                if own > 0 || other > 0 {
                    writeln!(f, "  {:<26}{own:>10}{other:>14}", measure.name())?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.warning { "warning" } else { "error" };
        writeln!(f, "  line {}, {severity}: {}", self.line, self.message)?;
        // The underline's indentation copies the line's tabs, so that it is below the right characters.
        let before = self.text.chars().take(self.column.saturating_sub(1));
        let blank: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "      {}", self.text)?;
        let line = format!("      {blank}{} {}", "^".repeat(self.width.min(200)), self.label);
        writeln!(f, "{}", line.trim_end())?;
        if let Some(help) = &self.help {
            writeln!(f, "      {help}")?;
        }
        Ok(())
    }
}

/// Writes an empty line, and the text wrapped into lines.
fn paragraph(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    const WIDTH: usize = 96;
    let mut line = String::new();
    writeln!(f)?;
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + word.chars().count() >= WIDTH {
            writeln!(f, "  {line}")?;
            line.clear();
        }
        let _ = write!(line, "{}{word}", if line.is_empty() { "" } else { " " });
    }
    writeln!(f, "  {line}")
}
