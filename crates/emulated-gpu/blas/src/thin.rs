//! Thin products, computed without copying the larger matrix: its elements are used so rarely that
//! a copy would take longer than the product. This module decides which products are computed in
//! this way, and divides them into parts for the processor's [`Kernels`].

#![allow(unsafe_code, reason = "operands are raw device memory")]

use rayon::prelude::*;

use crate::product::Product;
use crate::scratch::Scratch;
use crate::tiles::threads;
use crate::vector::{COLUMNS, Kernels, Target};
use crate::{Number, Result, View};

/// The number of multiply-adds below which several threads cost more than they save.
const MIN_PARALLEL_WORK: usize = 1 << 18;
/// The number of columns of the matrix that are read in parallel if each element is used once: the
/// processor can't prefetch many more streams.
const STREAMS: usize = 8;
/// The maximum number of columns of the result, or of terms in its sums, for which a copy of the
/// matrix doesn't pay off.
const MAX_DIRECT: usize = 32;
/// The maximum number of columns of the result for which dot products of rows are faster than a
/// copy of the matrix.
const MAX_DOT_COLUMNS: usize = 8;
/// The number of elements in a piece of the matrix that stays in a core's cache while all columns
/// use it.
const PIECE: usize = 1 << 16;
/// The maximum number of terms of a sum that are added in one pass, which limits the copy of `b`.
const MAX_DEPTH: usize = 1 << 13;
/// The maximum number of elements of `b` that are copied at a time.
const MAX_FACTORS: usize = 1 << 18;
/// The number of rows in a piece is a multiple of this number, so that it consists of whole tiles
/// of the widest vectors.
const ROWS: usize = 64;

impl Product {
    /// Computes `target = alpha · a · b + beta · target` without copying the larger matrix, if that
    /// pays off: the matrix is stored in the type of the computation, and each of its elements is
    /// multiplied only a few times. Returns whether it was computed.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// `a` and `b` must be readable, and `target`'s `m · n` elements writable.
    pub(crate) unsafe fn multiply_directly<T: Number>(
        &self,
        target: View,
        scalars: (T, T),
    ) -> Result<bool> {
        let Some(kernels) = T::kernels().filter(|_| target.ty == T::TYPE) else { return Ok(false) };
        for (product, target) in [(*self, target), (self.transposed(), target.transposed())] {
            let (m, n, k, a) = (product.m, product.n, product.k, product.a);
            if a.ty != T::TYPE {
                continue;
            }
            // SAFETY: guaranteed by the caller.
            unsafe {
                if a.row == 1 && target.row == 1 && m >= ROWS && n.min(k) <= MAX_DIRECT {
                    let part = |part: Self, to, scalars| part.add_columns(kernels, to, scalars);
                    return product.for_each_part(target, scalars, part).map(|()| true);
                }
                if a.column == 1 && n <= MAX_DOT_COLUMNS {
                    let part = |part: Self, to, scalars| part.add_dots(kernels, to, scalars);
                    return product.for_each_part(target, scalars, part).map(|()| true);
                }
            }
        }
        Ok(false)
    }

    /// The sizes of a part of the product, `(columns, terms)`, whose copy of `b` is limited.
    fn part_sizes(&self) -> (usize, usize) {
        let depth = self.k.clamp(1, MAX_DEPTH);
        ((MAX_FACTORS / depth).min(self.n.max(1)), depth)
    }

    /// The maximum number of elements that [`Product::multiply_directly`] copies at a time.
    pub(crate) fn direct_elements(&self) -> usize {
        let copied = |product: &Self| {
            let (columns, depth) = product.part_sizes();
            depth * (columns.next_multiple_of(COLUMNS) + 1)
        };
        copied(self).max(copied(&self.transposed()))
    }

    /// Calls a function with each part of the product, its target, and its `alpha` and `beta`.
    ///
    /// # Errors
    /// The errors of the function.
    fn for_each_part<T: Number>(
        &self,
        target: View,
        (alpha, beta): (T, T),
        compute: impl Fn(Self, View, (T, T)) -> Result,
    ) -> Result {
        let (columns, depth) = self.part_sizes();
        for first in (0..self.n).step_by(columns) {
            for from in (0..self.k).step_by(depth) {
                let part = Self {
                    n: columns.min(self.n - first),
                    k: depth.min(self.k - from),
                    a: self.a.from(0, from),
                    b: self.b.from(from, first),
                    ..*self
                };
                let beta = if from == 0 { beta } else { T::from_f32(1.0) };
                compute(part, target.from(0, first), (alpha, beta))?;
            }
        }
        Ok(())
    }

