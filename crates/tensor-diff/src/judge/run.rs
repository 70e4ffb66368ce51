//! Runs: several training steps, each judged by itself and by the step before it; and two runs of
//! the same steps side by side.
//!
//! From the second step on, two correct levels start from parameters that differ by the rounding errors of the steps
//! before. The bound of `w` is that of `w_next` in the step before. As along the chain of one step, the *actual*
//! difference is carried on if it is within its bound. So a drift by rounding is never a fault, however long the run
//! is, and a fault shows in the step in which it happens.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use tensor::{Dump, DumpedTensor, TensorName};

use super::compare::{Comparison, compare_from, varies};
use super::context::{Context, distinct};
use super::own::{Judgement, judge_step, recomputed};
use super::usual;
use super::verdict::{Row, Rows, Verdict, number};
use crate::chain::Errors;
use crate::chain::operation::updated_from;
use crate::finding::Divergence;

/// How far the parameters of two runs are apart after a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The tensor with the element that comes closest to its bound, or exceeds it most.
    pub tensor: TensorName,
    /// The distance between the two runs at that element.
    #[serde(serialize_with = "number")]
    pub apart: f64,
    /// The bound of that distance.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The number of updates before the step.
    pub step: u64,
    /// The loss in the run's dump, if it holds one.
    pub loss: Option<f64>,
    /// The loss in the reference's dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_loss: Option<f64>,
    /// The judgement of the step by itself.
    pub own: Judgement,
    /// The comparison with the same step of the reference.
    #[serde(skip)]
    pub comparison: Option<Comparison>,
    /// How far the parameters of the two runs are apart after the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

impl Step {
    /// The first fault of this step: by itself, or against the reference.
    #[must_use]
    pub fn first_fault(&self) -> Option<&Divergence> {
        match &self.comparison {
            Some(comparison) => comparison.first_divergence.as_ref(),
            None => self.own.first_fault.as_ref(),
        }
    }

    /// The rows of the comparison with the reference, or without one those of the judgement.
    pub(crate) fn rows(&self) -> &Rows {
        self.comparison.as_ref().map_or(&self.own.rows, |comparison| &comparison.rows)
    }

    /// Whether a tensor differs, or is wrong by itself.
    pub(crate) fn is_wrong(&self, row: &Row) -> bool {
        let own = self.comparison.as_ref().and_then(|found| found.is_own_fault(row.name));
        row.verdict.is_mismatch() || own == Some(true)
    }

    pub(crate) fn warnings(&self) -> &[String] {
        let own = &self.own.warnings;
        self.comparison.as_ref().map_or(own, |comparison| &comparison.warnings)
    }

    /// Whether it has no fault, and something to judge.
    pub(crate) fn agrees(&self) -> bool {
        self.first_fault().is_none() && self.rows().count(Verdict::Ok) > 0
    }
}

/// The verdict on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Warnings about the whole run.
    pub warnings: Vec<String>,
}

impl RunComparison {
    /// Judges the steps, of which a reference may have fewer, and collects their warnings: each text once, and only the
    /// first about unusual errors.
    fn new(
        reference: Option<&[Dump]>,
        run: &[Dump],
        scale_tolerance: f64,
        mut warnings: Vec<String>,
    ) -> Self {
        let mut start = Errors::new();
        let step = |(at, dump): (usize, &Dump)| {
            let own = judge_step(run, at, scale_tolerance);
            let reference = reference.map(|reference| &reference[at]);
            let comparison = reference.map(|reference| {
                let (comparison, allowed) =
                    compare_from(reference, dump, own.clone(), &start, scale_tolerance);
                start = carried(allowed);
                comparison
            });
            Step {
                step: dump.header.step,
                loss: loss(dump),
                reference_loss: reference.and_then(loss),
                own,
                drift: comparison.as_ref().and_then(|comparison| drift(&comparison.rows)),
                comparison,
            }
        };
        let common = reference.map_or(run.len(), <[Dump]>::len);
        let steps: Vec<Step> = run.iter().take(common).enumerate().map(step).collect();
        for step in &steps {
            for warning in step.warnings() {
                let unusual = warning.contains(usual::FURTHER);
                let is_known =
                    |other: &String| other == warning || unusual && other.contains(usual::FURTHER);
                if !warnings.iter().any(is_known) {
                    let several = unusual && steps.len() > 1;
                    let at = if several { format!("step {}: ", step.step) } else { String::new() };
                    warnings.push(at + warning);
                }
            }
        }
        Self { steps, warnings }
    }

