//! The result as a text table: a row for each variant, a column for each check.

use std::fmt::Write as _;

use crate::{Check, Report};

/// The table, and below it every case that failed, with the reason.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    let mut checks: Vec<Check> = Vec::new();
    for outcome in &report.outcomes {
        let row = (outcome.level, outcome.options.as_str());
        if !rows.contains(&row) {
            rows.push(row);
        }
        if !checks.contains(&outcome.check) {
            checks.push(outcome.check);
        }
    }
    let width = rows.iter().map(|(level, options)| level.len() + options.len() + 1).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = write!(text, "{:width$}", "");
    for check in &checks {
        let _ = write!(text, "  {check:>12}");
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{:width$}", format!("{} {}", row.0, row.1));
        for check in &checks {
            let of = report.outcomes.iter().filter(|outcome| {
                (outcome.level, outcome.options.as_str()) == row && outcome.check == *check
            });
            let (mut passed, mut all) = (0, 0);
            for outcome in of {
                passed += usize::from(outcome.agrees);
                all += 1;
            }
            let cell = match all {
                0 => "-".into(),
                _ if passed == all => format!("{passed} ok"),
                _ => format!("{} of {all} FAIL", all - passed),
            };
            let _ = write!(text, "  {cell:>12}");
        }
        text.push('\n');
    }
    for outcome in report.outcomes.iter().filter(|outcome| !outcome.agrees) {
        let _ = writeln!(
            text,
            "FAIL {} {}, {}, {}{}: {}",
            outcome.level,
            outcome.options,
            outcome.check,
            outcome.case,
            if outcome.fused { ", as trained" } else { "" },
            outcome.reason.as_deref().unwrap_or_default()
        );
    }
    let _ = writeln!(text, "{} passed, {} failed", report.passed, report.failed);
    text
}
