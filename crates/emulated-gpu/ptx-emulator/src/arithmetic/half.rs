//! f16 and bf16 to nearest, by way of the host's double precision, with a single rounding.
//!
//! A product of two halves is exact in double precision. So is a sum of two f16; one of two bf16
//! need not be, but a double has more than twice the digits of a bf16 and two more, so that its
//! rounding can't change the next one (Figueroa, "When is double rounding innocuous?"). A
//! multiply-add has no such luck: its sum is rounded to odd, which leaves the last bit as a witness
//! of what was lost, and is then harmless to any shorter rounding (Boldo and Melquiond, "Emulation
//! of FMA and correctly rounded sums").
//!
//! A result that is NaN is 0x7fff, the canonical NaN of both formats. Subnormal numbers count.

use super::convert::{bf16_to_f32, f16_to_f32};

/// Declares the arithmetic of a format: how it becomes an `f32`, how many bits of fraction it has, and its exponent's
/// bias.
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

        /// With one rounding.
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

/// The sum rounded to odd: of the two neighbours of an inexact sum the one whose last bit is set.
#[inline(always)]
fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's TwoSum: what the addition lost, exactly. NaN where the sum is infinite or NaN, and a
    // comparison with NaN is false.
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

/// The nearest number with this many bits of fraction, and its exponent's bias, as 16 bits.
#[inline(always)]
fn round<const FRACTION: u32, const BIAS: u64>(x: f64) -> u16 {
    let infinity = 0x7fff_u64 >> FRACTION << FRACTION;
    let magnitude = x.abs();
    let bits = magnitude.to_bits();
    let least_normal = f64::from_bits((1023 + 1 - BIAS) << 52);
    let rounded = if x.is_nan() {
        return 0x7fff;
    } else if magnitude < least_normal {
        // In this sum the last place of a double is that of the subnormal numbers: it rounds.
        let unit = f64::from_bits((1023 + 1 - BIAS + 52 - FRACTION as u64) << 52);
        (magnitude + unit).to_bits() - unit.to_bits()
    } else {
        // Half of the last place kept, less one where that is even already.
        let shift = 52 - FRACTION;
        let bits = bits - ((1023 - BIAS) << 52);
        ((bits + (1 << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift).min(infinity)
    };
    rounded as u16 | (x.to_bits() >> 48 & 0x8000) as u16
}
