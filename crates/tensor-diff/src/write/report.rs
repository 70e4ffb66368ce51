//! The result for programs, as JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tensor::{Dump, Header};

use crate::finding::Divergence;
use crate::judge::Candidate;
use crate::judge::Judgement;
use crate::judge::{Comparison, Row, number};
use crate::judge::{RunComparison, Step};

/// What a report says of itself.
const FORMAT: &str = "four-levels-tensor-diff";

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
    /// What the candidate says of itself.
    own: &'a Judgement,
}

#[derive(Serialize)]
struct OwnReport<'a> {
    format: &'static str,
    version: u32,
    /// `consistent` or `wrong`.
    verdict: &'static str,
    #[serde(serialize_with = "number")]
    scale_tolerance: f64,
    candidate: Origin<'a>,
    own: &'a Judgement,
}

#[derive(Serialize)]
struct RunReport<'a> {
    format: &'static str,
    version: u32,
    /// `agree` or `differ` of two runs, `consistent` or `wrong` of one.
    verdict: &'static str,
    /// The first step with a fault.
    first_faulty_step: Option<u64>,
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Origin<'a>>,
    candidate: Origin<'a>,
    steps: Vec<StepReport<'a>>,
}

#[derive(Serialize)]
struct LevelsReport<'a> {
    format: &'static str,
    version: u32,
    /// `agree` where all do, else `differ`.
    verdict: &'static str,
    reference: Origin<'a>,
    candidates: Vec<CandidateReport<'a>>,
}

#[derive(Serialize)]
struct CandidateReport<'a> {
    /// `agree` or `differ`.
    verdict: &'static str,
    /// The first step with a fault.
    first_faulty_step: Option<u64>,
    warnings: &'a [String],
    candidate: Origin<'a>,
    steps: Vec<StepReport<'a>>,
}

#[derive(Serialize)]
struct StepReport<'a> {
    #[serde(flatten)]
    step: &'a Step,
    /// The first tensor that differs from the reference or is wrong by itself.
    first_fault: Option<&'a Divergence>,
    /// Against the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<&'a [Row]>,
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
    let report = Report {
        format: FORMAT,
        version: 1,
        verdict: if comparison.agrees() { "agree" } else { "differ" },
        first_divergence: comparison.first_divergence.as_ref(),
        warnings: &comparison.warnings,
        scale_tolerance: comparison.scale_tolerance,
        reference: origin(reference_path, &reference.header),
        candidate: origin(candidate_path, &candidate.header),
        tensors: &comparison.rows,
        own: &comparison.own,
    };
    write(out, &report)
}

/// Writes what a dump says of itself, as [`write_json`] does a comparison.
///
/// # Errors
/// When `out` can't be written.
pub fn write_judgement_json(
    out: &mut dyn Write,
    judgement: &Judgement,
    path: &Path,
    dump: &Dump,
) -> io::Result<()> {
    let report = OwnReport {
        format: FORMAT,
        version: 1,
        verdict: if judgement.is_clean() { "consistent" } else { "wrong" },
        scale_tolerance: judgement.scale_tolerance,
        candidate: origin(path, &dump.header),
        own: judgement,
    };
    write(out, &report)
}

/// Writes what was found of a run; of two, where `reference` is given. The headers are those of the
/// first steps.
///
/// # Errors
/// When `out` can't be written.
pub fn write_run_json(
    out: &mut dyn Write,
    found: &RunComparison,
    reference: Option<(&Path, &Dump)>,
    (path, run): (&Path, &Dump),
) -> io::Result<()> {
    let report = RunReport {
        format: FORMAT,
        version: 1,
        verdict: match (found.agrees(), reference) {
            (true, Some(_)) => "agree",
            (false, Some(_)) => "differ",
            (true, None) => "consistent",
            (false, None) => "wrong",
        },
        first_faulty_step: found.first_faulty().map(|step| step.step),
        warnings: &found.warnings,
        reference: reference.map(|(path, dump)| origin(path, &dump.header)),
        candidate: origin(path, &run.header),
        steps: steps(found),
    };
    write(out, &report)
}

/// Writes what was found of several candidates. The headers are those of the first steps.
///
/// # Errors
/// When `out` can't be written.
pub fn write_levels_json(
    out: &mut dyn Write,
    (path, reference): (&Path, &Dump),
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    let word = |agrees| if agrees { "agree" } else { "differ" };
    let each = candidates.iter().filter_map(|one| {
        Some(CandidateReport {
            verdict: word(one.found.agrees()),
            first_faulty_step: one.found.first_faulty().map(|step| step.step),
            warnings: &one.found.warnings,
            candidate: origin(one.path, &one.run.first()?.header),
            steps: steps(&one.found),
        })
    });
    let report = LevelsReport {
        format: FORMAT,
        version: 1,
        verdict: word(candidates.iter().all(|one| one.found.agrees())),
        reference: origin(path, &reference.header),
        candidates: each.collect(),
    };
    write(out, &report)
}

fn steps(found: &RunComparison) -> Vec<StepReport<'_>> {
    let report = |step| StepReport {
        step,
        first_fault: step.first_fault(),
        tensors: step.comparison.as_ref().map(|comparison| &comparison.rows[..]),
    };
    found.steps.iter().map(report).collect()
}

fn origin<'a>(path: &Path, header: &'a Header) -> Origin<'a> {
    Origin { file: path.display().to_string(), header }
}

fn write(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}
