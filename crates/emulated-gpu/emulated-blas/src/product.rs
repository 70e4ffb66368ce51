//! `d = alpha · a · b + beta · c`, on all cores, by the crate `gemm`, or as tensor cores do it.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use gemm::{Parallelism, c32, c64};
use rayon::prelude::*;

use crate::tensor_cores::Units;
use crate::{Compute, Number, Order, Rejection, Scalar, Split, View, filled, room};

/// Elements below which converting an operand on several threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 16;

/// A column of the result before it is stored, in the type it was computed in.
#[derive(Debug)]
pub enum Column<'column> {
    /// Computed in single precision.
    F32(&'column mut [f32]),
    /// Computed in double precision.
    F64(&'column mut [f64]),
}

/// Gets every column of a result, in order, with its number.
pub type Finish<'finish> = &'finish mut dyn FnMut(usize, Column<'_>);

/// A product. All sizes may be 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Rows of `a`, `c` and `d`.
    pub m: usize,
    /// Columns of `b`, `c` and `d`.
    pub n: usize,
    /// Columns of `a`, rows of `b`.
    pub k: usize,
    /// `[m, k]`, transposed already where it has to be.
    pub a: View,
    /// `[k, n]`, transposed already where it has to be.
    pub b: View,
    /// `[m, n]`; not read where `beta` is 0.
    pub c: View,
    /// `[m, n]`; may be `c`.
    pub d: View,
    /// Scales the product. Where it is 0, `a` and `b` are not read.
    pub alpha: Scalar,
    /// Scales `c`.
    pub beta: Scalar,
    /// In what is multiplied and summed. The fast types allow tensor cores and do not demand them:
    /// inputs are rounded only where they are used ([`tensor_cores`](crate::tensor_cores)).
    pub compute: Compute,
    /// The compute capability of the card, as 90 for 9.0: by whose rules tensor cores add.
    pub capability: u32,
    /// Whether its sums are split.
    pub split: Split,
}

impl Product {
    /// `c = a · b` of sizes `[m, n, k]`, neither scaled nor added, of sums that are not split.
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

    /// The same with rows for columns: `dᵀ = alpha · bᵀ · aᵀ + beta · cᵀ`.
    #[must_use]
    pub fn transposed(self) -> Self {
        let [a, b, c, d] = [self.b, self.a, self.c, self.d].map(View::transposed);
        Self { m: self.n, n: self.m, a, b, c, d, ..self }
    }

    /// Finds out whether the host has the room for what lies between operands and result, so that a
    /// call is refused and not its work given up.
    ///
    /// # Errors
    /// When it has not.
    pub fn check_room(&self) -> Result<(), Rejection> {
        let ty = self.compute.sums_in(self.a.ty);
        let operand = |view: View, elements: usize| {
            if view.ty == ty && !view.is_conjugated { 0 } else { elements }
        };
        let count = |rows: usize, columns: usize| rows.saturating_mul(columns);
        let (m, n, k) = (self.m, self.n, self.k);
        let copies = if Units::of(self).is_some() {
            Units::elements([m, n, k])
        } else {
            operand(self.a, count(m, k)).saturating_add(operand(self.b, count(k, n)))
        };
        // What finishes columns may need the result beside itself.
        let result = if self.d.ty == ty && self.d.row == 1 { 0 } else { count(m, n) };
        let elements = copies.saturating_add(result);
        // The system's allocator answers at once; nothing is touched.
        room::<u8>(elements.saturating_mul(ty.size() as usize)).map(drop)
    }

    /// Computes it. `finish`, where there is one, gets every column before it is stored, in order.
    ///
    /// # Errors
    /// When the host has not the room for what lies between operands and result, which is then NaN.
    ///
    /// # Safety
    /// `a`, `b`, `c` and device scalars have to be readable, `d` writable, and `d` overlaps
    /// neither `a` nor `b`; it overlaps `c` only by being it.
    pub unsafe fn run(&self, finish: Option<Finish<'_>>) -> Result<(), Rejection> {
        // SAFETY: the caller's promise.
        unsafe {
            let done = self.compute(finish);
            if done.is_err() {
                self.spoil();
            }
            done
        }
    }

    /// Writes NaN for all of the result, so that nobody takes it for one.
    ///
    /// # Safety
    /// As of `run`.
    unsafe fn spoil(&self) {
        for column in 0..self.n {
            for row in 0..self.m {
                // SAFETY: the caller's promise: the element is in `d`.
                unsafe { self.d.set(row, column, f64::NAN) };
            }
        }
    }

    /// # Safety
    /// As of `run`.
    unsafe fn compute(&self, finish: Option<Finish<'_>>) -> Result<(), Rejection> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.compute {
                // Nothing that finishes columns takes them of complex numbers.
                _ if self.d.ty.is_complex() && finish.is_some() => Err(Rejection::unsupported(
                    "what is done with the columns of a result goes with real numbers",
                )),
                Compute::F64 if self.d.ty.is_complex() => self.run_in(None, no_finish::<c64>()),
                _ if self.d.ty.is_complex() => self.run_in(None, no_finish::<c32>()),
                Compute::F64 => self.run_in::<f64>(
                    None,
                    finish.map(|finish| {
                        move |column: usize, values: &mut [f64]| {
                            finish(column, Column::F64(values));
                        }
                    }),
                ),
                Compute::F32(_) | Compute::F16 => {
                    self.run_in::<f32>(Units::of(self), in_f32(finish))
                }
            }
        }
    }

    /// # Safety
    /// As of `run`.
    unsafe fn run_in<T: Number>(
        &self,
        units: Option<Units>,
        mut finish: Option<impl FnMut(usize, &mut [T])>,
    ) -> Result<(), Rejection> {
        let (m, n) = (self.m, self.n);
        if m == 0 || n == 0 {
            return Ok(());
        }
        // Straight into `d` where it is of the type that is computed in; what finishes columns
        // needs them in one piece.
        let direct = self.d.ty == T::TYPE && (finish.is_none() || self.d.row == 1);
        let mut scratch =
            if direct { Vec::new() } else { filled(T::default(), m.saturating_mul(n))? };
        let target = if direct {
            self.d
        } else {
            let address = scratch.as_mut_ptr() as u64;
            View::new(address, T::TYPE, (1, m as isize))
        };
        // SAFETY: the caller's promise; `target` is `d`, or the scratch memory of `m · n` elements.
        unsafe {
            self.multiply::<T>(target, units)?;
            for column in 0..n {
                if let Some(finish) = &mut finish {
                    let first = (target.address as *mut T).offset(column as isize * target.column);
                    finish(column, std::slice::from_raw_parts_mut(first, m));
                }
                if !direct {
                    for row in 0..m {
                        self.d.set(row, column, target.get::<T>(row, column));
                    }
                }
            }
        }
        Ok(())
    }

    /// `target = alpha · a · b + beta · c`, where `target` is of type `T`.
    ///
    /// # Safety
    /// As of `run`, with `target` for `d`.
    pub(crate) unsafe fn multiply<T: Number>(
        &self,
        target: View,
        units: Option<Units>,
    ) -> Result<(), Rejection> {
        let (m, n, k) = (self.m, self.n, self.k);
        // SAFETY: the caller's promise.
        let (alpha, beta): (T, T) = unsafe { (self.alpha.get(), self.beta.get()) };
        let zero = T::default();
        let one = T::from_f32(1.0);
        let no_product = k == 0 || alpha == zero;
        // SAFETY: the caller's promise; indices stay below `m` and `n`. The operands handed to
        // `gemm` are the views the caller vouches for, or packed copies with all their elements.
        unsafe {
            if beta != zero && self.c != target {
                for column in 0..n {
                    for row in 0..m {
                        target.set(row, column, self.c.get::<T>(row, column));
                    }
                }
            }
            if no_product {
                for column in 0..n {
                    for row in 0..m {
                        let kept = if beta == zero {
                            zero
                        } else if beta == one {
                            continue;
                        } else {
                            beta * target.get::<T>(row, column)
                        };
                        target.set(row, column, kept);
                    }
                }
                return Ok(());
            }
            if self.split.parts > 1 {
                return self.multiply_in_parts(target, units, (alpha, beta));
            }
            if let Some(units) = units {
                let scalars = (alpha.parts().0 as f32, beta.parts().0 as f32);
                return units.multiply(self, target, scalars);
            }
            let a = Operand::new(self.a, m, k)?;
            let b = Operand::new(self.b, k, n)?;
            if !gemm_runs_here() {
                let (a, b) = ((a.pointer(), a.row, a.column), (b.pointer(), b.row, b.column));
                let c = (target.address as *mut T, target.row, target.column);
                T::multiply([m, n, k], alpha, a, b, beta, c);
                return Ok(());
            }
            gemm::gemm(
                m,
                n,
                k,
                target.address as *mut T,
                target.column,
                target.row,
                beta != zero,
                a.pointer(),
                a.column,
                a.row,
                b.pointer(),
                b.column,
                b.row,
                beta,
                alpha,
                false,
                false,
                false,
                Parallelism::Rayon(0),
            );
        }
        Ok(())
    }
}

