//! A matrix times a vector, from where the matrix is: each of its elements is used once, so a copy would take
//! longer than the product. The elements are loaded by instructions written out, each word at once, as
//! [`words`](crate::words) does it.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use rayon::prelude::*;

use crate::product::Product;
use crate::scratch::Scratch;
use crate::tiles::threads;
use crate::{Number, Order, Rejection};

/// Elements of a matrix below which several threads cost more than they save.
const WORTH_SHARING: usize = 1 << 18;
/// Rows that a thread computes, at least: as long is a piece of a column that is read at once.
const MIN_ROWS: usize = 512;

/// The two ways through a matrix in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Kernels<T> {
    /// The sum of the products of a row, whose elements lie next to each other, and of a vector as long.
    dot: unsafe fn(*const T, &[T]) -> T,
    /// Adds columns to a vector as long, in order, each times its factor. Elements of a column lie next to each
    /// other, columns as far apart as is told.
    add_columns: unsafe fn((*const T, isize), &[T], &mut [T]),
}

impl Product {
    /// The kernels for this product, if it is that of a matrix that lies in memory as it is computed, and of a vector.
    pub(crate) fn vector_kernels<T: Number>(&self) -> Option<Kernels<T>> {
        let a = self.a;
        let suits = self.n == 1 && a.ty == T::TYPE && (a.row == 1 || a.column == 1);
        if suits { T::kernels() } else { None }
    }

    /// `result = alpha · a · b + beta · result`, where `b` and `result` are a column.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// `a` and `b` have to be readable; `result` has `m` elements.
    pub(crate) unsafe fn multiply_vector<T: Number>(
        &self,
        kernels: Kernels<T>,
        result: &mut [T],
        (alpha, beta): (T, T),
    ) -> Result<(), Rejection> {
        let a = self.a;
        let mut x = Scratch::<T>::new(self.k)?;
        // SAFETY: the caller's promise.
        unsafe { self.b.read_column(0, &mut x) };
        x.iter_mut().for_each(|x| *x = alpha * *x);
        let x = &*x;
        let is_large = self.m.saturating_mul(self.k) >= WORTH_SHARING;
        let threads = if is_large { threads() } else { 1 };
        let rows = self.m.div_ceil(threads).max(MIN_ROWS);
        let part = |(index, result): (usize, &mut [T])| {
            let at = |row: usize| a.from(index * rows + row, 0).address as *const T;
            for value in &mut *result {
                *value = if beta == T::default() { beta } else { beta * *value };
            }
            // SAFETY: the caller's promise: the rows, or these parts of all columns, are inside of `a`.
            unsafe {
                match a.order() {
                    Order::Column => (kernels.add_columns)((at(0), a.column), x, result),
                    Order::Row => {
                        for (row, value) in result.iter_mut().enumerate() {
                            *value += (kernels.dot)(at(row), x);
                        }
                    }
                }
            }
        };
        if rows < self.m {
            result.par_chunks_mut(rows).enumerate().for_each(part);
        } else {
            result.chunks_mut(rows).enumerate().for_each(part);
        }
        Ok(())
    }
}

