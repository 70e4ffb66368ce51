//! The result for people: the verdict, the first divergence, an aligned table, who made the dumps.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use tensor::{Dump, Header};

use crate::compare::{Comparison, Deviation, Row, Verdict};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default();

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
    verdict(out, comparison, reference_path, candidate_path)?;
    for warning in &comparison.warnings {
        writeln!(out, "{CAUTION}warning: {warning}{CAUTION:#}")?;
    }
    writeln!(out)?;
    rows(out, &comparison.rows)?;
    writeln!(out)?;
    legend(out, "reference", reference_path, &reference.header)?;
    legend(out, "candidate", candidate_path, &candidate.header)
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
    write!(out, "{style}{} {verb} {}{style:#}: ", candidate.display(), reference.display())?;
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
    if let Some(divergence) = &comparison.first_divergence {
        writeln!(out, "{}", divergence.reading)?;
        if let Some(pattern) = &divergence.pattern {
            writeln!(out, "{CAUTION}Likely{CAUTION:#}: {}.", pattern.text)?;
        }
    }
    Ok(())
}

fn rows(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    let cells: Vec<[String; 8]> = rows.iter().map(cells).collect();
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
            Verdict::Ok => GOOD,
            Verdict::NotMaterialised => CAUTION,
            _ => BAD,
        };
        line(out, cells.each_ref().map(String::as_str), style)?;
    }
    Ok(())
}

fn cells(row: &Row) -> [String; 8] {
    let shape = row.shape.as_ref().map_or_else(|| "-".into(), |shape| format!("{shape:?}"));
    let numbers = row.deviation.as_ref().map_or_else(
        || ["-"; 5].map(String::from),
        |found: &Deviation| {
            [
                number(found.max_abs_error),
                number(found.max_relative_error),
                format!("{:?}", found.worst_index),
                number(found.worst_error),
                number(found.allowed),
            ]
        },
    );
    let [absolute, relative, worst, error, allowed] = numbers;
    let label = row.verdict.label().to_owned();
    [row.name.to_string(), shape, absolute, relative, worst, error, allowed, label]
}

/// Three significant digits are plenty for an error.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value.is_infinite() => "infinity".into(),
        value => format!("{value:.2e}"),
    }
}

fn legend(out: &mut dyn Write, role: &str, path: &Path, header: &Header) -> io::Result<()> {
    let loss = header.loss.map_or_else(|| "no loss named".into(), |loss| loss.to_string());
    writeln!(
        out,
        "{role}: {}, made by {} on {}, {}, preset {}, {loss}, seed {}, step {}, learning rate {}",
        path.display(),
        header.level,
        header.device,
        header.dtype.name(),
        header.preset,
        header.seed,
        header.step,
        header.learning_rate,
    )
}
