//! Number formats of factors and sums, with the properties that the sums depend on.

/// A floating-point format. A number in any of these formats is passed as the `f32` with the same
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// IEEE half precision.
    F16,
    /// bfloat16: the upper half of an `f32`.
    Bf16,
    /// TF32: 8 bits of exponent, 10 of fraction.
    Tf32,
    /// IEEE single precision, the format of sums.
    F32,
    /// FP8 with 4 bits of exponent, 3 of fraction.
    E4m3,
    /// FP8 with 5 bits of exponent, 2 of fraction.
    E5m2,
}

impl Format {
    /// The number of fraction bits.
    #[must_use]
    pub const fn fraction_bits(self) -> u32 {
        match self {
            Self::F16 | Self::Tf32 => 10,
            Self::Bf16 => 7,
            Self::F32 => 23,
            Self::E4m3 => 3,
            Self::E5m2 => 2,
        }
    }

    /// The exponent of the smallest normal number, which is also the exponent of subnormal numbers.
    #[must_use]
    pub const fn least_normal_exponent(self) -> i32 {
        match self {
            Self::F16 | Self::E5m2 => -14,
            Self::Bf16 | Self::Tf32 | Self::F32 => -126,
            Self::E4m3 => -6,
        }
    }
}

/// Rounds a finite number to half precision, ties to even, in a single rounding.
#[inline(always)]
pub(crate) fn nearest_half(value: f64) -> f32 {
    // The exponents of the value and of the last bit that is kept. A subnormal double becomes zero
    // here.
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let last = exponent.max(-14) - 10;
    let unit = f64::from_bits(((last.min(900) + 1023) as u64) << 52);
    // A division by a power of two is exact.
    let rounded = (value / unit).round_ties_even() * unit;
    // The largest finite half is 65,504. From 65,520 on, halfway to the next step, numbers round to
    // infinity.
    if rounded.abs() > 65_504.0 { f32::INFINITY.copysign(rounded as f32) } else { rounded as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_once_and_to_even() {
        let unit = (-10_f64).exp2();
        for (value, half) in [
            (0.0, 0.0),
            (1.0, 1.0),
            (-1.0 - unit / 2.0, -1.0),
            (1.0 + 1.5 * unit, 1.0 + 2.0 * unit),
            // If this number were first rounded to single precision, the result would be 1.
            (1.0 + unit / 2.0 + (-40_f64).exp2(), 1.0 + unit),
            (65_519.999, 65_504.0),
            (65_520.0, f64::INFINITY),
            (-1e300, f64::NEG_INFINITY),
            ((-24_f64).exp2(), (-24_f64).exp2()),
            (1.5 * (-24_f64).exp2(), 2.0 * (-24_f64).exp2()),
            ((-25_f64).exp2(), 0.0),
            (-(-25_f64).exp2() * 1.0001, -(-24_f64).exp2()),
        ] {
            assert_eq!(f64::from(nearest_half(value)), half, "{value:e}");
        }
    }
}
