//! A run for people: a line for each step, then the first step with a fault, whole.

use std::io::{self, Write};
use std::path::Path;

use tensor::Dump;

use crate::judge::Verdict;
use crate::judge::{RunComparison, Step};
use crate::write::table::{
    BAD, GOOD, first_and_others, legend, number, warn, write_judgement, write_table,
};

/// Writes what was found of a run; of two, where `reference` is given. The paths stand for the runs.
///
/// # Errors
/// When `out` can't be written.
pub fn write_run_table(
    out: &mut dyn Write,
    found: &RunComparison,
    reference: Option<(&Path, &[Dump])>,
    (path, run): (&Path, &[Dump]),
) -> io::Result<()> {
    let (first, others) = first_and_others(&found.warnings);
    warn(out, &first)?;
    verdict(out, found, reference.map(|(path, _)| path), path)?;
    warn(out, &others)?;
    writeln!(out)?;
    lines(out, found, reference.is_some())?;
    writeln!(out)?;
    let faulty = found.first_faulty();
    let index = faulty.and_then(|step| found.steps.iter().position(|other| other == step));
    match (index.and_then(|i| Some((&found.steps[i], run.get(i)?, i))), reference) {
        (Some((step, dump, i)), Some((reference_path, reference))) => {
            let (Some(comparison), Some(other)) = (&step.comparison, reference.get(i)) else {
                return Ok(());
            };
            writeln!(out, "step {}:", step.step)?;
            write_table(out, comparison, (reference_path, other), (path, dump))
        }
        (Some((step, dump, _)), None) => {
            writeln!(out, "step {}:", step.step)?;
            write_judgement(out, &step.own, path, dump)
        }
        (None, reference) => {
            if let Some((path, [first, ..])) = reference {
                legend(out, "reference", path, &first.header)?;
            }
            match run.first() {
                Some(first) => legend(out, "run", path, &first.header),
                None => Ok(()),
            }
        }
    }
}

fn verdict(
    out: &mut dyn Write,
    found: &RunComparison,
    reference: Option<&Path>,
    path: &Path,
) -> io::Result<()> {
    let (style, verb) = match (found.agrees(), reference) {
        (true, Some(_)) => (GOOD, "agrees with"),
        (false, Some(_)) => (BAD, "differs from"),
        (true, None) => (GOOD, "is consistent"),
        (false, None) => (BAD, "is wrong by itself"),
    };
    let with = reference.map_or_else(String::new, |path| format!(" {}", host::shown(path)));
    write!(out, "{style}{} {verb}{with}{style:#}: ", host::shown(path))?;
    let steps = found.steps.len();
    let plural = if steps == 1 { "" } else { "s" };
    match found.first_faulty() {
        None => writeln!(out, "{steps} step{plural}, no fault in any"),
        Some(step) => {
            let tensor = step.first_fault().map(|fault| fault.tensor.to_string());
            writeln!(
                out,
                "of {steps} step{plural} step {} is the first with a fault, in {}",
                step.step,
                tensor.unwrap_or_default()
            )
        }
    }
}

fn lines(out: &mut dyn Write, found: &RunComparison, compared: bool) -> io::Result<()> {
    let head: &[&str] = if compared {
        &[
            "step",
            "loss",
            "reference",
            "parameters apart",
            "allowed there",
            "right by itself",
            "first fault",
        ]
    } else {
        &["step", "loss", "right by itself", "first fault"]
    };
    let mut rows: Vec<Vec<String>> = vec![head.iter().map(ToString::to_string).collect()];
    rows.extend(found.steps.iter().map(|step| cells(step, compared)));
    let widths: Vec<usize> = (0..head.len())
        .map(|i| rows.iter().map(|row| row[i].len()).max().unwrap_or_default())
        .collect();
    for (row, step) in rows.iter().zip(std::iter::once(None).chain(found.steps.iter().map(Some))) {
        let (last, rest) = row.split_last().expect("a row has cells");
        for (cell, width) in rest.iter().zip(&widths) {
            write!(out, "{cell:>width$}  ")?;
        }
        let style = match step {
            None => anstyle::Style::new().bold(),
            Some(step) if step.first_fault().is_none() => GOOD,
            Some(_) => BAD,
        };
        writeln!(out, "{style}{last}{style:#}")?;
    }
    Ok(())
}

fn cells(step: &Step, compared: bool) -> Vec<String> {
    let loss = |loss: Option<f64>| loss.map_or_else(|| "-".into(), |loss| format!("{loss:.6}"));
    let own = &step.own;
    let judged = own.count(Verdict::Ok) + own.faults();
    let mut cells = vec![step.step.to_string(), loss(step.loss)];
    if compared {
        cells.push(loss(step.reference_loss));
        let drift = step.drift.as_ref();
        let cell = |value: Option<f64>| value.map_or_else(|| "-".into(), number);
        cells.push(cell(drift.map(|drift| drift.apart)));
        cells.push(cell(drift.map(|drift| drift.allowed)));
    }
    cells.push(format!("{} of {judged}", own.count(Verdict::Ok)));
    cells.push(step.first_fault().map_or_else(
        || "none".into(),
        |fault| {
            let own = step.own.row(fault.tensor).is_some_and(|row| row.verdict.is_mismatch());
            let whose = if own { "wrong by itself" } else { "differs" };
            format!("{} {whose}", fault.tensor)
        },
    ));
    cells
}
