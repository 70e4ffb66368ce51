//! The table of several candidates: a row for each tensor, a column for each candidate.

use std::io::{self, Write};

use super::columns::{BAD, CAUTION, Cell, GOOD, headings, plain, write_columns};
use super::table::{label, partition_warnings, warn, write_divergence, write_origin};
use crate::judge::{self, Candidate, Run, Verdict, names, titles};

/// Writes the verdict on several candidates.
pub(super) fn write_levels(
    out: &mut dyn Write,
    (reference_path, reference): Run<'_>,
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    let titles = titles(candidates);
    for one in candidates {
        warn(out, &partition_warnings(&one.found.warnings).0)?;
    }
    let agreeing = candidates.iter().filter(|one| one.found.agrees()).count();
    let style = if agreeing == candidates.len() { GOOD } else { BAD };
    writeln!(
        out,
        "{style}{agreeing} of {} agree with {}{style:#}",
        candidates.len(),
        host::shown(reference_path)
    )?;
    for (one, title) in candidates.iter().zip(&titles) {
        for warning in partition_warnings(&one.found.warnings).1 {
            writeln!(out, "{CAUTION}{title}: warning: {}{CAUTION:#}", host::shown(warning))?;
        }
        if let Some(step) = one.found.first_faulty() {
            let several = one.found.steps.len() > 1;
            let at = if several { format!(", step {}", step.step) } else { String::new() };
            writeln!(out, "\n{BAD}{title}{at}{BAD:#}:")?;
            write_divergence(out, step.first_fault())?;
        }
    }
    writeln!(out)?;
    let mut lines = vec![headings(["tensor", "shape"].map(String::from).into_iter().chain(titles))];
    for name in names(candidates.iter().flat_map(|one| &one.found.steps)) {
        let steps = candidates.iter().flat_map(|one| &one.found.steps);
        let comparisons = steps.filter_map(|step| step.comparison.as_ref());
        let shape = comparisons.filter_map(|one| one.row(name)?.shape.as_ref()).next();
        let shape = shape.map_or_else(|| "-".into(), |shape| format!("{shape:?}"));
        let mut line = vec![plain(name.to_string()), plain(shape)];
        line.extend(candidates.iter().map(|one| cell(one, judge::Cell::find(&one.found, name))));
        lines.push(line);
    }
    write_columns(out, &lines, &|_| false)?;
    writeln!(
        out,
        "\na number is the largest error as a multiple of its bound: above 1 is a mismatch\n"
    )?;
    if let Some(first) = reference.first() {
        write_origin(out, "reference", reference_path, &first.header)?;
    }
    for one in candidates {
        if let Some(first) = one.run.first() {
            write_origin(out, "candidate", one.path, &first.header)?;
        }
    }
    Ok(())
}

fn cell(one: &Candidate<'_>, cell: judge::Cell<'_>) -> Cell {
    match cell {
        judge::Cell::Nothing => ("-".into(), CAUTION),
        judge::Cell::Within(ratio) => (share(ratio), GOOD),
        judge::Cell::Aside(verdict) => (verdict.label().into(), CAUTION),
        judge::Cell::Wrong(step, comparison, row) => {
            let ratio = row.deviation.as_ref().filter(|_| row.verdict == Verdict::Differs);
            let ratio = ratio.map_or_else(String::new, |found| share(found.ratio) + " ");
            (format!("{}{ratio}{}", one.step_prefix(step), label(comparison, row)), BAD)
        }
    }
}

/// An error as a multiple of its bound; two significant digits are enough.
pub(super) fn share(ratio: f64) -> String {
    match ratio {
        0.0 => "0".into(),
        ratio if ratio.is_nan() => "NaN".into(),
        ratio if ratio.is_infinite() => "infinite".into(),
        ratio => format!("{ratio:.1e}"),
    }
}
