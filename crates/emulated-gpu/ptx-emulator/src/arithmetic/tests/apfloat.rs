//! Comparison of the integer-based arithmetic with LLVM's APFloat, which rustc uses for constants:
//! a second opinion in addition to `oracle`, which also covers infinities and NaNs. It has no
//! square root.

use super::oracle::{BF16, F16, F32, F64, ROUNDINGS, Shape, bits, config};
use crate::arithmetic::float::{soft_binary, soft_fma};
use crate::arithmetic::format::Format;
use crate::arithmetic::soft::Unpacked;
use crate::program::{Approximate, FloatBinary, Rounding};
use proptest::prelude::*;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// APFloat's name for a rounding.
fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::NearestAway => Round::NearestTiesToAway,
        Rounding::TowardsZero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

fn roundings() -> impl Strategy<Value = Rounding> {
    proptest::sample::select([ROUNDINGS.as_slice(), &[Rounding::NearestAway]].concat())
}

/// Checks for equal bits, or NaN on both sides: the NaN that is returned depends on the instruction
/// set.
fn check_same_bits(
    what: &str,
    shape: Shape,
    found: u64,
    expected: impl Float,
) -> Result<(), TestCaseError> {
    let expected = expected.to_bits() as u64;
    let agree = found == expected || shape.is_nan(found) && shape.is_nan(expected);
    prop_assert!(agree, "{what}: {found:#x}, but APFloat returns {expected:#x}");
    Ok(())
}

/// Checks all operations of a format.
fn check<F: Float>(
    (format, shape): (Format, Shape),
    rounding: Rounding,
    [a, b, c]: [u64; 3],
) -> Result<(), TestCaseError> {
    let [x, y, z] = [a, b, c].map(|bits| F::from_bits(bits.into()));
    let r = round(rounding);
    let div = FloatBinary::Div { approximate: Approximate::No };
    for (op, expected) in [
        (FloatBinary::Add, x.add_r(y, r)),
        (FloatBinary::Sub, x.sub_r(y, r)),
        (FloatBinary::Mul, x.mul_r(y, r)),
        (div, x.div_r(y, r)),
    ] {
        let found = soft_binary(op, rounding, format, a, b);
        check_same_bits(
            &format!("{op:?} {rounding:?} {a:#x} {b:#x}"),
            shape,
            found,
            expected.value,
        )?;
    }
    let found = soft_fma(rounding, format, a, b, c);
    let expected = x.mul_add_r(y, z, r).value;
    check_same_bits(&format!("fma {rounding:?} {a:#x} {b:#x} {c:#x}"), shape, found, expected)
}

/// Converts a number of one format to another, and compares.
fn converted<F: FloatConvert<T>, T: Float>(
    (from, _): (Format, Shape),
    (to, shape): (Format, Shape),
    rounding: Rounding,
    a: u64,
) -> Result<(), TestCaseError> {
    let found = Unpacked::new(from, a).round(to, rounding);
    let expected: T = F::from_bits(a.into()).convert_r(round(rounding), &mut false).value;
    check_same_bits(&format!("{from:?} to {to:?} {rounding:?} {a:#x}"), shape, found, expected)
}

const HALF: (Format, Shape) = (Format::F16, F16);
const BRAIN: (Format, Shape) = (Format::BF16, BF16);
const SINGLE: (Format, Shape) = (Format::F32, F32);
const DOUBLE: (Format, Shape) = (Format::F64, F64);

proptest! {
    #![proptest_config(config(8000))]

    #[test]
    fn operations_equal_apfloat(
        r in roundings(),
        half in [bits(F16), bits(F16), bits(F16)],
        brain in [bits(BF16), bits(BF16), bits(BF16)],
        single in [bits(F32), bits(F32), bits(F32)],
        double in [bits(F64), bits(F64), bits(F64)],
    ) {
        check::<Half>(HALF, r, half)?;
        check::<BFloat>(BRAIN, r, brain)?;
        check::<Single>(SINGLE, r, single)?;
        check::<Double>(DOUBLE, r, double)?;
    }

    #[test]
    fn conversions_equal_apfloat(
        r in roundings(),
        half in bits(F16), brain in bits(BF16), single in bits(F32), double in bits(F64),
    ) {
        converted::<Half, BFloat>(HALF, BRAIN, r, half)?;
        converted::<Half, Single>(HALF, SINGLE, r, half)?;
        converted::<BFloat, Half>(BRAIN, HALF, r, brain)?;
        converted::<BFloat, Double>(BRAIN, DOUBLE, r, brain)?;
        converted::<Single, Half>(SINGLE, HALF, r, single)?;
        converted::<Single, BFloat>(SINGLE, BRAIN, r, single)?;
        converted::<Single, Double>(SINGLE, DOUBLE, r, single)?;
        converted::<Double, Half>(DOUBLE, HALF, r, double)?;
        converted::<Double, BFloat>(DOUBLE, BRAIN, r, double)?;
        converted::<Double, Single>(DOUBLE, SINGLE, r, double)?;
    }
}
