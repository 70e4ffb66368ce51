//! The table of a run: a line for each step, then the first step with a fault in full.

use std::io::{self, Write};

use super::columns::{BAD, Cell, GOOD, headings, plain, write_columns};
use super::table::{
    number, partition_warnings, warn, write_comparison, write_judgement, write_origin,
};
use super::verdict;
use crate::judge::{Candidate, Run, Step, Verdict};

/// Writes the verdict on a run; on two, if there is a reference.
pub(super) fn write_run(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidate: &Candidate<'_>,
) -> io::Result<()> {
    let Candidate { path, run, found } = candidate;
    let (first, others) = partition_warnings(&found.warnings);
    warn(out, &first)?;
    write!(out, "{}: ", verdict(path, reference.map(|(path, _)| path), found.agrees()))?;
    let steps = found.steps.len();
    let plural = if steps == 1 { "" } else { "s" };
    let faulty = found.steps.iter().position(|step| step.first_fault().is_some());
    match faulty.map(|at| &found.steps[at]) {
        None => writeln!(out, "{steps} step{plural}, no fault in any")?,
        Some(step) => writeln!(
            out,
            "of {steps} step{plural} step {} is the first with a fault, in {}",
            step.step,
            step.first_fault().map_or_else(String::new, |fault| fault.tensor.to_string())
        )?,
    }
    warn(out, &others)?;
    writeln!(out)?;
    let compared = reference.is_some();
    let mut head = vec!["step", "loss"];
    head.extend(
        ["reference", "parameters apart", "allowed there"].into_iter().filter(|_| compared),
    );
    head.extend(["right by itself", "first fault"]);
    let mut lines = vec![headings(head)];
    lines.extend(found.steps.iter().map(|step| line(step, compared)));
    write_columns(out, &lines, &|_| true)?;
    writeln!(out)?;
    if let Some(at) = faulty {
        writeln!(out, "step {}:", found.steps[at].step)?;
        return match (reference, &found.steps[at].comparison) {
            (Some((other, steps)), Some(comparison)) => {
                write_comparison(out, comparison, (other, &steps[at]), (path, &run[at]))
            }
            _ => write_judgement(out, &found.steps[at].own, path, &run[at]),
        };
    }
    if let Some((path, [first, ..])) = reference {
        write_origin(out, "reference", path, &first.header)?;
    }
    run.first().map_or(Ok(()), |first| write_origin(out, "run", path, &first.header))
}

fn line(step: &Step, compared: bool) -> Vec<Cell> {
    let cell =
        |value: Option<f64>, shown: fn(f64) -> String| plain(value.map_or("-".into(), shown));
    let loss = |loss| cell(loss, |loss| format!("{loss:.6}"));
    let own = &step.own;
    let right = own.count(Verdict::Ok);
    let mut cells = vec![plain(step.step.to_string()), loss(step.loss)];
    if compared {
        let drift = step.drift.as_ref();
        cells.push(loss(step.reference_loss));
        cells.push(cell(drift.map(|drift| drift.apart), number));
        cells.push(cell(drift.map(|drift| drift.allowed), number));
    }
    cells.push(plain(format!("{right} of {}", right + own.faults())));
    cells.push(match step.first_fault() {
        None => ("none".into(), GOOD),
        Some(fault) => {
            let own = own.row(fault.tensor).is_some_and(|row| row.verdict.is_mismatch());
            let whose = if own { "wrong by itself" } else { "differs" };
            (format!("{} {whose}", fault.tensor), BAD)
        }
    });
    cells
}
