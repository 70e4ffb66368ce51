//! The table of one step: the verdict, the first divergence, a row for each tensor, and the origin of the dumps.

use std::io::{self, Write};
use std::path::Path;

use tensor::{Dump, Header};

use super::columns::{BAD, CAUTION, GOOD, headings, plain, write_columns};
use super::verdict;
use crate::finding::{Divergence, Pattern, PatternKind};
use crate::judge::{Comparison, Deviation, Judgement, Row, VARY, Verdict};

/// The worst element, its error and its bound are next to each other: these two numbers make
/// the verdict.
const HEADINGS: [&str; 8] = [
    "tensor",
    "shape",
    "max abs error",
    "max rel error",
    "worst at",
    "error there",
    "allowed there",
    "verdict",
];

/// Writes the comparison of two dumps.
pub(super) fn write_comparison(
    out: &mut dyn Write,
    comparison: &Comparison,
    (reference_path, reference): (&Path, &Dump),
    (path, dump): (&Path, &Dump),
) -> io::Result<()> {
    let (first, others) = partition_warnings(&comparison.warnings);
    warn(out, &first)?;
    let agrees = comparison.agrees();
    let absent = comparison.count(Verdict::NotMaterialised);
    let mut parts = Vec::new();
    if !agrees {
        let compared = comparison.rows.len() - absent;
        parts.push(format!("{} of {compared} tensors differ", comparison.mismatches()));
    }
    let tensors = if agrees { "tensors " } else { "" };
    let within = comparison.count(Verdict::Ok);
    parts.push(format!("{within} {tensors}within the derived tolerance"));
    if absent > 0 {
        parts.push(format!("{absent} not materialised, and not compared"));
    }
    let verdict = verdict(path, Some(reference_path), agrees);
    write_verdict(out, &verdict, parts, comparison.scale_tolerance)?;
    write_divergence(out, comparison.first_divergence.as_ref())?;
    warn(out, &others)?;
    write_rows(out, &comparison.rows, |row| label(comparison, row))?;
    write_origin(out, "reference", reference_path, &reference.header)?;
    write_origin(out, "candidate", path, &dump.header)
}

/// Writes the judgement of a dump by itself.
pub(super) fn write_judgement(
    out: &mut dyn Write,
    judgement: &Judgement,
    path: &Path,
    dump: &Dump,
) -> io::Result<()> {
    let (right, faults) = (judgement.count(Verdict::Ok), judgement.faults());
    let what = "the results of their operations on its own inputs";
    let mut parts = vec![if judgement.is_clean() {
        format!("{right} tensors are {what}")
    } else {
        format!("{faults} of {} tensors are not {what}", right + faults)
    }];
    for (verdict, what) in
        [(Verdict::Given, "given"), (Verdict::NotMaterialised, "not materialised")]
    {
        if judgement.count(verdict) > 0 {
            parts.push(format!("{} {what}, and not judged", judgement.count(verdict)));
        }
    }
    let verdict = verdict(path, None, judgement.is_clean());
    write_verdict(out, &verdict, parts, judgement.scale_tolerance)?;
    write_divergence(out, judgement.first_fault.as_ref())?;
    warn(out, &judgement.warnings.iter().collect::<Vec<_>>())?;
    write_rows(out, &judgement.rows, own_label)?;
    write_origin(out, "dump", path, &dump.header)
}

fn write_verdict(
    out: &mut dyn Write,
    verdict: &str,
    mut parts: Vec<String>,
    scale_tolerance: f64,
) -> io::Result<()> {
    if scale_tolerance != 1.0 {
        parts.push(format!("every tolerance multiplied by {scale_tolerance}"));
    }
    writeln!(out, "{verdict}: {}", parts.join(", "))
}

/// The warning that results vary comes before the verdict, because it puts the verdict in doubt; all others follow
/// the verdict.
pub(super) fn partition_warnings(warnings: &[String]) -> (Vec<&String>, Vec<&String>) {
    warnings.iter().partition(|warning| warning.contains(VARY))
}

pub(super) fn warn(out: &mut dyn Write, warnings: &[&String]) -> io::Result<()> {
    warnings
        .iter()
        .try_for_each(|text| writeln!(out, "{CAUTION}warning: {}{CAUTION:#}", host::shown(text)))
}

