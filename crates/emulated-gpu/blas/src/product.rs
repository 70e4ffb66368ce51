//! Matrix products `d = alpha · a · b + beta · c` on all cores, computed by the crate `gemm` or by
//! the model of tensor cores.
//!
//! The result is computed in panels of a few columns, in the library's own memory, and then copied
//! to `d`.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use gemm::{c32, c64};

use crate::scratch::Scratch;
use crate::tensor_cores::TensorCores;
use crate::tiles::for_each_line;
use crate::{Compute, Number, Rejection, Result, Scalar, Split, View, vec_with_capacity};

/// A column of the result in the type of the computation, before it is stored.
#[derive(Debug)]
pub enum Column<'column> {
    /// A column that was computed in single precision.
    F32(&'column mut [f32]),
    /// A column that was computed in double precision.
    F64(&'column mut [f64]),
}

/// A callback that receives the columns of the result in order, each with its index.
pub type FinishColumn<'finish> = &'finish mut dyn FnMut(usize, Column<'_>);

/// A matrix product; all sizes may be 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// The number of rows of `a`, `c` and `d`.
    pub m: usize,
    /// The number of columns of `b`, `c` and `d`.
    pub n: usize,
    /// The number of columns of `a` and of rows of `b`.
    pub k: usize,
    /// The matrix `[m, k]`, after any transposition.
    pub a: View,
    /// The matrix `[k, n]`, after any transposition.
    pub b: View,
    /// The matrix `[m, n]`, which is not read if `beta` is 0.
    pub c: View,
    /// The result `[m, n]`, which may be the same memory as `c`.
    pub d: View,
    /// The factor of the product. If it is 0, `a` and `b` are not read.
    pub alpha: Scalar,
    /// The factor of `c`.
    pub beta: Scalar,
    /// The precision of products and sums. The fast types allow tensor cores but don't require
    /// them: inputs are only rounded if [`tensor_cores`](crate::tensor_cores) are used.
    pub compute: Compute,
    /// The compute capability of the card, whose tensor cores are modelled; 90 means 9.0.
    pub capability: u32,
    /// Whether the sums are split (split-K).
    pub split: Split,
}

impl Product {
    /// The product `c = a · b` with sizes `[m, n, k]`, without scaling, `beta` or split sums.
    #[must_use]
    pub fn new(
        [m, n, k]: [usize; 3],
        [a, b, c]: [View; 3],
        compute: Compute,
        capability: u32,
    ) -> Self {
        let (alpha, beta, split) = (Scalar::Value(1.0), Scalar::Value(0.0), Split::NONE);
        Self { m, n, k, a, b, c, d: c, alpha, beta, compute, capability, split }
    }

    /// The transposed product, `dᵀ = alpha · bᵀ · aᵀ + beta · cᵀ`.
    #[must_use]
    pub fn transposed(self) -> Self {
        let [a, b, c, d] = [self.b, self.a, self.c, self.d].map(View::transposed);
        Self { m: self.n, n: self.m, a, b, c, d, ..self }
    }

    /// Checks that the host has enough memory for intermediate results, so that the call can fail
    /// instead of its work.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host hasn't enough memory.
    pub fn check_memory(&self) -> Result {
        let ty = self.compute.sum_type(self.a.ty);
        let (m, k, columns) = (self.m, self.k, self.panel_columns());
        let copies = match TensorCores::for_product(self) {
            Some(_) => TensorCores::elements([m, columns, k]),
            None => self.tile_elements().max(self.direct_elements()),
        };
        // Split sums need two more panels: one for the sum of the parts so far, and one for the
        // next part.
        let panels = if self.split.parts > 1 { 3 } else { 1 };
        let elements = copies.saturating_add(m.saturating_mul(columns).saturating_mul(panels));
        // This only asks the allocator: the memory is freed at once, without being used.
        vec_with_capacity::<u8>(elements.saturating_mul(ty.size() as usize)).map(drop)
    }

    /// Computes the product. `finish`, if given, receives the columns in order before they are
    /// stored.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory; the result is then filled with NaN.
    ///
    /// # Safety
    /// `a`, `b`, `c` and device scalars must be readable and `d` writable. `d` must overlap neither
    /// `a` nor `b`, and may only overlap `c` by being the same matrix.
    pub unsafe fn run(&self, finish: Option<FinishColumn<'_>>) -> Result {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let done = self.compute(finish);
            if done.is_err() {
                self.fill_with_nan();
            }
            done
        }
    }

    /// Fills the result with NaN, so that it is not mistaken for a valid one.
    ///
    /// # Safety
    /// See `run`.
    unsafe fn fill_with_nan(&self) {
        for column in 0..self.n {
            for row in 0..self.m {
                // SAFETY: the element is in `d`, which is writable, as the caller promises.
                unsafe { self.d.set(row, column, f64::NAN) };
            }
        }
    }

    /// # Safety
    /// See `run`.
    unsafe fn compute(&self, finish: Option<FinishColumn<'_>>) -> Result {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.compute {
                // No epilogue supports complex numbers.
                _ if self.d.ty.is_complex() && finish.is_some() => {
                    Err(Rejection::unsupported("epilogues only support real numbers"))
                }
                Compute::F64 if self.d.ty.is_complex() => {
                    self.run_in_type(None, no_finish::<c64>())
                }
                _ if self.d.ty.is_complex() => self.run_in_type(None, no_finish::<c32>()),
                Compute::F64 => self.run_in_type::<f64>(
                    None,
                    finish.map(|finish| {
                        move |column: usize, values: &mut [f64]| {
                            finish(column, Column::F64(values));
                        }
                    }),
                ),
                Compute::F32(_) | Compute::F16 => {
                    self.run_in_type::<f32>(TensorCores::for_product(self), in_f32(finish))
                }
            }
        }
    }

    /// # Safety
    /// See `run`.
    unsafe fn run_in_type<T: Number>(
        &self,
        tensor_cores: Option<TensorCores>,
        mut finish: Option<impl FnMut(usize, &mut [T])>,
    ) -> Result {
        let (m, n) = (self.m, self.n);
        if m == 0 || n == 0 {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        let scalars: (T, T) = unsafe { (self.alpha.get(), self.beta.get()) };
        if finish.is_none() && tensor_cores.is_none() && self.split.parts == 1 {
            let replaces = scalars.1 == T::default() || self.c == self.d;
            let computes = self.k > 0 && scalars.0 != T::default();
            // SAFETY: guaranteed by the caller.
            if replaces && computes && unsafe { self.multiply_directly(self.d, scalars)? } {
                return Ok(());
            }
        }
        let columns = self.panel_columns();
        let mut result = Scratch::new(m.saturating_mul(columns))?;
        for first in (0..n).step_by(columns) {
            let [b, c, d] = [self.b, self.c, self.d].map(|view| view.from(0, first));
            let panel = Self { n: columns.min(n - first), b, c, d, ..*self };
            let result = &mut result[..m * panel.n];
            // SAFETY: the columns are inside the matrices, which are valid, as the caller promises.
            unsafe { panel.multiply::<T>(result, tensor_cores, scalars)? };
            if let Some(finish) = &mut finish {
                let all = result.chunks_exact_mut(m).enumerate();
                all.for_each(|(column, values)| finish(first + column, values));
            }
            let (d, length) = d.without_gaps(m);
            for_each_line(result, length, true, |column, values| {
                // SAFETY: as above.
                unsafe { d.write_column(column, values) };
            });
        }
        Ok(())
    }

    /// Computes `result = alpha · a · b + beta · c` stored column by column without gaps.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// See `run`. `result` must have `m · n` elements.
    pub(crate) unsafe fn multiply<T: Number>(
        &self,
        result: &mut [T],
        tensor_cores: Option<TensorCores>,
        (alpha, beta): (T, T),
    ) -> Result {
        let zero = T::default();
        if beta != zero {
            let (c, length) = self.c.without_gaps(self.m);
            for_each_line(result, length, true, |column, values| {
                // SAFETY: the whole column is inside `c`, which is readable, as the caller
                // promises.
                unsafe { c.read_column(column, values) };
            });
        }
        if self.k == 0 || alpha == zero {
            if beta == zero {
                result.fill(zero);
            } else if beta != T::from_f32(1.0) {
                result.iter_mut().for_each(|value| *value = beta * *value);
            }
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.split.parts > 1 {
                return self.multiply_split(result, tensor_cores, (alpha, beta));
            }
            let target = View::new(result.as_mut_ptr() as u64, T::TYPE, (1, self.m as isize));
            let Some(tensor_cores) = tensor_cores else {
                if self.multiply_directly(target, (alpha, beta))? {
                    return Ok(());
                }
                return self.multiply_in_tiles(result, (alpha, beta));
            };
            tensor_cores.multiply(self, target, (alpha.parts().0 as f32, beta.parts().0 as f32))
        }
    }
}

fn no_finish<T>() -> Option<fn(usize, &mut [T])> {
    None
}

fn in_f32(finish: Option<FinishColumn<'_>>) -> Option<impl FnMut(usize, &mut [f32])> {
    finish
        .map(|finish| move |column: usize, values: &mut [f32]| finish(column, Column::F32(values)))
}
