//! The matrix product.

use std::panic::Location;

use super::elementwise::pull;
use crate::{Element, Tensor};

impl<T: Element> Tensor<T> {
    // ANCHOR: matmul
    /// `c = a · b` of the matrices `a [m, k]` and `b [k, n]`. With `dc [m, n]`, the gradients are
    /// `da = dc · bᵀ` and `db = aᵀ · dc`: the only products of these three whose shapes fit.
    #[track_caller]
    pub fn matmul(&self, other: &Self) -> Self {
        Self::record("matmul", Location::caller(), &[self, other], |values| {
            let (a, b) = (values[0].clone(), values[1].clone());
            let c = a.matmul(&b)?;
            let da = pull(move |dc| dc.matmul(&b.transpose()?));
            // The same as `aᵀ · dc`. A layer multiplies by `b = wᵀ`, and its `dw` then comes out with
            // its elements in the order of those of `w`.
            let db = pull(move |dc| dc.transpose()?.matmul(&a)?.transpose());
            Ok((c, vec![da, db]))
        })
    }
    // ANCHOR_END: matmul
}
