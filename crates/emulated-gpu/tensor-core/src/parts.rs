//! Decoding of factors, and conversion of integer sums to floats.

use crate::format::{Format, nearest_half};
use crate::rules::{Rules, Sum};

/// The exponent of a zero, so small that the exponent of a product with a zero is below the exponent of every other
/// product.
const ZERO_EXPONENT: i32 = -(1 << 20);

/// A decoded number: a sign (0 or −1), and `magnitude · 2^exponent`. The magnitude has as many
/// fraction bits as the format. Subnormal numbers have the smallest exponent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decoded {
    pub(super) exponent: i32,
    pub(super) magnitude: u32,
    pub(super) sign: i32,
}

impl Decoded {
    /// Decodes a finite number that is representable in the format.
    #[inline(always)]
    pub(super) fn new(value: f32, format: Format) -> Self {
        let bits = value.to_bits();
        let field = (bits >> 23 & 0xff) as i32;
        let exponent = field.max(1) - 127;
        let magnitude = bits & 0x007f_ffff | u32::from(field != 0) << 23;
        let kept = exponent.max(format.least_normal_exponent());
        let shift = (23 - format.fraction_bits() as i32).wrapping_add(kept.wrapping_sub(exponent));
        let magnitude = magnitude.wrapping_shr(shift.min(31) as u32);
        let exponent = if magnitude == 0 { ZERO_EXPONENT } else { kept };
        Self { exponent, magnitude, sign: bits as i32 >> 31 }
    }

    /// Aligns the number to the exponent `top`, and truncates it. The unit of the result is the value of the last
    /// fraction bit of a number with that exponent. `shifted` is the number's magnitude with as many fraction bits as
    /// the model uses (`Rules::fraction_bits`).
    #[inline(always)]
    pub(super) fn aligned(top: i32, exponent: i32, shifted: u32, sign: i32) -> i32 {
        let below = top.wrapping_sub(exponent).min(31) as u32;
        let kept = shifted.wrapping_shr(below) as i32;
        (kept ^ sign).wrapping_sub(sign)
    }
}

/// How far the product of two magnitudes is shifted to the left, so that it has as many fraction bits
/// as the model uses (`Rules::fraction_bits`).
#[inline(always)]
pub(super) fn product_shift(rules: &Rules, a: Format, b: Format) -> u32 {
    rules.fraction_bits.saturating_sub(a.fraction_bits() + b.fraction_bits())
}

/// Aligns `c` to the exponent `top`, with the model's number of fraction bits.
#[inline(always)]
pub(super) fn aligned_c(rules: &Rules, top: i32, c: Decoded) -> i32 {
    let (left, right) =
        (rules.fraction_bits.saturating_sub(23), 23_u32.saturating_sub(rules.fraction_bits));
    let top = top.wrapping_add(right as i32);
    Decoded::aligned(top, c.exponent, c.magnitude << left, c.sign)
}

/// Converts a sum of numbers aligned to the exponent `top` to its exact value.
#[inline(always)]
pub(super) fn scale(rules: &Rules, top: i32, sum: f64) -> f64 {
    let power = top.max(-600) - rules.fraction_bits as i32 + 1023;
    sum * f64::from_bits((power as u64) << 52)
}

/// Rounds or truncates a sum to the format of the result.
#[inline(always)]
pub(super) fn round_result(rules: &Rules, sum: Sum, value: f64) -> f32 {
    if sum == Sum::Half {
        return nearest_half(value);
    }
    let below = 52 - rules.result_bits;
    let cut = f64::from_bits(value.to_bits() >> below << below);
    let least_normal = f64::from_bits((1023 - 126) << 52);
    if cut.abs() < least_normal { subnormal(rules, cut) } else { cut as f32 }
}

/// Adds two numbers of the format of a sum, rounded to nearest.
#[inline(always)]
#[must_use]
pub fn add(sum: Sum, a: f32, b: f32) -> f32 {
    let result = match sum {
        Sum::Single => a + b,
        Sum::Half => nearest_half(f64::from(a) + f64::from(b)),
    };
    if result.is_nan() { f32::from_bits(0x7fff_ffff) } else { result }
}

/// Truncates a result that is subnormal in single precision.
#[cold]
fn subnormal(rules: &Rules, value: f64) -> f32 {
    let unit = f64::from_bits((1023 - 126 - u64::from(rules.result_bits)) << 52);
    ((value / unit).trunc() * unit) as f32
}
