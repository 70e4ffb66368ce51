//! Thin products, computed without copying the larger matrix: each of its elements is used so
//! rarely that a copy would take longer than the product. Device memory is accessed by inline
//! assembly, each word at once, as in [`words`](crate::words).

#![allow(unsafe_code, reason = "operands are raw device memory")]

use rayon::prelude::*;

use crate::product::Product;
use crate::scratch::Scratch;
use crate::tiles::threads;
use crate::{Number, Rejection, View};

/// The number of multiply-adds below which several threads cost more than they save.
const MIN_PARALLEL_WORK: usize = 1 << 18;
/// The number of columns of the result that `multiply` computes together.
const COLUMNS: usize = 4;
/// The number of columns of the matrix that are read in parallel if each element is used once: the
/// processor can't prefetch many more streams.
const STREAMS: usize = 8;
/// The maximum number of columns of the result, or of terms in its sums, for which a copy of the
/// matrix doesn't pay off.
const MAX_DIRECT: usize = 32;
/// The maximum number of columns of the result for which dot products of rows are faster than a
/// copy of the matrix.
const MAX_DOTS: usize = 8;
/// The number of elements in a piece of the matrix that stays in a core's cache while all columns
/// use it.
const PIECE: usize = 1 << 16;
/// The maximum number of terms of a sum that are added in one pass, which limits the copy of `b`.
const MAX_DEPTH: usize = 1 << 13;
/// The maximum number of elements of `b` that are copied at a time.
const MAX_FACTORS: usize = 1 << 18;
/// The number of rows in a piece is a multiple of this: whole tiles of the widest vectors.
const ROWS: usize = 64;

/// Kernels that multiply a matrix directly from device memory.
#[derive(Clone, Copy, Debug)]
pub struct Kernels<T> {
    /// The dot product of a contiguous row and a vector of the same length.
    dot: unsafe fn(*const T, &[T]) -> T,
    /// Computes `target = alpha · a · b + beta · target` for some rows. `a` is the first element of
    /// a contiguous column, with the distance between columns; `b` has a row of [`COLUMNS`] factors
    /// for each column of `a`.
    multiply: Multiply<T>,
}

type Multiply<T> = unsafe fn((*const T, isize), &[[T; COLUMNS]], usize, Target<T>);

/// Up to [`COLUMNS`] columns of a result.
#[derive(Clone, Copy, Debug)]
struct Target<T> {
    first: *mut T,
    /// The distance in elements between two columns.
    step: isize,
    columns: usize,
    /// The factor of the product.
    alpha: T,
    /// The factor of the old values; if it is 0, they are not read.
    beta: T,
}

impl<T> Target<T> {
    /// # Safety
    /// The columns must have at least `rows` rows.
    unsafe fn after_rows(self, rows: usize) -> Self {
        // SAFETY: the caller's promise.
        Self { first: unsafe { self.first.add(rows) }, ..self }
    }
}

