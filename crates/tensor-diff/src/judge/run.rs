//! Runs: several training steps, each judged by itself and by the step before it; and two runs of
//! the same steps side by side.
//!
//! From the second step on, two correct levels start from parameters that differ by the rounding errors of the steps
//! before. The bound of `w` is that of `w_next` in the step before. As along the chain of one step, the *actual*
//! difference is carried on if it is within its bound. So a drift by rounding is never a fault, however long the run
//! is, and a fault shows in the step in which it happens.

use serde::Serialize;
use tensor::{Dump, TensorName};

use super::compare::{Comparison, compare_from};
use super::context::Context;
use super::own::{Judgement, judge_step};
use super::usual;
use super::verdict::{Rows, Verdict, number};
use crate::chain::Errors;
use crate::chain::operation::updated_from;
use crate::finding::Divergence;

/// How far the parameters of two runs are apart after a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The tensor with the element that comes closest to its bound, or exceeds it most.
    pub tensor: TensorName,
    /// The distance between the two runs there.
    #[serde(serialize_with = "number")]
    pub apart: f64,
    /// The bound of that distance.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The number of updates before it.
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
    /// How far the parameters of the two runs are apart after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

impl Step {
    fn new(dump: &Dump, own: Judgement, compared: Option<(&Dump, Comparison)>) -> Self {
        let (reference, comparison) = compared.unzip();
        Self {
            step: dump.header.step,
            loss: loss(dump),
            reference_loss: reference.and_then(loss),
            own,
            drift: comparison.as_ref().and_then(|comparison| drift(&comparison.rows)),
            comparison,
        }
    }

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
    /// Collects the steps' warnings: each text once, and only the first about unusual errors.
    fn new(steps: Vec<Step>, mut warnings: Vec<String>) -> Self {
        let is_unusual = |warning: &str| warning.contains(usual::FURTHER);
        for step in &steps {
            for warning in step.warnings() {
                let unusual = is_unusual(warning);
                let is_known = |other: &String| {
                    if unusual { is_unusual(other) } else { other == warning }
                };
                if warnings.iter().any(is_known) {
                    continue;
                }
                let several = unusual && steps.len() > 1;
                let at = if several { format!("step {}: ", step.step) } else { String::new() };
                warnings.push(at + warning);
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
    let step = |at: usize| Step::new(&run[at], judge_step(run, at, scale_tolerance), None);
    RunComparison::new((0..run.len()).map(step).collect(), Vec::new())
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
    let mut start = Errors::new();
    let mut steps = Vec::new();
    for (at, (reference, dump)) in reference.iter().zip(candidate).enumerate() {
        let own = judge_step(candidate, at, scale_tolerance);
        let (comparison, allowed) =
            compare_from(reference, dump, own.clone(), &start, scale_tolerance);
        start = carried(allowed);
        steps.push(Step::new(dump, own, Some((reference, comparison))));
    }
    Ok(RunComparison::new(steps, warnings))
}

/// The bounds of every tensor in the step at `at` of two runs.
pub(crate) fn allowed_at(
    reference: &[Dump],
    candidate: &[Dump],
    at: usize,
    scale_tolerance: f64,
) -> Errors {
    let steps = reference.iter().zip(candidate).take(at + 1);
    steps.fold(Errors::new(), |before, (r, c)| {
        Context::new(Some(r), c, &carried(before), scale_tolerance).bounds
    })
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
