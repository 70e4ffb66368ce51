//! Products on tensor cores: which products use them, and how they are summed.
//!
//! Every sum has the same bits as in the model of the card's generation ([`tensor_core`]). NVIDIA does not publish some
//! properties of its libraries' kernels. These assumptions are made here, and nowhere else:
//!
//! - Products use tensor cores if the compute type allows it and both the addresses and the line strides of `a` and `b`
//!   are multiples of 16 bytes; the documentation asks for such operands (cuBLAS documentation, "Tensor Core Usage").
//!   Half-precision inputs with single-precision sums (`CUBLAS_COMPUTE_32F`) use them too. Without tensor cores,
//!   half-precision sums (`CUBLAS_COMPUTE_16F`) are computed in single precision, and the result is rounded once.
//! - Complex products don't use them; nothing is published about that.
//! - A sum runs along `k` in order, from 0, in one accumulator; its last instruction is padded with zeros, which don't
//!   change the sum. A kernel that splits `k` (split-K, or warps that share a sum) has other partial sums, and so other
//!   last bits.
//! - `alpha` and `beta` are applied afterwards, each with a single-precision rounding, even for half-precision sums,
//!   whose result is then rounded to half. The model rounds a half-precision sum to nearest once per group of products;
//!   no published measurement covers these sums.

#![allow(unsafe_code, reason = "operands and results are raw device memory")]

use rayon::prelude::*;
use tensor_core::{Format, Line, Rules, Strip, Sum, WIDTH};

use crate::product::Product;
use crate::tiles::threads;
use crate::{Compute, DataType, InputRounding, Real, Result, View, filled, vec_with_capacity};

/// The number of lines (rows of the left operand) that a thread multiplies by a strip (16 columns) at a time.
const LINES: usize = 32;
/// The number of multiply-adds below which several threads cost more than they save.
const MIN_PARALLEL_WORK: usize = 1 << 18;

/// The way in which a product is summed on the card's tensor cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorCores {
    rules: Rules,
    format: Format,
    /// The precision in which a sum is kept between groups.
    sum: Sum,
    /// The rounding of operands before they are multiplied.
    inputs: InputRounding,
}

impl TensorCores {
    /// The tensor cores for a product; `None` if it doesn't use them.
    pub(crate) fn for_product(product: &Product) -> Option<Self> {
        let suits = product.a.suits_tensor_cores()
            && product.b.suits_tensor_cores()
            && !product.a.ty.is_complex();
        let (format, inputs) = match (product.compute, product.a.ty) {
            (Compute::F32(inputs @ InputRounding::Tf32), _) => (Format::Tf32, inputs),
            (Compute::F32(inputs @ InputRounding::F16), _) => (Format::F16, inputs),
            (Compute::F32(inputs @ InputRounding::Bf16), _) => (Format::Bf16, inputs),
            (Compute::F32(InputRounding::Full) | Compute::F16, DataType::F16) => {
                (Format::F16, InputRounding::Full)
            }
            (Compute::F32(InputRounding::Full), DataType::Bf16) => {
                (Format::Bf16, InputRounding::Full)
            }
            _ => return None,
        };
        // Tensor cores support halves since compute capability 7.0, and TF32 and bfloat16 since
        // 8.0.
        let first = if format == Format::F16 { 70 } else { 80 };
        let rules = Rules::new(product.capability, format);
        let sum = if product.compute == Compute::F16 { Sum::Half } else { Sum::Single };
        (suits && product.capability >= first).then_some(Self { rules, format, sum, inputs })
    }

    /// The number of single-precision numbers in the copies of the operands.
    pub(crate) fn elements([m, n, k]: [usize; 3]) -> usize {
        let lines = |lines: usize| lines.saturating_mul(Line::elements(k));
        let strips = |columns: usize| lines(columns.next_multiple_of(WIDTH));
        lines(m).saturating_add(strips(n)).max(lines(n).saturating_add(strips(m)))
    }

    /// Computes `target = alpha · a · b + beta · target`.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory for copies of the operands.
    ///
    /// # Safety
    /// See `Product::run`; `target` replaces `d`, and is only read if `beta` is not 0.
    pub(crate) unsafe fn multiply(
        self,
        product: &Product,
        target: View,
        (alpha, beta): (f32, f32),
    ) -> Result {
        let Product { mut m, mut n, k, .. } = *product;
        let (mut a, mut b, mut target) = (product.a, product.b, target);
        // Columns are summed in strips of 16. The product is transposed if that leaves fewer columns of the last strip
        // empty.
        let work = |lines: usize, columns: usize| lines.saturating_mul(columns.div_ceil(WIDTH));
        if work(n, m) < work(m, n) {
            (m, n) = (n, m);
            (a, b, target) = (b.transposed(), a.transposed(), target.transposed());
        }
        // `threads` starts rayon's threads, so it must be called before the first parallel loop below.
        let is_shared = threads() > 1 && m.saturating_mul(n).saturating_mul(k) >= MIN_PARALLEL_WORK;
        // SAFETY: `a` is readable, as the caller promises; the indices are below `m` and `k`.
        let left = |i: usize, p: usize| unsafe { a.get::<f32>(i, p) }.rounded(self.inputs);
        // SAFETY: `b` is readable, as the caller promises; the indices are below `k` and `n`.
        let right = |p: usize, j: usize| unsafe { b.get::<f32>(p, j) }.rounded(self.inputs);
        let mut memory = filled(0.0_f32, m.saturating_mul(Line::elements(k)))?;
        drop(vec_with_capacity::<Option<Line<'_>>>(m)?);
        let lines: Vec<Option<Line<'_>>> = memory
            .par_chunks_exact_mut(Line::elements(k))
            .enumerate()
            .map(|(i, memory)| Line::new(self.format, k, memory, |p| left(i, p)))
            .collect();
        let strips = n.div_ceil(WIDTH);
        let mut memory = filled([0.0_f32; WIDTH], strips.saturating_mul(Strip::rows(k)))?;
        drop(vec_with_capacity::<Option<Strip<'_>>>(strips)?);
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
                // `None` is impossible, because both were given memory of the right length.
                let (Some(line), Some(columns)) = (line, &strips[strip]) else { continue };
                let sums = columns.sum(&self.rules, self.sum, line);
                for (j, &sum) in (strip * WIDTH..n).zip(&sums) {
                    // SAFETY: `target` is writable, as the caller promises; every element belongs to exactly one block.
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
