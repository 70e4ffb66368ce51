//! The result for people: the verdict, the first divergence, an aligned table, who made the dumps.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use tensor::{Dump, Header};

use crate::finding::{Divergence, PatternKind};
use crate::judge::{Comparison, Deviation, Judgement, Row, VARY, Verdict};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default();

/// The worst element, its error and what it is allowed stand side by side: these two numbers make
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
/// Words are aligned to the left, numbers to the right.
const NUMBERS: [bool; 8] = [false, false, true, true, false, true, true, false];

/// Writes the result, with colours as ANSI escapes: `out` strips them where they don't belong.
///
/// # Errors
/// When `out` can't be written.
pub fn write_table(
    out: &mut dyn Write,
    comparison: &Comparison,
    (reference_path, reference): (&Path, &Dump),
    (candidate_path, candidate): (&Path, &Dump),
) -> io::Result<()> {
    let (first, others) = first_and_others(&comparison.warnings);
    warn(out, &first)?;
    verdict(out, comparison, reference_path, candidate_path)?;
    warn(out, &others)?;
    writeln!(out)?;
    rows(out, &comparison.rows, |row| label(comparison, row))?;
    writeln!(out)?;
    legend(out, "reference", reference_path, &reference.header)?;
    legend(out, "candidate", candidate_path, &candidate.header)
}

/// The warning that results vary comes before the verdict, because it puts the verdict in doubt; all others follow
/// after it.
pub(crate) fn first_and_others(warnings: &[String]) -> (Vec<&String>, Vec<&String>) {
    warnings.iter().partition(|warning| warning.contains(VARY))
}

pub(crate) fn warn(out: &mut dyn Write, warnings: &[&String]) -> io::Result<()> {
    warnings
        .iter()
        .try_for_each(|text| writeln!(out, "{CAUTION}warning: {}{CAUTION:#}", host::shown(text)))
}

/// What a row of a comparison says: the verdict, and for what differs whether it is to blame.
pub(crate) fn label(comparison: &Comparison, row: &Row) -> String {
    let own = comparison.is_own_fault(row.name);
    match (row.verdict, own) {
        (Verdict::Differs, Some(true)) => format!("{}, its own fault", row.verdict.label()),
        (Verdict::Differs, Some(false)) => format!("{}, inherited", row.verdict.label()),
        (Verdict::Ok, Some(true)) => "WRONG by itself".into(),
        _ => row.verdict.label().into(),
    }
}

/// Writes what a dump says of itself, as [`write_table`] does a comparison.
///
/// # Errors
/// When `out` can't be written.
pub fn write_judgement(
    out: &mut dyn Write,
    judgement: &Judgement,
    path: &Path,
    dump: &Dump,
) -> io::Result<()> {
    let (style, verb) =
        if judgement.is_clean() { (GOOD, "is consistent") } else { (BAD, "is wrong by itself") };
    write!(out, "{style}{} {verb}{style:#}: ", host::shown(path))?;
    let mut parts = Vec::new();
    let right = judgement.count(Verdict::Ok);
    if judgement.is_clean() {
        parts.push(format!("{right} tensors are what their operations make of its own inputs"));
    } else {
        let all = right + judgement.faults();
        parts.push(format!(
            "{} of {all} tensors are not what their operations make of its own inputs",
            judgement.faults()
        ));
    }
    for (verdict, what) in
        [(Verdict::Given, "given"), (Verdict::NotMaterialised, "not materialised")]
    {
        if judgement.count(verdict) > 0 {
            parts.push(format!("{} {what}, and not judged", judgement.count(verdict)));
        }
    }
    if judgement.scale_tolerance != 1.0 {
        parts.push(format!("every tolerance multiplied by {}", judgement.scale_tolerance));
    }
    writeln!(out, "{}", parts.join(", "))?;
    read_out(out, judgement.first_fault.as_ref())?;
    warn(out, &judgement.warnings.iter().collect::<Vec<_>>())?;
    writeln!(out)?;
    rows(out, &judgement.rows, own_label)?;
    writeln!(out)?;
    legend(out, "dump", path, &dump.header)
}

pub(crate) fn own_label(row: &Row) -> String {
    match row.verdict {
        Verdict::Differs => "WRONG".into(),
        verdict => verdict.label().into(),
    }
}

