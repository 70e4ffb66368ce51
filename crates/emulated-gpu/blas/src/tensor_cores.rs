//! Products on tensor cores: which they are, and how they are summed.
//!
//! A sum is what the model of the card's generation says ([`tensor_core`]), to the bit. What NVIDIA does not
//! publish of its libraries' kernels is assumed here and nowhere else:
//!
//! - products go the way of tensor cores where the type of computation allows it, and `a` and `b` begin
//!   at, and their lines lie apart by, multiples of 16 bytes, which is what aligned operands are documented
//!   to want (cuBLAS documentation, "Tensor Core Usage"); halves go it for single-precision sums
//!   (`CUBLAS_COMPUTE_32F`) too. Half-precision sums (`CUBLAS_COMPUTE_16F`) that go another way are made in
//!   single precision, and the result is rounded once;
//! - complex numbers go another way, of which nothing is published;
//! - a sum runs along `k` in order, from 0, through one accumulator; its last instruction is filled up
//!   with zeros, which add nothing. A kernel that splits `k` (split-K, or warps that share a sum) has other
//!   partial sums, and other last bits;
//! - `alpha` and `beta` come after, each with a rounding of single precision, of half-precision sums too,
//!   whose result is then rounded to half. That such a sum is rounded to nearest once for each group of
//!   products is the model's; no published measurement has them.

#![allow(unsafe_code, reason = "operands and results are raw device memory")]

use rayon::prelude::*;
use tensor_core::{Format, Line, Rules, Strip, Sum, WIDTH};

use crate::product::Product;
use crate::tiles::threads;
use crate::{Compute, DataType, Inputs, Real, Rejection, View, filled, room};

/// Lines that are summed with a strip in one go of a thread.
const LINES: usize = 32;
/// Multiply-adds below which several threads cost more than they save.
const WORTH_SHARING: usize = 1 << 18;

/// How a product is summed on the tensor cores of a card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    rules: Rules,
    format: Format,
    /// What is kept of a sum from group to group.
    sum: Sum,
    /// What operands are rounded to first.
    inputs: Inputs,
}

impl Units {
    /// Those that a product goes through; `None` where it does not.
    pub(crate) fn of(product: &Product) -> Option<Self> {
        let suits = product.a.suits_tensor_cores()
            && product.b.suits_tensor_cores()
            && !product.a.ty.is_complex();
        let (format, inputs) = match (product.compute, product.a.ty) {
            (Compute::F32(inputs @ Inputs::Tf32), _) => (Format::Tf32, inputs),
            (Compute::F32(inputs @ Inputs::F16), _) => (Format::F16, inputs),
            (Compute::F32(inputs @ Inputs::Bf16), _) => (Format::Bf16, inputs),
            (Compute::F32(Inputs::Full) | Compute::F16, DataType::F16) => {
                (Format::F16, Inputs::Full)
            }
            (Compute::F32(Inputs::Full), DataType::Bf16) => (Format::Bf16, Inputs::Full),
            _ => return None,
        };
        // The first tensor cores, of 7.0, take halves; TF32 and bfloat16 came with 8.0.
        let first = if format == Format::F16 { 70 } else { 80 };
        let rules = Rules::new(product.capability, format);
        let sum = if product.compute == Compute::F16 { Sum::Half } else { Sum::Single };
        (suits && product.capability >= first).then_some(Self { rules, format, sum, inputs })
    }

    /// Single-precision numbers that the factors take while they are multiplied.
    pub(crate) fn elements([m, n, k]: [usize; 3]) -> usize {
        let lines = |lines: usize| lines.saturating_mul(Line::elements(k));
        let strips = |columns: usize| lines(columns.next_multiple_of(WIDTH));
        lines(m).saturating_add(strips(n)).max(lines(n).saturating_add(strips(m)))
    }

    /// `target = alpha · a · b + beta · target`.
    ///
    /// # Errors
    /// When the host has not the room for the factors.
    ///
    /// # Safety
    /// As of `Product::run`, with `target` for `d`; it is read only where `beta` is not 0.
    pub(crate) unsafe fn multiply(
        self,
        product: &Product,
        target: View,
        (alpha, beta): (f32, f32),
    ) -> Result<(), Rejection> {
        let Product { mut m, mut n, k, .. } = *product;
        let (mut a, mut b, mut target) = (product.a, product.b, target);
        // Sixteen columns are summed at once: as few as can be of them are empty.
        let work = |lines: usize, columns: usize| lines.saturating_mul(columns.div_ceil(WIDTH));
        if work(n, m) < work(m, n) {
            (m, n) = (n, m);
            (a, b, target) = (b.transposed(), a.transposed(), target.transposed());
        }
        // The threads have to be there before the first of the loops below.
        let is_shared = threads() > 1 && m.saturating_mul(n).saturating_mul(k) >= WORTH_SHARING;
        // SAFETY: the caller's promise, as the indices are below `m` and `k`.
        let left = |i: usize, p: usize| unsafe { a.get::<f32>(i, p) }.rounded(self.inputs);
        // SAFETY: as above, of `k` and `n`.
        let right = |p: usize, j: usize| unsafe { b.get::<f32>(p, j) }.rounded(self.inputs);
        let mut memory = filled(0.0_f32, m.saturating_mul(Line::elements(k)))?;
        drop(room::<Option<Line<'_>>>(m)?);
        let lines: Vec<Option<Line<'_>>> = memory
            .par_chunks_exact_mut(Line::elements(k))
            .enumerate()
            .map(|(i, memory)| Line::new(self.format, k, memory, |p| left(i, p)))
            .collect();
        let strips = n.div_ceil(WIDTH);
        let mut memory = filled([0.0_f32; WIDTH], strips.saturating_mul(Strip::rows(k)))?;
        drop(room::<Option<Strip<'_>>>(strips)?);
        let strips: Vec<Option<Strip<'_>>> = memory
            .par_chunks_exact_mut(Strip::rows(k))
            .enumerate()
            .map(|(index, memory)| {
                let first = index * WIDTH;
                let sizes = (k, (n - first).min(WIDTH));
                Strip::new(self.format, sizes, memory, |p, j| right(p, first + j))
            })
            .collect();
        let block = |index: usize| {
            let (strip, from) = (index % strips.len(), index / strips.len() * LINES);
            for (i, line) in lines.iter().enumerate().skip(from).take(LINES) {
                // The memory of both has the length that they ask for.
                let (Some(line), Some(columns)) = (line, &strips[strip]) else { continue };
                let sums = columns.sum(&self.rules, self.sum, line);
                for (j, &sum) in (strip * WIDTH..n).zip(&sums) {
                    // SAFETY: the caller's promise; every element belongs to one block.
                    unsafe {
                        let scaled = alpha * sum;
                        let result = if beta == 0.0 {
                            scaled
                        } else {
                            scaled + beta * target.get::<f32>(i, j)
                        };
                        target.set(i, j, result);
                    }
                }
            }
        };
        let blocks = 0..strips.len() * m.div_ceil(LINES);
        if is_shared {
            blocks.into_par_iter().for_each(block);
        } else {
            blocks.for_each(block);
        }
        Ok(())
    }
}
