//! Output of the result: tables for people, JSON for programs, and an HTML page.

mod page;
mod report;
mod table;

use std::io::{self, Write};
use std::path::Path;

pub use page::write_page;
pub use report::write_json;

use crate::judge::{Candidate, Run};
use table::{BAD, GOOD};

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
    match (reference, candidates) {
        (None | Some((_, [_])), [Candidate { path, run: [dump], found }]) => {
            let reference = reference.map(|(path, run)| (path, &run[0]));
            table::write_step(out, &found.steps[0], reference, (path, dump))
        }
        (_, [candidate]) => table::write_run(out, reference, candidate),
        (Some(reference), candidates) => table::write_levels(out, reference, candidates),
        (None, candidates) => {
            candidates.iter().try_for_each(|one| write_text(out, None, std::slice::from_ref(one)))
        }
    }
}

/// The verdict in a few words: `a.json agrees with r.json`, coloured.
fn verdict(path: &Path, reference: Option<&Path>, agrees: bool) -> String {
    let style = if agrees { GOOD } else { BAD };
    format!("{style}{}{style:#}", plain_verdict(path, reference, agrees))
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
