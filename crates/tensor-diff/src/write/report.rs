//! The result as JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tensor::Header;

use crate::finding::Divergence;
use crate::judge::{Candidate, Comparison, Judgement, Row, Run, Step, number};

/// The head of every report.
#[derive(Serialize)]
struct Report<T> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// The comparison of two dumps.
#[derive(Serialize)]
struct ComparisonReport<'a> {
    /// `agree` or `differ`.
    verdict: &'static str,
    first_divergence: Option<&'a Divergence>,
    warnings: &'a [String],
    #[serde(serialize_with = "number")]
    scale_tolerance: f64,
    reference: Origin<'a>,
    candidate: Origin<'a>,
    tensors: &'a [Row],
    /// The candidate's judgement by itself.
    own: &'a Judgement,
}

/// The judgement of one dump by itself.
#[derive(Serialize)]
struct JudgementReport<'a> {
    /// `consistent` or `wrong`.
    verdict: &'static str,
    #[serde(serialize_with = "number")]
    scale_tolerance: f64,
    candidate: Origin<'a>,
    own: &'a Judgement,
}

/// A run, or one of several candidates.
#[derive(Serialize)]
struct RunReport<'a> {
    /// `agree` or `differ` if it was compared, otherwise `consistent` or `wrong`.
    verdict: &'static str,
    /// The first step with a fault.
    first_faulty_step: Option<u64>,
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Origin<'a>>,
    candidate: Origin<'a>,
    steps: Vec<StepReport<'a>>,
}

/// Several candidates.
#[derive(Serialize)]
struct LevelsReport<'a> {
    /// `agree` if all candidates do, otherwise `differ`.
    verdict: &'static str,
    reference: Option<Origin<'a>>,
    candidates: Vec<RunReport<'a>>,
}

#[derive(Serialize)]
struct StepReport<'a> {
    #[serde(flatten)]
    step: &'a Step,
    /// The first tensor that differs from the reference or is wrong by itself.
    first_fault: Option<&'a Divergence>,
    /// The rows of the comparison with the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<&'a [Row]>,
}

#[derive(Serialize)]
struct Origin<'a> {
    file: String,
    #[serde(flatten)]
    header: &'a Header,
}

/// Writes everything that the tables show, and a little more, as JSON. NaN and the infinities are
/// the words `"NaN"`, `"Infinity"` and `"-Infinity"`, as in a dump. The headers of runs are those of their
/// first steps.
///
/// # Errors
/// If `out` can't be written.
pub fn write_json(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    match (reference, candidates) {
        (None, [Candidate { path, run: [dump], found }]) => {
            let own = &found.steps[0].own;
            let content = JudgementReport {
                verdict: verdict(own.is_clean(), false),
                scale_tolerance: own.scale_tolerance,
                candidate: origin(path, &dump.header),
                own,
            };
            write(out, content)
        }
        (Some((reference_path, [reference])), [Candidate { path, run: [dump], found }]) => {
            let Some(comparison) = &found.steps[0].comparison else { return Ok(()) };
            let Comparison { rows, first_divergence, own, warnings, scale_tolerance } = comparison;
            let content = ComparisonReport {
                verdict: verdict(comparison.agrees(), true),
                first_divergence: first_divergence.as_ref(),
                warnings,
                scale_tolerance: *scale_tolerance,
                reference: origin(reference_path, &reference.header),
                candidate: origin(path, &dump.header),
                tensors: rows,
                own,
            };
            write(out, content)
        }
        (_, [candidate]) => {
            let run = run(candidate, reference.is_some());
            write(out, run.map(|run| RunReport { reference: first_origin(reference), ..run }))
        }
        _ => {
            let candidates = candidates.iter().filter_map(|one| run(one, reference.is_some()));
            let candidates: Vec<RunReport<'_>> = candidates.collect();
            let agree = candidates.iter().all(|one| one.verdict == "agree");
            let reference = first_origin(reference);
            write(out, LevelsReport { verdict: verdict(agree, true), reference, candidates })
        }
    }
}

const fn verdict(agrees: bool, compared: bool) -> &'static str {
    match (agrees, compared) {
        (true, true) => "agree",
        (false, true) => "differ",
        (true, false) => "consistent",
        (false, false) => "wrong",
    }
}

/// The report of a candidate, which names its reference elsewhere.
fn run<'a>(candidate: &'a Candidate<'_>, compared: bool) -> Option<RunReport<'a>> {
    let found = &candidate.found;
    let step = |step: &'a Step| StepReport {
        step,
        first_fault: step.first_fault(),
        tensors: step.comparison.as_ref().map(|comparison| &comparison.rows[..]),
    };
    Some(RunReport {
        verdict: verdict(found.agrees(), compared),
        first_faulty_step: found.first_faulty().map(|step| step.step),
        warnings: &found.warnings,
        reference: None,
        candidate: first_origin(Some((candidate.path, candidate.run)))?,
        steps: found.steps.iter().map(step).collect(),
    })
}

fn origin<'a>(path: &Path, header: &'a Header) -> Origin<'a> {
    Origin { file: path.display().to_string(), header }
}

fn first_origin(run: Option<Run<'_>>) -> Option<Origin<'_>> {
    let (path, run) = run?;
    Some(origin(path, &run.first()?.header))
}

fn write(out: &mut dyn Write, content: impl Serialize) -> io::Result<()> {
    let report = Report { format: "four-levels-tensor-diff", version: 1, content };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}
