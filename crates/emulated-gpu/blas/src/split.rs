//! Split-K: sums that are computed in parts.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use crate::product::Product;
use crate::scratch::Scratch;
use crate::tensor_cores::Units;
use crate::{DataType, Number, Rejection};

/// How a sum is split (split-K): into parts that are summed each by itself, and added up in the end. On a card
/// the sums of the parts lie in a workspace; here they stay in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// How many parts there are.
    pub parts: usize,
}

impl Split {
    /// One sum.
    pub const NONE: Self = Self { parts: 1 };

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
    /// The same of sums that are split: part after part, in order.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// As of `multiply`.
    pub(crate) unsafe fn multiply_in_parts<T: Number>(
        &self,
        result: &mut [T],
        units: Option<Units>,
        (alpha, beta): (T, T),
    ) -> Result<(), Rejection> {
        let depth = self.split.depth(self.k);
        let (zero, one) = (T::default(), T::from_f32(1.0));
        let mut sums = Scratch::new(result.len())?;
        let mut part = Scratch::new(result.len())?;
        for from in (0..self.k).step_by(depth) {
            let product = Self {
                k: depth.min(self.k - from),
                a: self.a.from(0, from),
                b: self.b.from(from, 0),
                split: Split::NONE,
                ..*self
            };
            let is_first = from == 0;
            let target = if is_first { &mut sums } else { &mut part };
            // SAFETY: the caller's promise, of a part of the sum.
            unsafe { product.multiply(target, units, (one, zero))? };
            if !is_first {
                sums.iter_mut().zip(part.iter()).for_each(|(sum, &part)| *sum += part);
            }
        }
        for (value, &sum) in result.iter_mut().zip(sums.iter()) {
            let scaled = alpha * sum;
            *value = if beta == zero { scaled } else { scaled + beta * *value };
        }
        Ok(())
    }
}