macro_rules! kernels {
    ($module:ident, $ty:ident, $vector:ident, $splat:ident, $load:ident, $store:ident, $add:ident, $fma:ident) => {
        pub(crate) mod $module {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            use x86::{add_columns, dot};

            /// The kernels for this type, if the processor has what they take.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            pub(crate) fn kernels() -> Option<super::Kernels<$ty>> {
                use std::arch::is_x86_feature_detected as has;
                (has!("avx2") && has!("fma")).then_some(super::Kernels { dot, add_columns })
            }

            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            pub(crate) fn kernels() -> Option<super::Kernels<$ty>> {
                None
            }

            #[cfg(all(target_arch = "x86_64", not(miri)))]
            mod x86 {
                use std::arch::asm;
                use std::arch::x86_64::*;

                use crate::words::Word;

                /// Elements of a vector.
                const LANES: usize = size_of::<$vector>() / size_of::<$ty>();
                /// Sums of a row, and columns, that are computed together: an addition takes four cycles.
                const TOGETHER: usize = 4;

                /// # Safety
                /// A vector of elements is readable there.
                #[target_feature(enable = "avx2,fma")]
                #[inline]
                unsafe fn device(at: *const $ty) -> $vector {
                    let vector;
                    // SAFETY: as the caller promises; nothing else is touched.
                    unsafe {
                        asm!(
                            "vmovups {vector}, ymmword ptr [{at}]",
                            vector = lateout(ymm_reg) vector,
                            at = in(reg) at,
                            options(nostack, preserves_flags, readonly),
                        );
                    }
                    vector
                }

                /// # Safety
                /// As `Kernels` has it; the processor has AVX2 and FMA.
                #[target_feature(enable = "avx2,fma")]
                pub(super) unsafe fn dot(row: *const $ty, x: &[$ty]) -> $ty {
                    let mut sums = [$splat(0.0); TOGETHER];
                    let (blocks, rest) = x.as_chunks::<{ TOGETHER * LANES }>();
                    let mut lanes = [0.0; LANES];
                    // SAFETY: the row is as long as `x`, and the arrays are of whole vectors.
                    unsafe {
                        for (index, block) in blocks.iter().enumerate() {
                            let (row, x) = (row.add(index * block.len()), block.as_ptr());
                            sums[0] = $fma(device(row), $load(x), sums[0]);
                            sums[1] = $fma(device(row.add(LANES)), $load(x.add(LANES)), sums[1]);
                            sums[2] = $fma(device(row.add(2 * LANES)), $load(x.add(2 * LANES)), sums[2]);
                            sums[3] = $fma(device(row.add(3 * LANES)), $load(x.add(3 * LANES)), sums[3]);
                        }
                        let sum = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
                        $store(lanes.as_mut_ptr(), sum);
                        let last = row.add(x.len() - rest.len());
                        let terms = rest.iter().enumerate();
                        terms.fold(lanes.iter().sum(), |sum, (index, &x)| {
                            $ty::load(last.add(index).cast()).mul_add(x, sum)
                        })
                    }
                }

                /// # Safety
                /// As `Kernels` has it; the processor has AVX2 and FMA.
                #[target_feature(enable = "avx2,fma")]
                pub(super) unsafe fn add_columns(
                    (first, step): (*const $ty, isize),
                    factors: &[$ty],
                    result: &mut [$ty],
                ) {
                    let (fours, rest) = factors.as_chunks::<TOGETHER>();
                    // SAFETY: there are as many columns as factors, as long as the result.
                    unsafe {
                        for (index, factors) in fours.iter().enumerate() {
                            add(first.offset((index * TOGETHER) as isize * step), step, *factors, result);
                        }
                        for (index, &factor) in rest.iter().enumerate() {
                            let column = first.offset((factors.len() - rest.len() + index) as isize * step);
                            add(column, step, [factor], result);
                        }
                    }
                }

                /// # Safety
                /// As of `add_columns`, of this many.
                #[target_feature(enable = "avx2,fma")]
                #[inline]
                unsafe fn add<const N: usize>(
                    first: *const $ty,
                    step: isize,
                    factors: [$ty; N],
                    result: &mut [$ty],
                ) {
                    let columns: [*const $ty; N] =
                        std::array::from_fn(|index| first.wrapping_offset(index as isize * step));
                    let wide: [$vector; N] = factors.map(|factor| $splat(factor));
                    let whole = result.len() / LANES * LANES;
                    let mut row = 0;
                    // SAFETY: the columns are as long as the result.
                    unsafe {
                        while row < whole {
                            let place = result.as_mut_ptr().add(row);
                            let mut sum = $load(place);
                            for index in 0..N {
                                sum = $fma(device(columns[index].add(row)), wide[index], sum);
                            }
                            $store(place, sum);
                            row += LANES;
                        }
                        for (row, value) in result.iter_mut().enumerate().skip(whole) {
                            for index in 0..N {
                                let element = $ty::load(columns[index].add(row).cast());
                                *value = element.mul_add(factors[index], *value);
                            }
                        }
                    }
                }
            }
        }
    };
}

kernels! { single, f32, __m256, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_fmadd_ps }
kernels! { double, f64, __m256d, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_fmadd_pd }
