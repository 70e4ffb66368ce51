//! Rounding to the input formats of tensor cores.

/// The maximum relative error of rounding to TF32, which keeps 10 bits of the fraction.
pub const TF32_UNIT_ROUNDOFF: f64 = 1.0 / 2048.0;

/// The number of bits of an `f32`'s fraction that TF32 drops.
const DROPPED_BITS: u32 = 13;

/// Rounds to the nearest TF32 number (1 sign bit, 8 exponent bits, 10 fraction bits), as an `f32`;
/// ties go away from zero. This is how `cvt.rna.tf32.f32` rounds (PTX ISA, "Data Movement and
/// Conversion Instructions: cvt"), the only conversion to TF32 on compute capability 8.x. NVIDIA
/// does not document how cuBLAS itself rounds. Overflow gives infinity, and NaN stays NaN.
pub(crate) fn to_tf32(x: f32) -> f32 {
    if !x.is_finite() {
        return x;
    }
    // A carry out of the fraction increments the exponent, which gives the right result.
    let half = 1 << (DROPPED_BITS - 1);
    f32::from_bits((x.to_bits() + half) & !((1 << DROPPED_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One unit in the last place of TF32 at 1.
    const ULP: f32 = 1.0 / 1024.0;

    #[test]
    fn representable_values_are_unchanged() {
        for x in [0.0, -0.0, 1.0, -1.5, 1.0 + ULP, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(to_tf32(x).to_bits(), x.to_bits(), "{x}");
        }
        assert!(to_tf32(f32::NAN).is_nan());
    }

    #[test]
    fn ties_round_away_from_zero() {
        assert_eq!(to_tf32(1.0 + ULP / 2.0), 1.0 + ULP);
        assert_eq!(to_tf32(-1.0 - ULP / 2.0), -1.0 - ULP);
        assert_eq!(to_tf32(1.0 + 1.5 * ULP), 1.0 + 2.0 * ULP);
        assert_eq!(to_tf32(1.0 + 0.499 * ULP), 1.0);
    }

    #[test]
    fn a_carry_reaches_the_exponent_and_infinity() {
        assert_eq!(to_tf32(2.0 - ULP / 4.0), 2.0);
        assert_eq!(to_tf32(f32::MAX), f32::INFINITY);
        assert_eq!(to_tf32(f32::MIN), f32::NEG_INFINITY);
    }

    proptest! {
        #[test]
        fn the_error_is_bounded(x in prop::num::f32::NORMAL) {
            let rounded = f64::from(to_tf32(x));
            prop_assume!(rounded.is_finite());
            let error = (rounded - f64::from(x)).abs();
            prop_assert!(error <= TF32_UNIT_ROUNDOFF * f64::from(x).abs());
            prop_assert_eq!(to_tf32(to_tf32(x)).to_bits(), to_tf32(x).to_bits());
        }
    }
}
