//! Split-K: sums that are computed in parts.

#![allow(unsafe_code, reason = "parts are raw device memory")]

use crate::product::Product;
use crate::tensor_cores::Units;
use crate::{DataType, Number, Rejection, Scalar, View};

/// How a sum is split (split-K): into parts that are summed each by itself, and added up in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// How many parts there are.
    pub parts: usize,
    /// Where their sums go: memory of the device's, of [`workspace`](Self::workspace) bytes. Not used
    /// with a single part.
    pub address: u64,
}

impl Split {
    /// One sum.
    pub const NONE: Self = Self { parts: 1, address: 0 };

    /// The bytes that the sums of this many parts take, of a result of this many elements; `ty` is the type of
    /// the sums.
    #[must_use]
    pub fn workspace(parts: u64, elements: u64, ty: DataType) -> u64 {
        if parts > 1 { parts.saturating_mul(elements).saturating_mul(ty.size()) } else { 0 }
    }

    /// The products of a part of a sum of `k`: whole instructions of tensor cores, and whole lines of
    /// 16 bytes.
    fn depth(self, k: usize) -> usize {
        k.div_ceil(self.parts.max(1)).next_multiple_of(16)
    }
}

impl Product {
    /// The same of sums that are split: each part into its place of the workspace, and then all of them
    /// together, in order.
    ///
    /// # Safety
    /// As of `multiply`; the workspace is as large as the parts ask for, and nobody else's meanwhile.
    pub(crate) unsafe fn multiply_in_parts<T: Number>(
        &self,
        target: View,
        units: Option<Units>,
        (alpha, beta): (T, T),
    ) -> Result<(), Rejection> {
        let (m, n, k) = (self.m, self.n, self.k);
        let depth = self.split.depth(k);
        let part = |index: usize| {
            View::new(
                self.split.address + (index * m * n * size_of::<T>()) as u64,
                T::TYPE,
                (1, m as isize),
            )
        };
        let parts = k.div_ceil(depth);
        for index in 0..parts {
            let from = index * depth;
            let view = part(index);
            let product = Self {
                k: depth.min(k - from),
                a: self.a.from(0, from),
                b: self.b.from(from, 0),
                c: view,
                d: view,
                alpha: Scalar::Value(1.0),
                beta: Scalar::Value(0.0),
                split: Split::NONE,
                ..*self
            };
            // SAFETY: the caller's promise, of a part of the sum.
            unsafe { product.multiply::<T>(view, units)? };
        }
        for column in 0..n {
            for row in 0..m {
                // SAFETY: the parts were written just now, and `target` is the caller's promise.
                unsafe {
                    let mut sum = part(0).get::<T>(row, column);
                    for index in 1..parts {
                        sum += part(index).get::<T>(row, column);
                    }
                    let mut result = alpha * sum;
                    if beta != T::default() {
                        result += beta * target.get::<T>(row, column);
                    }
                    target.set(row, column, result);
                }
            }
        }
        Ok(())
    }
}
