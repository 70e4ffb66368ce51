//! Split-K: sums that are computed in several parts.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use crate::product::Product;
use crate::scratch::Scratch;
use crate::tensor_cores::TensorCores;
use crate::{DataType, Number, Result};

/// The splitting of sums (split-K): each part is summed separately, and the partial sums are added
/// up. A card keeps the partial sums in a workspace; here they are in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The number of parts.
    pub parts: usize,
}

impl Split {
    /// The value for sums that are not split.
    pub const NONE: Self = Self { parts: 1 };

    /// The size in bytes of the workspace for the partial sums: `elements` is the number of
    /// elements of the result, and `ty` the type of the sums.
    #[must_use]
    pub fn workspace(parts: u64, elements: u64, ty: DataType) -> u64 {
        if parts > 1 { parts.saturating_mul(elements).saturating_mul(ty.size()) } else { 0 }
    }

    /// The number of terms in each part of a sum of `k`, rounded up to whole tensor-core
    /// instructions and to whole lines of 16 bytes.
    fn depth(self, k: usize) -> usize {
        k.div_ceil(self.parts.max(1)).next_multiple_of(16)
    }
}

impl Product {
    /// Computes the product with split sums, one part after the other.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// See `multiply`.
    pub(crate) unsafe fn multiply_split<T: Number>(
        &self,
        result: &mut [T],
        tensor_cores: Option<TensorCores>,
        (alpha, beta): (T, T),
    ) -> Result {
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
            // SAFETY: the operands are valid, as the caller promises, and each part is inside them.
            unsafe { product.multiply(target, tensor_cores, (one, zero))? };
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
