//! Judgement of a dump by itself: each operation is recomputed in `float64` from the dump's *own* inputs, and the
//! result has to match the dump's tensor, within the rounding of that one operation.
//!
//! That needs no reference, works for any step, and finds a fault after an earlier one, because a
//! wrong input makes the right result wrong in the same way. It can't find a fault in the inputs of a
//! step, the batch and the parameters, unless the previous step shows what they should be.

use std::borrow::Cow;

use serde::Serialize;
use tensor::{Dump, DumpedTensor, Loss, TensorName};

use super::context::Context;
use super::run::Evidence;
use super::usual::{self, Unusual, unusual};
use super::verdict::{Row, Rows, Verdict, within};
use crate::chain::{self, Chain, Errors, count};
use crate::finding::{Divergence, Finding};
use crate::numeric::largest_magnitude;

/// The judgement of a dump by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict on each tensor. Errors are the distances from the operation's result on the dump's own inputs.
    #[serde(rename = "tensors")]
    pub rows: Rows,
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
        self.first_fault.is_none() && self.rows.count(Verdict::Ok) > 0
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
    let before = step_before(run, at);
    let candidate = name_loss(&run[at], before, scale_tolerance);
    let (candidate, note) = moved_back(&candidate, scale_tolerance);
    let mut judged = judge_with(&candidate, before, &run[at + 1..], scale_tolerance);
    judged.warnings.splice(0..0, note);
    judged
}

fn step_before(run: &[Dump], at: usize) -> Option<&Dump> {
    at.checked_sub(1).and_then(|before| run.get(before))
}

/// The dump itself if it names its loss; otherwise a copy that names the loss with the fewest faults.
fn name_loss<'a>(
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
    let faults = |named: &Dump| judge_with(named, before, &[], scale_tolerance).rows.mismatches();
    named.min_by_key(faults).map_or(Cow::Borrowed(candidate), Cow::Owned)
}

/// Each tensor of a step, recomputed from its own dump, and the bounds of its elements.
pub(super) fn recomputed(run: &[Dump], at: usize, scale_tolerance: f64) -> Evidence<'static> {
    let before = step_before(run, at);
    let candidate = name_loss(&run[at], before, scale_tolerance);
    let context = Context::new(None, &candidate, &Errors::new(), scale_tolerance);
    let names = chain::names(chain::layers(&candidate));
    let values = names.into_iter().filter_map(|name| recompute(name, &context, before)).collect();
    (Cow::Owned(values), context.bounds)
}

fn judge_with(
    candidate: &Dump,
    before: Option<&Dump>,
    later: &[Dump],
    scale_tolerance: f64,
) -> Judgement {
    let context = &Context::new(None, candidate, &Errors::new(), scale_tolerance);
    let variances = usual::variances(context);
    let mut far_off: Vec<Unusual> = Vec::new();
    let mut first_fault = None;
    let mut rows = Vec::new();
    for name in context.names() {
        let recomputed = recompute(name, context, before);
        let expected = recomputed.as_ref();
        let row = context.row(name, expected);
        let finding = Finding { row: &row, context, expected, before, later, compared: None };
        if row.verdict.is_mismatch() && first_fault.is_none() {
            first_fault = Some(finding.read());
        }
        if row.verdict == Verdict::Ok
            && let Some(variances) = variances.get(&name)
        {
            far_off.extend(unusual(&finding, variances, far_off.is_empty()));
        }
        rows.push(row);
    }
    let warnings = usual::warning(&far_off).into_iter().collect();
    Judgement { rows: Rows(rows), first_fault, warnings, scale_tolerance }
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

/// If the dump applies 1/B to the gradients of the parameters: the dump with the factor moved back to `dz`, and a
/// warning about it. Otherwise the dump itself.
///
/// By this project's definition `dzL = (p - y) / B`. Much public code leaves 1/B out there and divides each `dw` and `db`
/// by B instead: every `dz` and `da` is B times as large, and the training step is the same.
pub(crate) fn moved_back(dump: &Dump, scale_tolerance: f64) -> (Cow<'_, Dump>, Option<String>) {
    let moved = move_factor(dump, scale_tolerance);
    moved.map_or((Cow::Borrowed(dump), None), |(moved, note)| (Cow::Owned(moved), Some(note)))
}

fn move_factor(dump: &Dump, scale_tolerance: f64) -> Option<(Dump, String)> {
    let chain = Chain::new(dump, dump.header.loss)?;
    let factor = count(chain.batch());
    let last = TensorName::Dz(chain.layers());
    let dz = &dump.get(last)?.data;
    let expected = chain.compute(last)?;
    // A quick check, because judging the whole dump takes longer.
    let largest = largest_magnitude(&expected);
    let is_near = |(&dz, &e): (&f64, &f64)| within(factor * e, dz, 1e-2 * factor * largest);
    if factor <= 1.0
        || largest <= 0.0
        || largest.is_infinite()
        || dz.len() != expected.len()
        || !dz.iter().zip(&expected).all(is_near)
    {
        return None;
    }
    let mut moved = dump.clone();
    let is_scaled = |name| matches!(name, TensorName::Dz(_) | TensorName::Da(_));
    for tensor in moved.tensors.iter_mut().filter(|tensor| is_scaled(tensor.name)) {
        tensor.data.iter_mut().for_each(|value| *value /= factor);
    }
    let rows = judge_with(&moved, None, &[], scale_tolerance).rows;
    let is_dw = |row: &&Row| matches!(row.name, TensorName::Dw(_));
    // `db` may be wrong by itself, and is then reported against the right `dz`.
    let mut compared = rows.iter().filter(|row| is_scaled(row.name) || is_dw(row));
    let is_right = compared.all(|row| !row.verdict.is_mismatch())
        && rows.iter().filter(is_dw).any(|row| row.verdict == Verdict::Ok);
    is_right.then(|| {
        let note = format!(
            "every dz and da is B = {factor} times what this network defines, and every dw is right: \
             1/B is applied to the gradients of the parameters instead of to {last}. The training step is \
             the same; dz and da are compared with 1/B moved back"
        );
        (moved, note)
    })
}
