//! `fma.rn.f32` in WebAssembly, which has no such instruction, for 32 lanes at once: in double precision,
//! and once more, with care, where that could round twice.

#![allow(unsafe_code, reason = "rows of registers are read and written as vectors")]

use std::arch::wasm32::{
    f32x4_abs, f32x4_demote_f64x2_zero, f32x4_le, f32x4_ne, f32x4_splat, f64x2_add, f64x2_mul,
    f64x2_promote_low_f32x4, i32x4_shuffle, i64x2_eq, u32x4_splat, u64x2_splat, v128, v128_and,
    v128_any_true, v128_bitselect, v128_load, v128_or, v128_store,
};

use super::code::Operands;
use super::lane::Lane;
use super::registers::{LANES, Registers};
use crate::arithmetic::host;

/// The digits of an `f64` that an `f32` has not, and what they are half way between two of those.
const BEHIND: u64 = (1 << 29) - 1;
const HALF_WAY: u64 = 1 << 28;

/// Computes on the lanes of a mask.
pub(super) fn rows(registers: &mut Registers, operands: &Operands, mask: u32) {
    let mut out = [0_u32; LANES];
    {
        let a = u32::row(registers, operands.a);
        let b = u32::row(registers, operands.b);
        let c = u32::row(registers, operands.c);
        if doubtful(a, b, c, &mut out) {
            for lane in 0..LANES {
                let [a, b, c] = [a[lane], b[lane], c[lane]].map(f32::from_bits);
                out[lane] = host::fma_f32(a, b, c).to_bits();
            }
        }
    }
    u32::write(registers, operands.d, &out, mask);
}

/// The sums, rounded to `f64` and then to `f32`, NaN as PTX has it. True where that may not be the number
/// that one rounding gives: the `f64` lies half way between two `f32`, so that it matters what was
/// rounded off before; or the result is so small that an `f32` has fewer digits.
#[inline(always)]
fn doubtful(a: &[u32; LANES], b: &[u32; LANES], c: &[u32; LANES], out: &mut [u32; LANES]) -> bool {
    let mut doubt = u32x4_splat(0);
    for lane in (0..LANES).step_by(4) {
        // SAFETY: four words of rows of 32.
        let [a, b, c]: [v128; 3] =
            [a, b, c].map(|row| unsafe { v128_load(row.as_ptr().add(lane).cast()) });
        let high = |x: v128| i32x4_shuffle::<2, 3, 2, 3>(x, x);
        let sum = |a, b, c| {
            let [a, b, c] = [a, b, c].map(|x| f64x2_promote_low_f32x4(x));
            f64x2_add(f64x2_mul(a, b), c)
        };
        let (low, high) = (sum(a, b, c), sum(high(a), high(b), high(c)));
        let between = |sum| i64x2_eq(v128_and(sum, u64x2_splat(BEHIND)), u64x2_splat(HALF_WAY));
        doubt = v128_or(doubt, v128_or(between(low), between(high)));
        let (low, high) = (f32x4_demote_f64x2_zero(low), f32x4_demote_f64x2_zero(high));
        let result = i32x4_shuffle::<0, 1, 4, 5>(low, high);
        let tiny = f32x4_le(f32x4_abs(result), f32x4_splat(f32::MIN_POSITIVE));
        doubt = v128_or(doubt, tiny);
        let nan = f32x4_ne(result, result);
        let result = v128_bitselect(u32x4_splat(0x7fff_ffff), result, nan);
        // SAFETY: as above.
        unsafe { v128_store(out.as_mut_ptr().add(lane).cast(), result) };
    }
    v128_any_true(doubt)
}