    /// Whether no step has a fault, and each had something to judge.
    #[must_use]
    pub fn agrees(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(Step::agrees)
    }

    /// The index of the first step with a fault.
    pub(crate) fn faulty(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.first_fault().is_some())
    }

    /// The first step with a fault.
    #[must_use]
    pub fn first_faulty(&self) -> Option<&Step> {
        self.faulty().map(|at| &self.steps[at])
    }
}

fn loss(dump: &Dump) -> Option<f64> {
    dump.get(TensorName::Loss)?.data.first().copied()
}

/// Judges each step of a run by itself.
#[must_use]
pub fn judge_run(run: &[Dump], scale_tolerance: f64) -> RunComparison {
    RunComparison::new(None, run, scale_tolerance, Vec::new())
}

/// Compares the steps that two runs have in common, from the first on.
///
/// # Errors
/// If the runs don't begin with the same step. Two single dumps may be of different steps, which is a warning.
pub fn compare_runs(
    reference: &[Dump],
    candidate: &[Dump],
    scale_tolerance: f64,
) -> Result<RunComparison, String> {
    let first = |run: &[Dump]| run.first().map(|dump| dump.header.step);
    let (r, c) = (first(reference), first(candidate));
    let lengths = (reference.len(), candidate.len());
    if r.is_none() || r != c && lengths != (1, 1) {
        let step = |step: Option<u64>| step.map_or("none".into(), |step| step.to_string());
        return Err(format!(
            "the runs begin with different steps, the reference with {} and the candidate with {}",
            step(r),
            step(c)
        ));
    }
    let mut warnings = Vec::new();
    if lengths.0 != lengths.1 {
        warnings.push(format!(
            "the reference has {} steps and the candidate {}: the first {} are compared",
            lengths.0,
            lengths.1,
            lengths.0.min(lengths.1)
        ));
    }
    Ok(RunComparison::new(Some(reference), candidate, scale_tolerance, warnings))
}

/// The right values of the tensors of a step, and the bounds of their elements.
pub(crate) type Evidence<'a> = (Cow<'a, [DumpedTensor]>, Errors);

/// The reference's values in the step at `at`, or without a reference those recomputed from the run itself.
pub(crate) fn evidence<'a>(
    reference: Option<&'a [Dump]>,
    run: &[Dump],
    at: usize,
    scale_tolerance: f64,
) -> Evidence<'a> {
    let Some(reference) = reference else {
        return recomputed(run, at, scale_tolerance);
    };
    let steps = reference.iter().zip(run).take(at + 1);
    let allowed = steps.fold(Errors::new(), |before, (r, c)| {
        Context::new(Some(r), c, &carried(before), scale_tolerance).bounds
    });
    (Cow::Borrowed(&reference[at].tensors), allowed)
}

// ANCHOR: carried
/// The bounds of the differences of the next step's parameters.
fn carried(allowed: Errors) -> Errors {
    let next = |(name, bounds)| updated_from(name).map(|(parameter, _)| (parameter, bounds));
    allowed.into_iter().filter_map(next).collect()
}
// ANCHOR_END: carried

/// The updated parameter that is closest to its bound, or exceeds it most.
fn drift(rows: &Rows) -> Option<Drift> {
    let (tensor, farthest) = rows
        .iter()
        .filter(|row| updated_from(row.name).is_some())
        .filter_map(|row| Some((row.name, row.deviation.as_ref()?)))
        // NaN is the farthest.
        .max_by(|(_, a), (_, b)| a.ratio.abs().total_cmp(&b.ratio.abs()))?;
    Some(Drift { tensor, apart: farthest.worst_error, allowed: farthest.allowed })
}

