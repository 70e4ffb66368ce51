//! Inner products of `mma` that the ISA fully specifies: integers, bits, double precision; one row
//! of `a` with eight columns of `b`. Sums of narrow floating-point products are in the crate
//! `tensor_core`.

use tensor_core::COLUMNS;

use super::float::fma;
use crate::program::{FloatMode, Type};

/// `c[n] + Σ a[k]·b[k][n]` for up to 256 factors of up to 9 bits. With `saturate` the sum is
/// clamped to 32 bits, otherwise it wraps; the sum of the products always fits.
#[inline(always)]
pub(crate) fn integers(a: &[i32], b: &[[i32; COLUMNS]], c: &mut [i32; COLUMNS], saturate: bool) {
    let mut sums = [0_i32; COLUMNS];
    for (a, b) in a.iter().zip(b) {
        for n in 0..COLUMNS {
            sums[n] = sums[n].wrapping_add(a.wrapping_mul(b[n]));
        }
    }
    for (c, sum) in c.iter_mut().zip(sums) {
        *c = if saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) };
    }
}

/// Adds the number of set bits of `a xor b` (or `a and b`) to `c[n]`.
#[inline(always)]
pub(crate) fn bits(a: &[u32], b: &[[u32; COLUMNS]], c: &mut [i32; COLUMNS], xor: bool) {
    for (a, b) in a.iter().zip(b) {
        for n in 0..COLUMNS {
            let left = if xor { a ^ b[n] } else { a & b[n] };
            c[n] = c[n].wrapping_add(left.count_ones() as i32);
        }
    }
}

/// `c[n] + Σ a[k]·b[k][n]` in double precision: consecutive fused multiply-adds, starting with the
/// first factors, as measured on a 9.0 (the ISA leaves the order open).
pub(crate) fn doubles(a: &[u64], b: &[[u64; COLUMNS]], c: &mut [u64; COLUMNS], mode: FloatMode) {
    for (&a, b) in a.iter().zip(b) {
        for n in 0..COLUMNS {
            c[n] = fma(mode, Type::F64, a, b[n], c[n]);
        }
    }
}
