//! Runs: several training steps, each judged by itself and by the step before it; and two runs of
//! the same steps side by side.
//!
//! From the second step on, two correct levels start from parameters that are apart, by what each
//! rounded in the steps before. How far they may be apart is what their last update may have been:
//! the bound of `w_next` in one step is that of `w` in the next. And as along the chain of one step,
//! what is carried on is how far they *are* apart, wherever that is allowed. So a drift of rounding
//! is never a fault, however long the run, and a fault shows in the step in which it happens.

use serde::Serialize;
use tensor::{Dump, TensorName};

use super::compare::{Comparison, Row, Verdict, chain_and_bounds, compare_from, number};
use super::own::{Judgement, judge_step};
use super::usual;
use crate::chain::Errors;
use crate::finding::Divergence;

/// How far the parameters of two runs are apart after a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The tensor with the element that comes closest to its bound, or exceeds it most.
    pub tensor: TensorName,
    /// How far that element is apart.
    #[serde(serialize_with = "number")]
    pub apart: f64,
    /// How far it may be.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// How many updates came before it.
    pub step: u64,
    /// The loss that the run has there, where it has one.
    pub loss: Option<f64>,
    /// The reference's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_loss: Option<f64>,
    /// What the step says of itself.
    pub own: Judgement,
    /// How it compares with the same step of the reference.
    #[serde(skip)]
    pub comparison: Option<Comparison>,
    /// How far the two have drifted apart after it.
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
}

/// What was found of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The steps, one after the other.
    pub steps: Vec<Step>,
    /// What makes two runs hard to compare.
    pub warnings: Vec<String>,
}

impl RunComparison {
    /// A judgement of a single dump, as a run of one step.
    #[must_use]
    pub fn of_itself(candidate: &Dump, own: Judgement) -> Self {
        let step = Step {
            step: candidate.header.step,
            loss: loss(candidate),
            reference_loss: None,
            own,
            comparison: None,
            drift: None,
        };
        Self { warnings: step.own.warnings.clone(), steps: vec![step] }
    }

    /// A comparison of two dumps, as a run of one step.
    #[must_use]
    pub fn of_one(candidate: &Dump, reference: &Dump, comparison: Comparison) -> Self {
        let step = Step {
            step: candidate.header.step,
            loss: loss(candidate),
            reference_loss: loss(reference),
            drift: drift(&comparison.rows),
            own: comparison.own.clone(),
            comparison: Some(comparison),
        };
        Self {
            warnings: step.comparison.iter().flat_map(|c| c.warnings.clone()).collect(),
            steps: vec![step],
        }
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
    let mut steps = Vec::with_capacity(run.len());
    for (at, dump) in run.iter().enumerate() {
        let own = judge_step(run, at, scale_tolerance);
        steps.push(Step {
            step: dump.header.step,
            loss: loss(dump),
            reference_loss: None,
            own,
            comparison: None,
            drift: None,
        });
    }
    let mut warnings = Vec::new();
    steps.iter().for_each(|step| add(&mut warnings, step.step, &step.own.warnings));
    RunComparison { steps, warnings }
}

/// Adds a step's warnings to those of a run: each text once, and only the first about unusual errors.
fn add(warnings: &mut Vec<String>, step: u64, of_step: &[String]) {
    for warning in of_step {
        let unusual = |warning: &String| warning.contains(usual::FURTHER);
        if !unusual(warning) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        } else if !warnings.iter().any(unusual) {
            warnings.push(format!("step {step}: {warning}"));
        }
    }
}

/// Compares the steps that two runs have in common, from the first on.
///
/// # Errors
/// When the runs don't begin with the same step.
pub fn compare_runs(
    reference: &[Dump],
    candidate: &[Dump],
    scale_tolerance: f64,
) -> Result<RunComparison, String> {
    let first = |run: &[Dump]| run.first().map(|dump| dump.header.step);
    let (r, c) = (first(reference), first(candidate));
    if r != c || r.is_none() {
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
    let run = candidate;
    for (at, (reference, candidate)) in reference.iter().zip(run).enumerate() {
        let own = judge_step(run, at, scale_tolerance);
        let (comparison, allowed) =
            compare_from(reference, candidate, own.clone(), &start, scale_tolerance);
        start = carried(allowed);
        add(&mut warnings, candidate.header.step, &comparison.warnings);
        steps.push(Step {
            step: candidate.header.step,
            loss: loss(candidate),
            reference_loss: loss(reference),
            drift: drift(&comparison.rows),
            own,
            comparison: Some(comparison),
        });
    }
    Ok(RunComparison { steps, warnings })
}

/// What each element may be apart in the step at `at` of two runs.
pub(crate) fn allowed_at(
    reference: &[Dump],
    candidate: &[Dump],
    at: usize,
    scale_tolerance: f64,
) -> Errors {
    let mut start = Errors::new();
    for (reference, candidate) in reference.iter().zip(candidate).take(at) {
        start = carried(chain_and_bounds(reference, candidate, &start, scale_tolerance).1);
    }
    match (reference.get(at), candidate.get(at)) {
        (Some(r), Some(c)) => chain_and_bounds(r, c, &start, scale_tolerance).1,
        _ => Errors::new(),
    }
}

// ANCHOR: carried
/// What the parameters of the next step may be apart.
fn carried(allowed: Errors) -> Errors {
    let next = |(name, bounds)| match name {
        TensorName::WNext(layer) => Some((TensorName::W(layer), bounds)),
        TensorName::BNext(layer) => Some((TensorName::B(layer), bounds)),
        _ => None,
    };
    allowed.into_iter().filter_map(next).collect()
}
// ANCHOR_END: carried

/// The updated parameter that has used up the most of what it may be apart.
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