impl Product {
    /// Computes `target = alpha · a · b + beta · target` without copying the larger matrix, if that
    /// pays off: the matrix is stored in the type of the computation, and few products use each of
    /// its elements. Returns whether it was computed.
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
    ) -> Result<bool, Rejection> {
        let Some(kernels) = T::kernels().filter(|_| target.ty == T::TYPE) else { return Ok(false) };
        for (product, target) in [(*self, target), (self.transposed(), target.transposed())] {
            let (m, n, k, a) = (product.m, product.n, product.k, product.a);
            if a.ty != T::TYPE {
                continue;
            }
            // SAFETY: the caller's promise.
            unsafe {
                if a.row == 1 && target.row == 1 && m >= ROWS && n.min(k) <= MAX_DIRECT {
                    let part = |part: Self, to, scalars| part.add_columns(kernels, to, scalars);
                    return product.for_each_part(target, scalars, part).map(|()| true);
                }
                if a.column == 1 && n <= MAX_DOTS {
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
    /// Those of the function.
    fn for_each_part<T: Number>(
        &self,
        target: View,
        (alpha, beta): (T, T),
        compute: impl Fn(Self, View, (T, T)) -> Result<(), Rejection>,
    ) -> Result<(), Rejection> {
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
    ) -> Result<(), Rejection> {
        let (m, n, k, a) = (self.m, self.n, self.k, self.a);
        let mut columns = Scratch::<T>::new(k.saturating_mul(n))?;
        for (j, column) in columns.chunks_exact_mut(k).enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.b.read_column(j, column) };
        }
        for_each_row_range(m, m.div_ceil(self.useful_threads()), |rows| {
            for row in rows {
                let values = a.from(row, 0).address as *const T;
                for (j, column) in columns.chunks_exact(k).enumerate() {
                    // SAFETY: the caller's promise: the row is inside `a` and the target.
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
    ) -> Result<(), Rejection> {
        let (m, n, k, a) = (self.m, self.n, self.k, self.a);
        let mut column = Scratch::<T>::new(k)?;
        let mut factors = Scratch::<T>::new(k.saturating_mul(n.next_multiple_of(COLUMNS)))?;
        factors.fill(T::default());
        for j in 0..n {
            // SAFETY: the caller's promise.
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
                    // SAFETY: the caller's promise: the rows are inside `a` and the target.
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

    /// The number of threads that pay off for this product.
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

/// Defines the kernels of a type for each vector width, widest first.
macro_rules! kernels {
    ($module:ident, $ty:ident; $(
        $width:ident: [$($has:tt)+], $vector:ident, $register:ident, $size:literal,
        $splat:ident, $load:ident, $store:ident, $add:ident, $multiply:ident, $fma:ident;
    )+) => {
        pub(crate) mod $module {
            /// The widest kernels that the processor supports.
            pub(crate) fn kernels() -> Option<super::Kernels<$ty>> {
                $(
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    if true $(&& std::arch::is_x86_feature_detected!($has))+ {
                        let (dot, multiply) = ($width::dot, $width::multiply);
                        return Some(super::Kernels { dot, multiply });
                    }
                )+
                None
            }

            $(
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                mod $width {
                    use std::arch::asm;
                    use std::arch::x86_64::*;

                    use crate::words::Word;

                    use super::super::{COLUMNS, Target};

                    /// The number of elements in a vector.
                    const LANES: usize = size_of::<$vector>() / size_of::<$ty>();
                    /// The number of independent sums of a row, and of vectors in a column tile: an
                    /// addition takes four cycles.
                    const UNROLL: usize = 4;

                    /// # Safety
                    /// A whole vector of elements must be readable.
                    $(#[target_feature(enable = $has)])+
                    #[inline]
                    unsafe fn load_vector(at: *const $ty) -> $vector {
                        let vector;
                        // SAFETY: the caller's promise; the instruction touches nothing else.
                        unsafe {
                            asm!(
                                concat!("vmovups {vector}, ", $size, "word ptr [{at}]"),
                                vector = lateout($register) vector,
                                at = in(reg) at,
                                options(nostack, preserves_flags, readonly),
                            );
                        }
                        vector
                    }

                    /// # Safety
                    /// See [`Kernels`](super::super::Kernels); the processor must have these
                    /// features.
                    $(#[target_feature(enable = $has)])+
                    pub(super) unsafe fn dot(row: *const $ty, x: &[$ty]) -> $ty {
                        let mut sums = [$splat(0.0); UNROLL];
                        let (blocks, rest) = x.as_chunks::<{ UNROLL * LANES }>();
                        let mut lanes = [0.0; LANES];
                        // SAFETY: the row is as long as `x`, and the arrays consist of whole
                        // vectors.
                        unsafe {
                            for (index, block) in blocks.iter().enumerate() {
                                let (row, x) = (row.add(index * block.len()), block.as_ptr());
                                sums[0] = $fma(load_vector(row), $load(x), sums[0]);
                                sums[1] = $fma(load_vector(row.add(LANES)), $load(x.add(LANES)), sums[1]);
                                sums[2] = $fma(load_vector(row.add(2 * LANES)), $load(x.add(2 * LANES)), sums[2]);
                                sums[3] = $fma(load_vector(row.add(3 * LANES)), $load(x.add(3 * LANES)), sums[3]);
                            }
                            let sum = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
                            $store(lanes.as_mut_ptr(), sum);
                            let mut count = LANES;
                            while count > 1 {
                                count /= 2;
                                let (low, high) = lanes.split_at_mut(count);
                                low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
                            }
                            let last = row.add(x.len() - rest.len());
                            let terms = rest.iter().enumerate();
                            terms.fold(lanes[0], |sum, (index, &x)| {
                                $ty::load(last.add(index).cast()).mul_add(x, sum)
                            })
                        }
                    }

                    /// # Safety
                    /// See [`Kernels`](super::super::Kernels); the processor must have these
                    /// features.
                    $(#[target_feature(enable = $has)])+
                    pub(super) unsafe fn multiply(
                        (a, step): (*const $ty, isize),
                        b: &[[$ty; COLUMNS]],
                        rows: usize,
                        target: Target<$ty>,
                    ) {
                        let mut row = 0;
                        // SAFETY: the caller's promise: the rows are inside both matrices.
                        unsafe {
                            while row < rows {
                                let (a, target) = ((a.add(row), step), target.after_rows(row));
                                let left = rows - row;
                                row += match (left >= UNROLL * LANES, target.columns) {
                                    // For a single column, skip the multiplications by the padding
                                    // of `b`.
                                    (true, 1) => tile::<UNROLL, 1>(a, b, target, LANES),
                                    (true, _) => tile::<UNROLL, COLUMNS>(a, b, target, LANES),
                                    (false, _) => tile::<1, COLUMNS>(a, b, target, left.min(LANES)),
                                };
                            }
                        }
                    }

                    /// Computes `V` vectors of rows, whose sums stay in registers; if `V` is 1,
                    /// only the first `lanes` lanes. Returns the number of rows.
                    ///
                    /// # Safety
                    /// See `multiply`.
                    $(#[target_feature(enable = $has)])+
                    #[inline]
                    unsafe fn tile<const V: usize, const N: usize>(
                        (mut a, step): (*const $ty, isize),
                        b: &[[$ty; COLUMNS]],
                        target: Target<$ty>,
                        lanes: usize,
                    ) -> usize {
                        let mut sums = [[$splat(0.0); V]; N];
                        let (alpha, beta) = ($splat(target.alpha), $splat(target.beta));
                        // SAFETY: the caller's promise.
                        unsafe {
                            for factors in b {
                                let mut column = [$splat(0.0); V];
                                for vector in 0..V {
                                    column[vector] = if lanes == LANES {
                                        load_vector(a.add(vector * LANES))
                                    } else {
                                        load_part(a, lanes)
                                    };
                                }
                                for j in 0..N {
                                    let factor = $splat(factors[j]);
                                    for vector in 0..V {
                                        sums[j][vector] = $fma(column[vector], factor, sums[j][vector]);
                                    }
                                }
                                a = a.wrapping_offset(step);
                            }
                            for j in 0..N {
                                if j < target.columns {
                                    for vector in 0..V {
                                        let place = target.first.offset(j as isize * target.step).add(vector * LANES);
                                        let mut sum = $multiply(alpha, sums[j][vector]);
                                        if target.beta != 0.0 {
                                            let old = if lanes == LANES { load_vector(place) } else { load_part(place, lanes) };
                                            sum = $add(sum, $multiply(beta, old));
                                        }
                                        if lanes == LANES {
                                            store_vector(place, sum);
                                        } else {
                                            let mut values = [0.0; LANES];
                                            $store(values.as_mut_ptr(), sum);
                                            for (lane, value) in values.into_iter().enumerate().take(lanes) {
                                                value.store(place.add(lane).cast());
                                            }
                                        }
                                    }
                                }
                            }
                        }
                        if V == 1 { lanes } else { V * LANES }
                    }

                    /// Loads the first `lanes` elements of a vector; the others are 0.
                    ///
                    /// # Safety
                    /// These elements must be readable.
                    $(#[target_feature(enable = $has)])+
                    unsafe fn load_part(at: *const $ty, lanes: usize) -> $vector {
                        let mut values = [0.0; LANES];
                        for (lane, value) in values.iter_mut().enumerate().take(lanes) {
                            // SAFETY: the caller's promise.
                            *value = unsafe { $ty::load(at.add(lane).cast()) };
                        }
                        // SAFETY: the array is a whole vector.
                        unsafe { $load(values.as_ptr()) }
                    }

                    /// # Safety
                    /// A whole vector of elements must be writable.
                    $(#[target_feature(enable = $has)])+
                    #[inline]
                    unsafe fn store_vector(at: *mut $ty, vector: $vector) {
                        // SAFETY: the caller's promise; the instruction touches nothing else.
                        unsafe {
                            asm!(
                                concat!("vmovups ", $size, "word ptr [{at}], {vector}"),
                                vector = in($register) vector,
                                at = in(reg) at,
                                options(nostack, preserves_flags),
                            );
                        }
                    }
                }
            )+
        }
    };
}

kernels! { single, f32;
    avx512: ["avx512f"], __m512, zmm_reg, "zmm",
        _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_fmadd_ps;
    avx2: ["avx2" "fma"], __m256, ymm_reg, "ymm",
        _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_fmadd_ps;
}
kernels! { double, f64;
    avx512: ["avx512f"], __m512d, zmm_reg, "zmm",
        _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_fmadd_pd;
    avx2: ["avx2" "fma"], __m256d, ymm_reg, "ymm",
        _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_mul_pd, _mm256_fmadd_pd;
}