/// A file, and the steps in it.
pub type Run<'a> = (&'a Path, &'a [Dump]);

/// A candidate and its verdict.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The file.
    pub path: &'a Path,
    /// The steps in the candidate's file.
    pub run: &'a [Dump],
    /// The verdict on each step; a dump of one step is a run of one.
    pub found: RunComparison,
}

/// Compares each candidate with the reference, or without one judges each by itself. Every bound is
/// multiplied by `scale_tolerance`.
///
/// # Errors
/// If a run begins with a step other than the reference's: the candidate's index, and the reason.
pub fn judge_files<'a>(
    reference: Option<&[Dump]>,
    candidates: impl IntoIterator<Item = Run<'a>>,
    scale_tolerance: f64,
) -> Result<Vec<Candidate<'a>>, (usize, String)> {
    let mut all: Vec<Candidate<'a>> = Vec::new();
    for (at, (path, run)) in candidates.into_iter().enumerate() {
        let mut found = match reference {
            None => judge_run(run, scale_tolerance),
            Some(reference) => {
                compare_runs(reference, run, scale_tolerance).map_err(|why| (at, why))?
            }
        };
        // Looks for an earlier dump of the same level with other results.
        let vary = all.iter().find_map(|other| {
            let vary = other.run.iter().zip(run).find_map(|(a, b)| varies(a, b))?;
            Some(format!("{} and {}: {vary}", host::shown(other.path), host::shown(path)))
        });
        found.warnings.splice(0..0, vary);
        all.push(Candidate { path, run, found });
    }
    Ok(all)
}

impl Candidate<'_> {
    /// The row that decides the verdict on a tensor over all steps, with its step: the first wrong one, otherwise the one
    /// that comes closest to its bound.
    pub(crate) fn decisive_row(&self, name: TensorName) -> Option<(&Step, &Row)> {
        let steps = self.found.steps.iter().filter(|step| step.comparison.is_some());
        let mut rows = steps.filter_map(|step| Some((step, step.rows().get(name)?)));
        let ratio = |row: &Row| match (row.verdict, &row.deviation) {
            (Verdict::Ok, Some(found)) => found.ratio,
            _ => -1.0,
        };
        let closest = rows.clone().max_by(|(_, a), (_, b)| ratio(a).total_cmp(&ratio(b)));
        rows.find(|(step, row)| step.is_wrong(row)).or(closest)
    }

    /// A prefix for messages, such as `step 3: `; empty if the candidate has only one step.
    pub(crate) fn step_prefix(&self, step: &Step) -> String {
        if self.found.steps.len() > 1 { format!("step {}: ", step.step) } else { String::new() }
    }
}

/// The name of every tensor that these steps have a row of, in the order of computation.
pub(crate) fn names<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Vec<TensorName> {
    distinct(steps.into_iter().flat_map(|step| step.rows().iter()).map(|row| row.name))
}

/// A title for each candidate: its level if no other candidate has the same, otherwise its file's name without the
/// extension, otherwise the whole path.
pub(crate) fn titles(candidates: &[Candidate<'_>]) -> Vec<String> {
    let names = |one: &Candidate<'_>| {
        let level = one.run.first().map(|dump| host::shown(&dump.header.level).to_string());
        let name = one.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let stem = host::shown(name.strip_suffix(".json").unwrap_or(name)).to_string();
        [level.unwrap_or_default(), stem, host::shown(one.path).to_string()]
    };
    let all: Vec<[String; 3]> = candidates.iter().map(names).collect();
    let title = |own: &[String; 3]| {
        let is_unique = |&at: &usize| all.iter().filter(|other| other[at] == own[at]).count() == 1;
        own[(0..2).find(is_unique).unwrap_or(2)].clone()
    };
    all.iter().map(title).collect()
}
