//! What came of an attempt: data that a page can draw, and a text for the terminal.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use crate::cost::{Cost, Measure};
use crate::puzzle::Language;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every number is right on every size, and every demand is met.
    Solved,
    /// It does not compile, or has not the kernel that the frame has.
    Rejected,
    /// A thread broke a rule, or a warp went on for too long.
    Stopped,
    /// A number is wrong.
    Wrong,
    /// The numbers are right, and it cost more than the puzzle allows.
    Costly,
}

impl Verdict {
    /// In a word or two.
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

/// Something that a compiler says of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Whether it compiles all the same.
    pub warning: bool,
    /// What is wrong.
    pub message: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// How many characters are meant, at least 1.
    pub width: usize,
    /// What stands beside them; may be empty.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line itself.
    pub text: String,
}

/// A line of the reader's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownLine {
    /// From 1.
    pub line: usize,
    /// What it says.
    pub text: String,
    /// Why it is shown: what the thread did there.
    pub role: String,
}

/// A launch that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Its size and shape, in words.
    pub size: String,
    /// Whether all was right.
    pub passed: bool,
}

/// A buffer with wrong numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wrong {
    /// Its name, as the kernel's parameter has it.
    pub buffer: String,
    /// Its elements along each axis, the last one fastest.
    pub shape: Vec<usize>,
    /// Where the first wrong element is, along each axis.
    pub first: Vec<usize>,
    /// What should be there.
    pub expected: Vec<f64>,
    /// What is there. JSON has no word for what is no number, and has `null` for it.
    #[serde(deserialize_with = "numbers")]
    pub got: Vec<f64>,
    /// Which elements are wrong.
    pub wrong: Vec<bool>,
}

fn numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The puzzle's name.
    pub puzzle: String,
    /// What it was written in.
    pub language: Language,
    /// How it ended.
    pub verdict: Verdict,
    /// What happened, in a sentence; empty where all is well.
    pub what: String,
    /// What that means and what to do about it, a paragraph each.
    pub teaches: Vec<String>,
    /// What the compiler says.
    pub marks: Vec<Mark>,
    /// The lines that it happened in.
    pub places: Vec<ShownLine>,
    /// The launches up to the first that failed, in order.
    pub tried: Vec<Tried>,
    /// The buffer with the wrong numbers.
    pub wrong: Option<Wrong>,
    /// What it cost, where the numbers are right.
    pub cost: Option<Cost>,
    /// What the solution in this language costs, beside [`cost`](Self::cost).
    pub solution: Option<Cost>,
    /// What the kernel printed.
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

/// The whole report, with a line break at its end.
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
                let (own, other) = (measure.of(cost), measure.of(solution));
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
        // The underline stands below the same characters, tabs among them.
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

/// A text broken into lines, behind an empty one.
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
