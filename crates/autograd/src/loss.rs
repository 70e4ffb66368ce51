//! The three losses of this project, composed of operations that have rules for their gradients.
//!
//! All of them take the output `z [B, C]` of the last layer and the targets `y` of the same shape.
//! The first axis is the batch.

use std::panic::Location;

use crate::array::shapes_error;
use crate::{Element, Result, Tensor};

// ANCHOR: losses
/// `−Σ_c y·ln softmax(z)`, mean over the batch.
#[track_caller]
pub fn cross_entropy<T: Element>(z: &Tensor<T>, y: &Tensor<T>) -> Tensor<T> {
    match batch("cross_entropy", z, y) {
        Ok(batch) => (y * z.log_softmax()).sum() / -batch,
        Err(error) => error.at(Location::caller()).into(),
    }
}

/// `−(y·ln p + (1−y)·ln(1−p))` with `p = sigmoid(z)`, mean over the batch *and* the outputs: it
/// equals `softplus(z) − z·y`, in which nothing overflows.
#[track_caller]
pub fn bce<T: Element>(z: &Tensor<T>, y: &Tensor<T>) -> Tensor<T> {
    match batch("bce", z, y) {
        Ok(_) => (z.softplus() - z * y).mean(),
        Err(error) => error.at(Location::caller()).into(),
    }
}

/// `½·Σ_c (z − y)²`, mean over the batch.
#[track_caller]
pub fn squared_error<T: Element>(z: &Tensor<T>, y: &Tensor<T>) -> Tensor<T> {
    let two = T::one() + T::one();
    match batch("squared_error", z, y) {
        Ok(batch) => (z - y).pow(two).sum() / (two * batch),
        Err(error) => error.at(Location::caller()).into(),
    }
}
// ANCHOR_END: losses

/// Returns `B` if both have the same shape `[B, …]`. Without this check, `z − y` would broadcast `[B, 1]`
/// against `[B]` to all pairs, and the wrong loss would go unnoticed.
fn batch<T: Element>(operation: &'static str, z: &Tensor<T>, y: &Tensor<T>) -> Result<T> {
    let (z, y) = (z.array()?, y.array()?);
    match z.shape() {
        &[batch, ..] if z.shape() == y.shape() => Ok(T::from_f64(batch as f64)),
        _ => {
            let rule = "outputs and targets have to have the same shape, the batch first";
            Err(shapes_error(operation, &z, &y, rule))
        }
    }
}
