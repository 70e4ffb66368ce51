//! Inner products of `mma` that the ISA says all of: integers, bits, double precision. A row of `a`, eight
//! columns of `b`. How narrow floating-point factors are added is the crate `tensor_core`'s.

use tensor_core::COLUMNS;

use super::float::fma;
use crate::program::{FloatMode, Type};

/// `c[n] + Σ a[k]·b[k][n]` of factors of up to 9 bits, 256 at most. With `saturate` the sum is limited to
/// what 32 bits hold, else its low bits stay; the products themselves always fit.
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

/// `c[n]` and how many bits are left of words after `xor`, or after `and`.
#[inline(always)]
pub(crate) fn bits(a: &[u32], b: &[[u32; COLUMNS]], c: &mut [i32; COLUMNS], xor: bool) {
    for (a, b) in a.iter().zip(b) {
        for n in 0..COLUMNS {
            let left = if xor { a ^ b[n] } else { a & b[n] };
            c[n] = c[n].wrapping_add(left.count_ones() as i32);
        }
    }
}

/// `c[n] + Σ a[k]·b[k][n]` in double precision: one fused multiply-add after another, from the first
/// factors on, as it was measured on a 9.0 (the ISA leaves the order open).
pub(crate) fn doubles(a: &[u64], b: &[[u64; COLUMNS]], c: &mut [u64; COLUMNS], mode: FloatMode) {
    for (&a, b) in a.iter().zip(b) {
        for n in 0..COLUMNS {
            c[n] = fma(mode, Type::F64, a, b[n], c[n]);
        }
    }
}
