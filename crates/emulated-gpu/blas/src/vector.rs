//! Vector kernels for [thin products](crate::thin). Device memory is accessed by inline assembly,
//! each word at once, as in [`words`](crate::words).

#![allow(unsafe_code, reason = "operands are raw device memory")]

/// The number of columns of the result that `multiply` computes together.
pub(crate) const COLUMNS: usize = 4;

/// Kernels that multiply a matrix directly from device memory.
#[derive(Clone, Copy, Debug)]
pub struct Kernels<T> {
    /// The dot product of a contiguous row and a vector of the same length.
    pub(crate) dot: unsafe fn(*const T, &[T]) -> T,
    /// Computes `target = alpha · a · b + beta · target` for some rows. `a` is the first element of
    /// a contiguous column, with the distance between columns; `b` has a row of [`COLUMNS`] factors
    /// for each column of `a`.
    pub(crate) multiply: Multiply<T>,
}

type Multiply<T> = unsafe fn((*const T, isize), &[[T; COLUMNS]], usize, Target<T>);

/// Up to [`COLUMNS`] columns of a result, with the scaling that is applied to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<T> {
    pub(crate) first: *mut T,
    /// The distance in elements between adjacent columns.
    pub(crate) step: isize,
    pub(crate) columns: usize,
    /// The factor of the product.
    pub(crate) alpha: T,
    /// The factor of the old values; if it is 0, they are not read.
    pub(crate) beta: T,
}

impl<T> Target<T> {
    /// # Safety
    /// The columns must have at least `rows` rows.
    unsafe fn after_rows(self, rows: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        Self { first: unsafe { self.first.add(rows) }, ..self }
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
                    /// The number of independent sums of a row, and of vectors in a column tile.
                    /// There are several because an addition takes four cycles.
                    const UNROLL: usize = 4;

                    /// # Safety
                    /// A whole vector of elements must be readable.
                    $(#[target_feature(enable = $has)])+
                    #[inline]
                    unsafe fn load_vector(at: *const $ty) -> $vector {
                        let vector;
                        // SAFETY: the vector is readable, as the caller promises; the instruction
                        // accesses no other memory.
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
                        // SAFETY: the rows are inside both matrices, which are valid, as the caller
                        // promises.
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

                    /// Computes as many rows as `V` vectors have lanes; their sums stay in
                    /// registers. If `V` is 1, only computes the first `lanes` rows. Returns the
                    /// number of rows.
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
                        // SAFETY: guaranteed by the caller.
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
                            // SAFETY: guaranteed by the caller.
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
                        // SAFETY: the vector is writable, as the caller promises; the instruction
                        // accesses no other memory.
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
