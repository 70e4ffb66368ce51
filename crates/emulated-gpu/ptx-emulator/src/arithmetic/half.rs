//! f16 and bf16 arithmetic, rounded once to nearest, using the host's double precision.
//!
//! A product of two halves is exact in double precision, as is a sum of two f16. A sum of two bf16
//! may not be, but a double has more than twice the significant bits of a bf16 plus two, so
//! rounding twice is harmless (Figueroa, "When is double rounding innocuous?"). This isn't true for
//! multiply-adds: their sum is rounded to odd, so that the last bit shows whether digits were lost;
//! then rounding to fewer digits is correct (Boldo and Melquiond, "Emulation of FMA and correctly
//! rounded sums").
//!
//! NaN results are 0x7fff, the canonical NaN of both formats. Subnormal numbers are supported.

use super::convert::{bf16_to_f32, f16_to_f32};

/// Declares the arithmetic of a format: its conversion to `f32`, its number of fraction bits, and
/// its exponent bias.
macro_rules! arithmetic {
    ($($add:ident, $mul:ident, $fma:ident: $to_f32:ident, $fraction:literal, $bias:literal;)*) => {$(
        #[inline(always)]
        pub(crate) fn $add(a: u16, b: u16) -> u16 {
            round::<$fraction, $bias>(f64::from($to_f32(a)) + f64::from($to_f32(b)))
        }

        #[inline(always)]
        pub(crate) fn $mul(a: u16, b: u16) -> u16 {
            round::<$fraction, $bias>(f64::from($to_f32(a)) * f64::from($to_f32(b)))
        }

        /// A multiply-add with one rounding.
        #[inline(always)]
        pub(crate) fn $fma(a: u16, b: u16, c: u16) -> u16 {
            let product = f64::from($to_f32(a)) * f64::from($to_f32(b));
            round::<$fraction, $bias>(add_to_odd(product, f64::from($to_f32(c))))
        }
    )*};
}

arithmetic! {
    add_f16, mul_f16, fma_f16: f16_to_f32, 10, 15;
    add_bf16, mul_bf16, fma_bf16: bf16_to_f32, 7, 127;
}

/// The sum rounded to odd: if it is inexact, the neighbour whose last bit is set.
#[inline(always)]
fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's TwoSum: the exact rounding error of the addition. It is NaN if the sum is infinite or
    // NaN, and comparisons with NaN are false.
    let b_part = sum - a;
    let lost = (a - (sum - b_part)) + (b - b_part);
    let bits = sum.to_bits();
    if lost.abs() > 0.0 && bits & 1 == 0 {
        let away = (lost > 0.0) == (sum > 0.0);
        f64::from_bits(if away { bits + 1 } else { bits - 1 })
    } else {
        sum
    }
}

/// Rounds to the nearest number with `FRACTION` bits of fraction and the given exponent bias, as 16
/// bits.
#[inline(always)]
fn round<const FRACTION: u32, const BIAS: u64>(x: f64) -> u16 {
    let infinity = 0x7fff_u64 >> FRACTION << FRACTION;
    let magnitude = x.abs();
    let bits = magnitude.to_bits();
    let min_normal = f64::from_bits((1023 + 1 - BIAS) << 52);
    let rounded = if x.is_nan() {
        return 0x7fff;
    } else if magnitude < min_normal {
        // The last bit of this sum has the weight of a subnormal number's last bit, so the addition
        // rounds at the right place.
        let unit = f64::from_bits((1023 + 1 - BIAS + 52 - FRACTION as u64) << 52);
        (magnitude + unit).to_bits() - unit.to_bits()
    } else {
        // Round to nearest even: add half a unit of the last kept bit, or one less if that bit is
        // 0.
        let shift = 52 - FRACTION;
        let bits = bits - ((1023 - BIAS) << 52);
        ((bits + (1 << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift).min(infinity)
    };
    rounded as u16 | (x.to_bits() >> 48 & 0x8000) as u16
}
