//! The factor 1/B, applied to the gradients of the parameters rather than to `dz`.
//!
//! By this project's definition `dzL = (p - y) / B`. Much public code leaves 1/B out there and divides each
//! `dw` and `db` by B instead: every `dz` and `da` is B times as large, and the training step is the same.

use std::borrow::Cow;

use tensor::{Dump, TensorName};

use super::own;
use super::verdict::{Row, Verdict, within};
use crate::chain::{Chain, count};
use crate::numeric::largest_magnitude;

/// If the dump applies 1/B to the gradients of the parameters: the dump with the factor moved back to `dz`, and a
/// warning about it. Otherwise the dump itself.
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
    let rows = own::judge_with(&moved, None, &[], scale_tolerance).rows;
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
