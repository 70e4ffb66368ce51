//! Judgement of a dump by itself: each operation is recomputed in `float64` from the dump's *own*
//! inputs, and the result has to match the dump's tensor, within the rounding of that one
//! operation.
//!
//! That needs no reference, works for any step, and finds a fault after an earlier one, because a
//! wrong input makes the right result wrong in the same way. It can't find a fault in the inputs of a
//! step, the batch and the parameters, unless the previous step shows what they should be.

use std::borrow::Cow;

use serde::Serialize;
use tensor::{Dump, DumpedTensor, Loss, TensorName};

use super::context::Context;
use super::moved_factor::moved_back;
use super::rounding::Rounding;
use super::usual::{self, Unusual};
use super::verdict::{Row, Verdict, deviation};
use crate::chain::{self, Errors, is_given};
use crate::finding::{Divergence, Finding};

/// The judgement of a dump by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// One row for each tensor of the network, in the order of computation, then one for each other
    /// tensor. Errors are the distances from the operation's result on the dump's own inputs.
    #[serde(rename = "tensors")]
    pub rows: Vec<Row>,
    /// The first tensor that is wrong by itself, and its likely cause.
    pub first_fault: Option<Divergence>,
    /// Warnings for the reader: a factor was moved, or a tensor within its bound is far further off than rounding
    /// usually gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The factor of all bounds.
    #[serde(skip)]
    pub scale_tolerance: f64,
}

impl Judgement {
    /// Whether nothing is wrong by itself, and something was recomputed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.first_fault.is_none() && self.count(Verdict::Ok) > 0
    }

    /// The number of rows with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The number of rows that are mismatches.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict.is_mismatch()).count()
    }

    /// The row of that tensor.
    #[must_use]
    pub fn row(&self, name: TensorName) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// Judges a dump by itself; every bound is multiplied by `scale_tolerance`.
#[must_use]
pub fn judge(candidate: &Dump, scale_tolerance: f64) -> Judgement {
    judge_step(std::slice::from_ref(candidate), 0, scale_tolerance)
}

/// Judges a step of a run by itself and by the step before it, which left the parameters that this
/// one starts from. The later steps only serve to explain a fault.
pub(crate) fn judge_step(run: &[Dump], at: usize, scale_tolerance: f64) -> Judgement {
    let before = at.checked_sub(1).and_then(|before| run.get(before));
    let candidate = with_loss(&run[at], before, scale_tolerance);
    let (candidate, note) = moved_back(&candidate, scale_tolerance);
    let judged = judge_with(&candidate, before, &run[at + 1..], scale_tolerance);
    let warnings = note.into_iter().chain(judged.warnings).collect();
    Judgement { warnings, ..judged }
}

/// The dump itself if it names its loss, otherwise with the loss that leaves the fewest faults.
fn with_loss<'a>(
    candidate: &'a Dump,
    before: Option<&Dump>,
    scale_tolerance: f64,
) -> Cow<'a, Dump> {
    if candidate.header.loss.is_some() {
        return Cow::Borrowed(candidate);
    }
    let named = Loss::ALL.iter().map(|&loss| {
        let mut named = candidate.clone();
        named.header.loss = Some(loss);
        named
    });
    let faults = |named: &Dump| judge_with(named, before, &[], scale_tolerance).faults();
    named.min_by_key(faults).map_or(Cow::Borrowed(candidate), Cow::Owned)
}

/// Each tensor, recomputed from the dump itself, and the bounds of its elements.
pub(crate) fn recomputed(
    candidate: &Dump,
    before: Option<&Dump>,
    scale_tolerance: f64,
) -> (Vec<DumpedTensor>, Errors) {
    let candidate = with_loss(candidate, before, scale_tolerance);
    let context = Context::of_one(&candidate, scale_tolerance);
    let names = chain::names(chain::layers(&candidate));
    let values = names.into_iter().filter_map(|name| recompute(name, &context, before)).collect();
    (values, context.bounds)
}