/// The first divergence, as sentences.
pub(crate) fn read_out(out: &mut dyn Write, divergence: Option<&Divergence>) -> io::Result<()> {
    let Some(divergence) = divergence else { return Ok(()) };
    writeln!(out, "{}", divergence.reading)?;
    let Some(pattern) = &divergence.pattern else { return Ok(()) };
    let word = if pattern.kind == PatternKind::Unexplained { "Unexplained" } else { "Likely" };
    write!(out, "{CAUTION}{word}{CAUTION:#}: {}", pattern.text)?;
    if pattern.explains > 1 {
        write!(out, " (explains {} wrong elements)", pattern.explains)?;
    }
    writeln!(out, ".")
}

fn verdict(
    out: &mut dyn Write,
    comparison: &Comparison,
    reference: &Path,
    candidate: &Path,
) -> io::Result<()> {
    let agreeing = comparison.count(Verdict::Ok);
    let (style, verb) =
        if comparison.agrees() { (GOOD, "agrees with") } else { (BAD, "differs from") };
    write!(out, "{style}{} {verb} {}{style:#}: ", host::shown(candidate), host::shown(reference))?;
    let mut parts = Vec::new();
    if !comparison.agrees() {
        let compared = comparison.rows.len() - comparison.count(Verdict::NotMaterialised);
        parts.push(format!("{} of {compared} tensors differ", comparison.mismatches()));
    }
    let tensors = if comparison.agrees() { "tensors " } else { "" };
    parts.push(format!("{agreeing} {tensors}within the derived tolerance"));
    let absent = comparison.count(Verdict::NotMaterialised);
    if absent > 0 {
        parts.push(format!("{absent} not materialised, and not compared"));
    }
    if comparison.scale_tolerance != 1.0 {
        parts.push(format!("every tolerance multiplied by {}", comparison.scale_tolerance));
    }
    writeln!(out, "{}", parts.join(", "))?;
    read_out(out, comparison.first_divergence.as_ref())
}

fn rows(out: &mut dyn Write, rows: &[Row], label: impl Fn(&Row) -> String) -> io::Result<()> {
    let cells: Vec<[String; 8]> = rows.iter().map(|row| cells(row, label(row))).collect();
    let mut widths = HEADINGS.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |out: &mut dyn Write, cells: [&str; 8], style: Style| {
        let last = cells.len() - 1;
        for (i, cell) in cells[..last].iter().enumerate() {
            let width = widths[i];
            if NUMBERS[i] {
                write!(out, "{cell:>width$}  ")?;
            } else {
                write!(out, "{cell:<width$}  ")?;
            }
        }
        // Styled after the padding, and nothing after it: no invisible character is counted.
        writeln!(out, "{style}{}{style:#}", cells[last])
    };
    line(out, HEADINGS, Style::new().bold())?;
    for (row, cells) in rows.iter().zip(&cells) {
        let style = match row.verdict {
            Verdict::Ok if cells[7] == Verdict::Ok.label() => GOOD,
            Verdict::NotMaterialised | Verdict::Given => CAUTION,
            _ => BAD,
        };
        line(out, cells.each_ref().map(String::as_str), style)?;
    }
    Ok(())
}

impl Deviation {
    /// As the table and the page show it: the largest errors, and where it is worst the index, the error and
    /// the bound.
    pub(crate) fn numbers(&self) -> [String; 5] {
        [
            number(self.max_abs_error),
            number(self.max_relative_error),
            format!("{:?}", self.worst_index),
            number(self.worst_error),
            number(self.allowed),
        ]
    }
}

fn cells(row: &Row, label: String) -> [String; 8] {
    let shape = row.shape.as_ref().map_or_else(|| "-".into(), |shape| format!("{shape:?}"));
    let numbers =
        row.deviation.as_ref().map_or_else(|| ["-"; 5].map(String::from), Deviation::numbers);
    let [absolute, relative, worst, error, allowed] = numbers;
    [row.name.to_string(), shape, absolute, relative, worst, error, allowed, label]
}

/// Three significant digits are plenty for an error.
pub(crate) fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value.is_infinite() => "infinity".into(),
        value => format!("{value:.2e}"),
    }
}

pub(crate) fn legend(
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