    /// Computes each element of the target as the dot product of a contiguous row of `a` and a
    /// column of `b`.
    ///
    /// # Errors
    /// See [`Product::multiply_directly`].
    ///
    /// # Safety
    /// See [`Product::multiply_directly`].
    unsafe fn add_dots<T: Number>(
        &self,
        kernels: Kernels<T>,
        target: View,
        (alpha, beta): (T, T),
    ) -> Result {
        let (m, n, k, a) = (self.m, self.n, self.k, self.a);
        let mut columns = Scratch::<T>::new(k.saturating_mul(n))?;
        for (j, column) in columns.chunks_exact_mut(k).enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.b.read_column(j, column) };
        }
        for_each_row_range(m, m.div_ceil(self.useful_threads()), |rows| {
            for row in rows {
                let values = a.from(row, 0).address as *const T;
                for (j, column) in columns.chunks_exact(k).enumerate() {
                    // SAFETY: the row is inside `a` and the target, which are valid, as the caller
                    // promises.
                    unsafe {
                        let old =
                            if beta == T::default() { beta } else { beta * target.get(row, j) };
                        target.set(row, j, alpha * (kernels.dot)(values, column) + old);
                    }
                }
            }
        });
        Ok(())
    }

    /// Computes each column of the target as a sum of contiguous columns of `a`.
    ///
    /// # Errors
    /// See [`Product::multiply_directly`].
    ///
    /// # Safety
    /// See [`Product::multiply_directly`]; the elements of a target column must be contiguous.
    unsafe fn add_columns<T: Number>(
        &self,
        kernels: Kernels<T>,
        target: View,
        (alpha, beta): (T, T),
    ) -> Result {
        let (m, n, k, a) = (self.m, self.n, self.k, self.a);
        let mut column = Scratch::<T>::new(k)?;
        let mut factors = Scratch::<T>::new(k.saturating_mul(n.next_multiple_of(COLUMNS)))?;
        factors.fill(T::default());
        for j in 0..n {
            // SAFETY: guaranteed by the caller.
            unsafe { self.b.read_column(j, &mut column) };
            let group = &mut factors[j / COLUMNS * COLUMNS * k..];
            for (row, &value) in group.chunks_exact_mut(COLUMNS).zip(&*column) {
                row[j % COLUMNS] = value;
            }
        }
        let rows = if n <= COLUMNS { m } else { PIECE / k };
        let rows = m.div_ceil(self.useful_threads()).min(rows).next_multiple_of(ROWS);
        let depth = if n <= COLUMNS { STREAMS } else { k };
        for_each_row_range(m, rows, |rows| {
            for (group, factors) in factors.chunks_exact(k * COLUMNS).enumerate() {
                let (factors, _) = factors.as_chunks();
                let first = group * COLUMNS;
                let part = target.from(rows.start, first).address as *mut T;
                let columns = COLUMNS.min(n - first);
                let mut part = Target { first: part, step: target.column, columns, alpha, beta };
                for (index, factors) in factors.chunks(depth).enumerate() {
                    let a = a.from(rows.start, index * depth);
                    // SAFETY: the rows are inside `a` and the target, which are valid, as the
                    // caller promises.
                    unsafe {
                        (kernels.multiply)(
                            (a.address as *const T, a.column),
                            factors,
                            rows.len(),
                            part,
                        );
                    }
                    part.beta = T::from_f32(1.0);
                }
            }
        });
        Ok(())
    }

    /// The number of threads that make this product faster.
    fn useful_threads(&self) -> usize {
        let work = self.m.saturating_mul(self.n).saturating_mul(self.k);
        if work >= MIN_PARALLEL_WORK { threads() } else { 1 }
    }
}

/// Calls a function with the row range of each piece, on several threads if there are several
/// pieces.
fn for_each_row_range(m: usize, rows: usize, piece: impl Fn(std::ops::Range<usize>) + Sync) {
    if rows < m && threads() > 1 {
        (0..m.div_ceil(rows))
            .into_par_iter()
            .for_each(|index| piece(index * rows..m.min((index + 1) * rows)));
    } else {
        (0..m).step_by(rows.max(1)).for_each(|first| piece(first..m.min(first + rows)));
    }
}