/// The verdict on a row of a comparison; for a tensor that differs, whether the fault is its own.
pub(super) fn label(comparison: &Comparison, row: &Row) -> String {
    let own = comparison.is_own_fault(row.name);
    match (row.verdict, own) {
        (Verdict::Differs, Some(true)) => format!("{}, its own fault", row.verdict.label()),
        (Verdict::Differs, Some(false)) => format!("{}, inherited", row.verdict.label()),
        (Verdict::Ok, Some(true)) => "WRONG by itself".into(),
        _ => row.verdict.label().into(),
    }
}

/// The verdict on a row of a judgement.
pub(super) fn own_label(row: &Row) -> String {
    let wrong = row.verdict == Verdict::Differs;
    if wrong { "WRONG".into() } else { row.verdict.label().into() }
}

impl Pattern {
    /// `Likely` or `Unexplained`, and the sentence that follows.
    pub(super) fn sentence(&self) -> (&'static str, String) {
        let word = if self.kind == PatternKind::Unexplained { "Unexplained" } else { "Likely" };
        let explains = match self.explains {
            0 | 1 => String::new(),
            n => format!(" (explains {n} wrong elements)"),
        };
        (word, format!("{}{explains}", self.text))
    }
}

/// Writes the first divergence as sentences.
pub(super) fn write_divergence(
    out: &mut dyn Write,
    divergence: Option<&Divergence>,
) -> io::Result<()> {
    let Some(divergence) = divergence else { return Ok(()) };
    writeln!(out, "{}", divergence.reading)?;
    let Some(pattern) = &divergence.pattern else { return Ok(()) };
    let (word, text) = pattern.sentence();
    writeln!(out, "{CAUTION}{word}{CAUTION:#}: {text}.")
}

/// Writes the rows between two empty lines.
fn write_rows(out: &mut dyn Write, rows: &[Row], label: impl Fn(&Row) -> String) -> io::Result<()> {
    let line = |row: &Row| {
        let label = label(row);
        let style = match row.verdict {
            Verdict::Ok if label == Verdict::Ok.label() => GOOD,
            Verdict::NotMaterialised | Verdict::Given => CAUTION,
            _ => BAD,
        };
        let none = || ["-"; 5].map(String::from);
        let numbers = row.deviation.as_ref().map_or_else(none, Deviation::numbers);
        let mut cells = vec![plain(row.name.to_string()), plain(row.shown_shape())];
        cells.extend(numbers.map(plain));
        cells.push((label, style));
        cells
    };
    let mut lines = vec![headings(HEADINGS)];
    lines.extend(rows.iter().map(line));
    writeln!(out)?;
    write_columns(out, &lines, &|at| matches!(at, 2 | 3 | 5 | 6))?;
    writeln!(out)
}

impl Row {
    /// The shape, or a dash if it is unknown.
    pub(super) fn shown_shape(&self) -> String {
        self.shape.as_ref().map_or_else(|| "-".into(), |shape| format!("{shape:?}"))
    }
}

impl Deviation {
    /// The numbers that the table and the page show: the largest errors, then the index of the worst element, its
    /// error and its bound.
    pub(super) fn numbers(&self) -> [String; 5] {
        [
            number(self.max_abs_error),
            number(self.max_relative_error),
            format!("{:?}", self.worst_index),
            number(self.worst_error),
            number(self.allowed),
        ]
    }
}

/// Three significant digits are enough for an error.
pub(super) fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value.is_infinite() => "infinity".into(),
        value => format!("{value:.2e}"),
    }
}

/// Writes which program made a dump, and with which settings.
pub(super) fn write_origin(
    out: &mut dyn Write,
    role: &str,
    path: &Path,
    header: &Header,
) -> io::Result<()> {
    let loss = header.loss.map_or_else(|| "no loss named".into(), |loss| loss.to_string());
    let ranks = header.world_size.map_or_else(String::new, |ranks| format!(", {ranks} ranks"));
    writeln!(
        out,
        "{role}: {}, made by {}{ranks} on {}, {}, preset {}, {loss}, seed {}, step {}, learning rate {}",
        host::shown(path),
        host::shown(&header.level),
        host::shown(&header.device),
        header.dtype.name(),
        host::shown(&header.preset),
        header.seed,
        header.step,
        header.learning_rate,
    )
}
