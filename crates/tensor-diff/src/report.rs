//! The result for programs, as JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tensor::{Dump, Header};

use crate::compare::{Comparison, Row, number};
use crate::reading::Divergence;

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    version: u32,
    /// `agree` or `differ`.
    verdict: &'static str,
    first_divergence: Option<&'a Divergence>,
    warnings: &'a [String],
    #[serde(serialize_with = "number")]
    scale_tolerance: f64,
    reference: Origin<'a>,
    candidate: Origin<'a>,
    tensors: &'a [Row],
}

#[derive(Serialize)]
struct Origin<'a> {
    file: String,
    #[serde(flatten)]
    header: &'a Header,
}

/// Writes everything that the table shows, and a little more, as JSON. NaN and the infinities are
/// the words `"NaN"`, `"Infinity"` and `"-Infinity"`, as in a dump.
///
/// # Errors
/// When `out` can't be written.
pub fn write_json(
    out: &mut dyn Write,
    comparison: &Comparison,
    (reference_path, reference): (&Path, &Dump),
    (candidate_path, candidate): (&Path, &Dump),
) -> io::Result<()> {
    let origin = |path: &Path, header| Origin { file: path.display().to_string(), header };
    let report = Report {
        format: "four-levels-tensor-diff",
        version: 1,
        verdict: if comparison.agrees() { "agree" } else { "differ" },
        first_divergence: comparison.first_divergence.as_ref(),
        warnings: &comparison.warnings,
        scale_tolerance: comparison.scale_tolerance,
        reference: origin(reference_path, &reference.header),
        candidate: origin(candidate_path, &candidate.header),
        tensors: &comparison.rows,
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}
