//! Softmax, and its logarithm, along the last axis.

use super::elementwise::pull;
use crate::function::{Binary, Unary};
use crate::{Array, Element, ErrorKind, Result, Tensor};

impl<T: Element> Tensor<T> {
    // ANCHOR: softmax
    /// `p = eᶻ / Σ eᶻ` along the last axis. With `s = Σ dp·p` along it, the gradient is
    /// `dz = p·(dp − s)`.
    #[track_caller]
    pub fn softmax(&self) -> Self {
        self.unary("softmax", |z| {
            let axis = last_axis("softmax", z)?;
            let exponentials = shifted(z, axis)?.map(Unary::Exp)?;
            let p = exponentials.zip(Binary::Div, &exponentials.sum(&[axis])?)?;
            let saved = p.clone();
            let rule = move |dp: &Array<T>| {
                let s = dp.zip(Binary::Mul, &saved)?.sum(&[axis])?;
                dp.zip(Binary::Sub, &s)?.zip(Binary::Mul, &saved)
            };
            Ok((p, pull(rule)))
        })
    }

    /// `y = z − ln Σ eᶻ` along the last axis: the logarithm of the softmax, computed without
    /// probabilities, which may underflow to 0. Its gradient is `dz = dy − softmax(z)·Σ dy`.
    #[track_caller]
    pub fn log_softmax(&self) -> Self {
        self.unary("log_softmax", |z| {
            let axis = last_axis("log_softmax", z)?;
            let z = shifted(z, axis)?;
            let log_sum = z.map(Unary::Exp)?.sum(&[axis])?.map(Unary::Log)?;
            let y = z.zip(Binary::Sub, &log_sum)?;
            let saved = y.clone();
            let rule = move |dy: &Array<T>| {
                let p = saved.map(Unary::Exp)?;
                dy.zip(Binary::Sub, &p.zip(Binary::Mul, &dy.sum(&[axis])?)?)
            };
            Ok((y, pull(rule)))
        })
    }
    // ANCHOR_END: softmax
}

/// `z` minus the largest element of its row. This cancels in the softmax, and keeps `exp` from overflowing.
fn shifted<T: Element>(z: &Array<T>, axis: usize) -> Result<Array<T>> {
    z.zip(Binary::Sub, &z.max(axis)?)
}

fn last_axis<T: Element>(operation: &'static str, z: &Array<T>) -> Result<usize> {
    z.shape().len().checked_sub(1).ok_or_else(|| {
        let reason = "softmax needs at least one axis".into();
        ErrorKind::Shape { operation, shape: Vec::new(), reason }.into()
    })
}
