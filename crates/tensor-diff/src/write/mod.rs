//! Output of the result: tables for people, JSON for programs, and an HTML page.

mod page;
mod report;
mod table;

use std::io::{self, Write};
use std::path::Path;

pub use page::write_page;
pub use report::write_json;

use crate::judge::{Candidate, Run};
use table::{level_lines, run_lines, step_lines};

/// Writes the verdict on one or several candidates as text, with colours as ANSI escapes: `out` strips them where
/// they don't belong. `reference` is the dump or run that the candidates were compared with.
///
/// # Errors
/// If `out` can't be written.
pub fn write_text(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    let lines = match (reference, candidates) {
        (None | Some((_, [_])), [Candidate { path, run: [dump], found }]) => {
            let reference = reference.map(|(path, run)| (path, &run[0]));
            step_lines(&found.steps[0], reference, (path, dump))
        }
        (_, [candidate]) => run_lines(reference, candidate),
        (Some(reference), candidates) => level_lines(reference, candidates),
        (None, candidates) => {
            let each = &mut candidates.iter().map(std::slice::from_ref);
            return each.try_for_each(|one| write_text(out, None, one));
        }
    };
    writeln!(out, "{}", lines.join("\n"))
}

/// The verdict in a few words, without colour.
fn plain_verdict(path: &Path, reference: Option<&Path>, agrees: bool) -> String {
    let path = host::shown(path);
    match (reference.map(host::shown), agrees) {
        (Some(reference), true) => format!("{path} agrees with {reference}"),
        (Some(reference), false) => format!("{path} differs from {reference}"),
        (None, true) => format!("{path} is consistent"),
        (None, false) => format!("{path} is wrong by itself"),
    }
}
