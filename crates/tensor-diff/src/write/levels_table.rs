//! Several candidates for people: tensors down, candidates across.

use std::io::{self, Write};
use std::path::Path;

use anstyle::Style;
use tensor::Dump;

use crate::judge::Verdict;
use crate::judge::{Candidate, Cell, names, titles};
use crate::write::table::{BAD, CAUTION, GOOD, first_and_others, label, legend, read_out, warn};

/// Writes what was found of several candidates, with colours as ANSI escapes.
///
/// # Errors
/// When `out` can't be written.
pub fn write_levels_table(
    out: &mut dyn Write,
    (reference_path, reference): (&Path, &[Dump]),
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    let titles = titles(candidates);
    for one in candidates {
        warn(out, &first_and_others(&one.found.warnings).0)?;
    }
    let agreeing = candidates.iter().filter(|one| one.found.agrees()).count();
    let (style, verb) = if agreeing == candidates.len() { (GOOD, "agree") } else { (BAD, "agree") };
    writeln!(
        out,
        "{style}{agreeing} of {} {verb} with {}{style:#}",
        candidates.len(),
        host::shown(reference_path)
    )?;
    for (one, title) in candidates.iter().zip(&titles) {
        for warning in first_and_others(&one.found.warnings).1 {
            writeln!(out, "{CAUTION}{title}: warning: {}{CAUTION:#}", host::shown(warning))?;
        }
        if let Some(step) = one.found.first_faulty() {
            let at = if one.found.steps.len() > 1 {
                format!(", step {}", step.step)
            } else {
                String::new()
            };
            writeln!(out, "\n{BAD}{title}{at}{BAD:#}:")?;
            read_out(out, step.first_fault())?;
        }
    }
    writeln!(out)?;
    rows(out, candidates, titles)?;
    writeln!(
        out,
        "\na number is the largest error in units of what is allowed: above 1 is a mismatch\n"
    )?;
    if let Some(first) = reference.first() {
        legend(out, "reference", reference_path, &first.header)?;
    }
    for one in candidates {
        if let Some(first) = one.run.first() {
            legend(out, "candidate", one.path, &first.header)?;
        }
    }
    Ok(())
}

fn rows(out: &mut dyn Write, candidates: &[Candidate<'_>], titles: Vec<String>) -> io::Result<()> {
    let bold = Style::new().bold();
    let mut head = vec![("tensor".to_owned(), bold), ("shape".to_owned(), bold)];
    head.extend(titles.into_iter().map(|title| (title, bold)));
    let mut lines = vec![head];
    for name in names(candidates) {
        let plain = Style::new();
        let comparisons = candidates.iter().flat_map(|one| &one.found.steps);
        let shape = comparisons
            .filter_map(|step| step.comparison.as_ref()?.row(name)?.shape.as_ref())
            .next()
            .map_or_else(|| "-".into(), |shape| format!("{shape:?}"));
        let mut line = vec![(name.to_string(), plain), (shape, plain)];
        line.extend(candidates.iter().map(|one| cell(one, Cell::of(&one.found, name))));
        lines.push(line);
    }
    let columns = lines[0].len();
    let width = |at: usize| lines.iter().map(|line| line[at].0.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in &lines {
        for (at, ((text, style), width)) in line.iter().zip(&widths).enumerate() {
            // Nothing invisible is counted, and nothing stands behind the last cell.
            let padding = if at + 1 == columns { 0 } else { width - text.chars().count() + 2 };
            write!(out, "{style}{text}{style:#}{:padding$}", "")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn cell(one: &Candidate<'_>, cell: Cell<'_>) -> (String, Style) {
    match cell {
        Cell::Nothing => ("-".into(), CAUTION),
        Cell::Within(ratio) => (share(ratio), GOOD),
        Cell::Aside(verdict) => (verdict.label().into(), CAUTION),
        Cell::Wrong(step, comparison, row) => {
            let text = label(comparison, row);
            let ratio = row.deviation.as_ref().filter(|_| row.verdict == Verdict::Differs);
            let text = match ratio {
                Some(deviation) => format!("{} {text}", share(deviation.ratio)),
                None => text,
            };
            let many = one.found.steps.len() > 1;
            (if many { format!("step {}: {text}", step.step) } else { text }, BAD)
        }
    }
}

/// An error in units of what is allowed; two significant digits are plenty.
pub(crate) fn share(ratio: f64) -> String {
    match ratio {
        0.0 => "0".into(),
        ratio if ratio.is_nan() => "NaN".into(),
        ratio if ratio.is_infinite() => "infinite".into(),
        ratio => format!("{ratio:.1e}"),
    }
}
