//! The result as JSON.

use std::io::{self, Write};

use serde::Serialize;
use tensor::Header;

use crate::finding::Divergence;
use crate::judge::{Candidate, Judgement, Rows, Run, Step};

/// The result of a comparison of two dumps, of a judgement of one, of a run, or of several candidates.
#[derive(Default, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    head: Option<Head>,
    /// `agree` or `differ` if it was compared, otherwise `consistent` or `wrong`; of several candidates `agree` if all
    /// do.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_divergence: Option<Option<&'a Divergence>>,
    /// The first step of a run with a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_faulty_step: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale_tolerance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Origin<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Origin<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<&'a Rows>,
    /// The candidate's judgement by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<&'a Judgement>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepReport<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<Report<'a>>,
}

#[derive(Serialize)]
struct Head {
    format: &'static str,
    version: u32,
}

#[derive(Serialize)]
struct StepReport<'a> {
    #[serde(flatten)]
    step: &'a Step,
    /// The first tensor that differs from the reference or is wrong by itself.
    first_fault: Option<&'a Divergence>,
    /// The rows of the comparison with the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<&'a Rows>,
}

#[derive(Serialize)]
struct Origin<'a> {
    file: String,
    #[serde(flatten)]
    header: &'a Header,
}

/// Writes everything that the tables show, and a little more, as JSON. NaN and the infinities are the words `"NaN"`,
/// `"Infinity"` and `"-Infinity"`, as in a dump. The headers of runs are those of their first steps.
///
/// # Errors
/// If `out` can't be written.
pub fn write_json(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    let reference_origin = reference.and_then(origin);
    let compared = reference.is_some();
    let report = match (reference, candidates) {
        (None | Some((_, [_])), [Candidate { path, run: run @ [_], found }]) => {
            let step = &found.steps[0];
            let comparison = step.comparison.as_ref();
            Report {
                verdict: verdict(found.agrees(), compared),
                first_divergence: comparison.map(|one| one.first_divergence.as_ref()),
                warnings: comparison.map(|one| &one.warnings[..]),
                scale_tolerance: Some(step.own.scale_tolerance),
                candidate: origin((path, run)),
                tensors: comparison.map(|one| &one.rows),
                own: Some(&step.own),
                ..Report::default()
            }
        }
        (_, [candidate]) => run(candidate, compared),
        _ => {
            let candidates: Vec<_> = candidates.iter().map(|one| run(one, compared)).collect();
            let agree = candidates.iter().all(|one| one.verdict == "agree");
            Report { verdict: verdict(agree, true), candidates, ..Report::default() }
        }
    };
    let head = Some(Head { format: "four-levels-tensor-diff", version: 1 });
    let report = Report { head, reference: reference_origin, ..report };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}

const fn verdict(agrees: bool, compared: bool) -> &'static str {
    match (agrees, compared) {
        (true, true) => "agree",
        (false, true) => "differ",
        (true, false) => "consistent",
        (false, false) => "wrong",
    }
}

/// The report of a candidate's steps, which names its reference elsewhere.
fn run<'a>(candidate: &'a Candidate<'_>, compared: bool) -> Report<'a> {
    let found = &candidate.found;
    let step = |step: &'a Step| StepReport {
        step,
        first_fault: step.first_fault(),
        tensors: step.comparison.as_ref().map(|comparison| &comparison.rows),
    };
    Report {
        verdict: verdict(found.agrees(), compared),
        first_faulty_step: Some(found.first_faulty().map(|step| step.step)),
        warnings: Some(&found.warnings),
        candidate: origin((candidate.path, candidate.run)),
        steps: found.steps.iter().map(step).collect(),
        ..Report::default()
    }
}

/// The file, and the header of its first step.
fn origin<'a>((path, run): Run<'a>) -> Option<Origin<'a>> {
    Some(Origin { file: path.display().to_string(), header: &run.first()?.header })
}