/// Whether `gemm` has code for this processor. Version 0.19 takes FMA for AVX2, and AVX-512's
/// foundation for all of it; where one goes without the other (AMD's Piledriver, Intel's Knights
/// Landing) it panics, and `matrixmultiply` takes its place.
fn gemm_runs_here() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let all_of_avx512 =
            || has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl");
        (!has!("fma") || has!("avx2")) && (!has!("avx512f") || all_of_avx512())
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}

fn no_finish<T>() -> Option<fn(usize, &mut [T])> {
    None
}

fn in_f32(finish: Option<Finish<'_>>) -> Option<impl FnMut(usize, &mut [f32])> {
    finish
        .map(|finish| move |column: usize, values: &mut [f32]| finish(column, Column::F32(values)))
}

/// `a` or `b` in the type that is computed in: where it lies, or a converted copy.
struct Operand<T> {
    address: u64,
    row: isize,
    column: isize,
    /// The copy, kept for as long as its address is used.
    copy: Option<Vec<T>>,
}

impl<T: Number> Operand<T> {
    /// # Safety
    /// The view's `rows · columns` elements have to be readable.
    unsafe fn new(view: View, rows: usize, columns: usize) -> Result<Self, Rejection> {
        if view.ty == T::TYPE && !view.is_conjugated {
            let View { address, row, column, .. } = view;
            return Ok(Self { address, row, column, copy: None });
        }
        // In the order in which it lies in memory, line by line.
        let (lines, length, along) = match view.order() {
            Order::Column => (columns, rows, view),
            Order::Row => (rows, columns, view.transposed()),
        };
        let mut copy = filled(T::default(), rows.saturating_mul(columns))?;
        let fill = |(line, values): (usize, &mut [T])| {
            for (index, value) in values.iter_mut().enumerate() {
                // SAFETY: the caller's promise: `index` and `line` are inside the view.
                *value = unsafe { along.get::<T>(index, line) };
            }
        };
        debug_assert_eq!(copy.len(), lines * length);
        if copy.len() < WORTH_SHARING {
            copy.chunks_mut(length.max(1)).enumerate().for_each(fill);
        } else {
            copy.par_chunks_mut(length).enumerate().for_each(fill);
        }
        let length = length as isize;
        let (row, column) = match view.order() {
            Order::Column => (1, length),
            Order::Row => (length, 1),
        };
        Ok(Self { address: copy.as_ptr() as u64, row, column, copy: Some(copy) })
    }

    fn pointer(&self) -> *const T {
        self.copy.as_ref().map_or(self.address as *const T, |copy| copy.as_ptr())
    }
}