pub(crate) fn judge_with(
    candidate: &Dump,
    before: Option<&Dump>,
    later: &[Dump],
    scale_tolerance: f64,
) -> Judgement {
    let context = Context::of_one(candidate, scale_tolerance);
    let rounding = Rounding::of_one(&candidate.header);
    let variances = context
        .chain
        .as_ref()
        .map_or_else(Errors::new, |chain| usual::variances(chain, candidate, &rounding));
    let mut unusual: Vec<Unusual> = Vec::new();
    let mut first_fault = None;
    let mut rows = Vec::new();
    for name in context.names() {
        let recomputed = recompute(name, &context, before);
        let row = row(name, &context, recomputed.as_ref());
        let (context, expected) = (&context, recomputed.as_ref());
        let finding = Finding { row: &row, context, expected, before, later, compared: None };
        if row.verdict.is_mismatch() && first_fault.is_none() {
            first_fault = Some(finding.read());
        }
        if row.verdict == Verdict::Ok
            && let (Some(variances), Some(found)) = (variances.get(&name), candidate.get(name))
        {
            unusual.extend(Unusual::new(&finding, &found.data, variances, unusual.is_empty()));
        }
        rows.push(row);
    }
    let warnings = usual::warning(&unusual).into_iter().collect();
    Judgement { rows, first_fault, warnings, scale_tolerance }
}

// ANCHOR: recompute
/// The right values of a tensor: recomputed from the dump itself, or for parameters those that the step before left.
fn recompute(
    name: TensorName,
    context: &Context<'_>,
    before: Option<&Dump>,
) -> Option<DumpedTensor> {
    let left = |next: TensorName| before?.get(next).map(|left| left.data.clone());
    let data = match name {
        TensorName::W(layer) => left(TensorName::WNext(layer))?,
        TensorName::B(layer) => left(TensorName::BNext(layer))?,
        _ => context.chain.as_ref()?.compute(name)?,
    };
    let shape = context.chain.as_ref()?.shape(name)?;
    (shape.iter().product::<usize>() == data.len()).then_some(DumpedTensor { name, shape, data })
}
// ANCHOR_END: recompute

/// The verdict on one tensor.
fn row(name: TensorName, context: &Context<'_>, recomputed: Option<&DumpedTensor>) -> Row {
    let found = match context.both(name) {
        Ok([_, found]) => found,
        Err(verdict) => {
            return context.row(name, recomputed.map(|tensor| &tensor.shape[..]), verdict);
        }
    };
    let row =
        |verdict, deviation| Row { name, shape: Some(found.shape.clone()), deviation, verdict };
    let nan = found.data.iter().any(|value| value.is_nan());
    let infinite = found.data.iter().any(|value| value.is_infinite());
    let misplaced = context.is_misplaced(name);
    let Some(recomputed) = recomputed else {
        let verdict = match () {
            () if nan => Verdict::Nan,
            () if infinite => Verdict::Infinite,
            () if misplaced => Verdict::Order,
            () if is_given(name) => Verdict::Given,
            () => Verdict::NoBound,
        };
        return row(verdict, None);
    };
    let none = vec![f64::NAN; found.data.len()];
    let mut bounds = context.bounds.get(&name).unwrap_or(&none).clone();
    let mut recomputed = recomputed.clone();
    let inherited = !inputs_are_finite(name, context);
    if inherited {
        // Elements that depend on a NaN can't be judged; all others can.
        let elements = recomputed.data.iter_mut().zip(&mut bounds).zip(&found.data);
        for ((expected, bound), &value) in elements {
            if !expected.is_finite() || !bound.is_finite() || !value.is_finite() {
                (*expected, *bound) = (value, f64::INFINITY);
            }
        }
    }
    let deviation = deviation(&recomputed, found, &bounds);
    let verdict = match () {
        () if inherited && deviation.outside == 0 && (nan || infinite) => Verdict::Inherited,
        () if nan && !inherited => Verdict::Nan,
        () if infinite && !inherited => Verdict::Infinite,
        () if !inherited && !bounds.iter().all(|bound| bound.is_finite()) => Verdict::NoBound,
        () if !inherited && deviation.outside > 0 => Verdict::Differs,
        () if deviation.ratio > 1.0 => Verdict::Differs,
        () if misplaced => Verdict::Order,
        () => Verdict::Ok,
    };
    row(verdict, Some(deviation))
}

/// Whether all inputs of the operation are finite.
fn inputs_are_finite(name: TensorName, context: &Context<'_>) -> bool {
    let Some(chain) = &context.chain else { return true };
    chain.operation(name).is_none_or(|operation| {
        operation.inputs.iter().all(|&input| {
            chain.get(input).is_none_or(|data| data.iter().all(|value| value.is_finite()))
        })
    })
}
