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
use super::context::chain_and_bounds;
use super::own::{Judgement, judge_step};
use super::usual;
use super::verdict::{Row, Verdict, number};
use crate::chain::Errors;
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
    pub(crate) fn rows(&self) -> &[Row] {
        self.comparison.as_ref().map_or(&self.own.rows, |comparison| &comparison.rows)
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
        for step in &steps {
            let of_step = step.comparison.as_ref().map_or(&step.own.warnings, |c| &c.warnings);
            for warning in of_step {
                let is_unusual = |warning: &String| warning.contains(usual::FURTHER);
                if !is_unusual(warning) {
                    if !warnings.contains(warning) {
                        warnings.push(warning.clone());
                    }
                } else if steps.len() == 1 {
                    warnings.push(warning.clone());
                } else if !warnings.iter().any(is_unusual) {
                    warnings.push(format!("step {}: {warning}", step.step));
                }
            }
        }
        Self { steps, warnings }
    }

    /// Whether no step has a fault, and each had something to judge.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let right = |step: &Step| match &step.comparison {
            Some(comparison) => comparison.agrees(),
            None => step.own.is_clean(),
        };
        !self.steps.is_empty() && self.steps.iter().all(right)
    }

    /// The first step with a fault.
    #[must_use]
    pub fn first_faulty(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.first_fault().is_some())
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
    let single = (reference.len(), candidate.len()) == (1, 1);
    if r.is_none() || r != c && !single {
        let step = |step: Option<u64>| step.map_or("none".into(), |step| step.to_string());
        return Err(format!(
            "the runs begin with different steps, the reference with {} and the candidate with {}",
            step(r),
            step(c)
        ));
    }
    let mut warnings = Vec::new();
    if reference.len() != candidate.len() {
        warnings.push(format!(
            "the reference has {} steps and the candidate {}: the first {} are compared",
            reference.len(),
            candidate.len(),
            reference.len().min(candidate.len())
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
        chain_and_bounds(r, c, &carried(before), scale_tolerance).1
    })
}

// ANCHOR: carried
/// The bounds of the differences of the next step's parameters.
fn carried(allowed: Errors) -> Errors {
    let next = |(name, bounds)| match name {
        TensorName::WNext(layer) => Some((TensorName::W(layer), bounds)),
        TensorName::BNext(layer) => Some((TensorName::B(layer), bounds)),
        _ => None,
    };
    allowed.into_iter().filter_map(next).collect()
}
// ANCHOR_END: carried

/// The updated parameter that is closest to its bound, or exceeds it most.
fn drift(rows: &[Row]) -> Option<Drift> {
    let updated = |row: &&Row| matches!(row.name, TensorName::WNext(_) | TensorName::BNext(_));
    let found = rows.iter().filter(updated).filter(|row| row.verdict != Verdict::Missing);
    let farthest = found
        .filter_map(|row| Some((row.name, row.deviation.as_ref()?)))
        // NaN is the farthest.
        .max_by(|(_, a), (_, b)| a.ratio.abs().total_cmp(&b.ratio.abs()))?;
    let (tensor, deviation) = farthest;
    Some(Drift { tensor, apart: deviation.worst_error, allowed: deviation.allowed })
}
