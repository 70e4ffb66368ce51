//! All formats and roundings against exact arithmetic, and the host's floating-point unit against
//! integer arithmetic.

use super::DIV;
use super::oracle::{
    BF16, E5M2, Exact, F16, F32, F64, ROUNDINGS, Random, Shape, TF32, bits, config, mode, rounding,
};
use crate::arithmetic::float::{soft_binary, soft_fma, soft_sqrt};
use crate::arithmetic::format::Format;
use crate::arithmetic::{convert, float_binary, float_unary, fma};
use crate::program::{FloatBinary, FloatMode, FloatUnary, Rounding, Type};
use proptest::prelude::*;

/// The expected result of a finite operation; if the exact result is zero, it is `zero`.
fn expected(shape: Shape, rounding: Rounding, exact: &Exact, zero: u64) -> u64 {
    if exact.is_zero() { zero } else { exact.round(shape, rounding) }
}

/// The zero that a sum of operands with these signs gives (IEEE 754, 6.3).
fn zero_sum(shape: Shape, rounding: Rounding, a: bool, b: bool) -> u64 {
    if a && b || a != b && rounding == Rounding::Down { shape.sign() } else { 0 }
}

fn check_binary(
    ty: Type,
    shape: Shape,
    rounding: Rounding,
    a: u64,
    b: u64,
) -> Result<(), TestCaseError> {
    if !(shape.is_finite(a) && shape.is_finite(b)) {
        return Ok(());
    }
    let (x, y) = (shape.exact(a), shape.exact(b));
    let run = |op| float_binary(op, mode(rounding), ty, a, b);
    let product_sign = if x.negative != y.negative { shape.sign() } else { 0 };

    let zero = zero_sum(shape, rounding, x.negative, y.negative);
    prop_assert_eq!(run(FloatBinary::Add), expected(shape, rounding, &x.plus(&y), zero));

    let minus_y = Exact { negative: !y.negative, ..y.clone() };
    let zero = zero_sum(shape, rounding, x.negative, !y.negative);
    prop_assert_eq!(run(FloatBinary::Sub), expected(shape, rounding, &x.plus(&minus_y), zero));

    prop_assert_eq!(run(FloatBinary::Mul), expected(shape, rounding, &x.times(&y), product_sign));
    if matches!(ty, Type::F32 | Type::F64) && !y.is_zero() {
        prop_assert_eq!(run(DIV), expected(shape, rounding, &x.over(&y), product_sign));
    }
    Ok(())
}

fn check_fma(
    ty: Type,
    shape: Shape,
    rounding: Rounding,
    (a, b, c): (u64, u64, u64),
) -> Result<(), TestCaseError> {
    if [a, b, c].iter().any(|&v| !shape.is_finite(v)) {
        return Ok(());
    }
    let product = shape.exact(a).times(&shape.exact(b));
    let addend = shape.exact(c);
    let zero = zero_sum(shape, rounding, product.negative, addend.negative);
    let expected = expected(shape, rounding, &product.plus(&addend), zero);
    prop_assert_eq!(fma(mode(rounding), ty, a, b, c), expected);
    Ok(())
}

fn check_sqrt(ty: Type, shape: Shape, rounding: Rounding, a: u64) -> Result<(), TestCaseError> {
    let a = a & !shape.sign();
    if shape.is_finite(a) && !shape.is_zero(a) {
        let exact = Exact { root: true, ..shape.exact(a) };
        let op = FloatUnary::Sqrt { approximate: false };
        prop_assert_eq!(float_unary(op, mode(rounding), ty, a), exact.round(shape, rounding));

        let op = FloatUnary::Rcp { approximate: false };
        let exact = Exact::integer(1).over(&shape.exact(a));
        prop_assert_eq!(float_unary(op, mode(rounding), ty, a), exact.round(shape, rounding));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(8000))]

    #[test]
    fn f32_is_exactly_rounded(
        r in rounding(), a in bits(F32), b in bits(F32), c in bits(F32),
    ) {
        check_binary(Type::F32, F32, r, a, b)?;
        check_fma(Type::F32, F32, r, (a, b, c))?;
        check_sqrt(Type::F32, F32, r, a)?;
    }

    #[test]
    fn f64_is_exactly_rounded(
        r in rounding(), a in bits(F64), b in bits(F64), c in bits(F64),
    ) {
        check_binary(Type::F64, F64, r, a, b)?;
        check_fma(Type::F64, F64, r, (a, b, c))?;
        check_sqrt(Type::F64, F64, r, a)?;
    }

    #[test]
    fn f16_is_exactly_rounded(
        r in rounding(), a in bits(F16), b in bits(F16), c in bits(F16),
    ) {
        check_binary(Type::F16, F16, r, a, b)?;
        check_fma(Type::F16, F16, r, (a, b, c))?;
    }

    #[test]
    fn bf16_is_exactly_rounded(
        r in rounding(), a in bits(BF16), b in bits(BF16), c in bits(BF16),
    ) {
        check_binary(Type::Bf16, BF16, r, a, b)?;
        check_fma(Type::Bf16, BF16, r, (a, b, c))?;
    }

    /// An operand close to minus the product, so that nearly everything cancels.
    #[test]
    fn cancelling_sums_are_exactly_rounded(
        r in rounding(), a in bits(F64), b in bits(F64), nudge in -4_i64..=4,
    ) {
        let product = f64::from_bits(a) * f64::from_bits(b);
        let c = (-product).to_bits().wrapping_add_signed(nudge);
        check_fma(Type::F64, F64, r, (a, b, c))?;
        check_binary(Type::F64, F64, r, a, (-f64::from_bits(a)).to_bits().wrapping_add_signed(nudge))?;
        let (a, b) = (a >> 32, b >> 32);
        let product = f32::from_bits(a as u32) * f32::from_bits(b as u32);
        let c = (-product).to_bits().wrapping_add_signed(nudge as i32);
        check_fma(Type::F32, F32, r, (a, b, u64::from(c)))?;
    }

    #[test]
    fn conversions_between_formats_are_exactly_rounded(
        r in proptest::sample::select(
            [ROUNDINGS.as_slice(), &[Rounding::NearestAway]].concat()),
        double in bits(F64), single in bits(F32), half in bits(F16), brain in bits(BF16),
    ) {
        let sources = [
            (Type::F64, F64, double),
            (Type::F32, F32, single),
            (Type::F16, F16, half),
            (Type::Bf16, BF16, brain),
        ];
        let targets = [(Type::F64, F64), (Type::F32, F32), (Type::F16, F16), (Type::Bf16, BF16)];
        for (from, source, a) in sources {
            if !source.is_finite(a) {
                continue;
            }
            let exact = source.exact(a);
            let sign = if exact.negative { u64::MAX } else { 0 };
            for (to, target) in targets {
                prop_assert_eq!(
                    convert(to, from, Some(r), false, mode(Rounding::NearestEven), a, None),
                    expected(target, r, &exact, sign & target.sign()),
                    "{:?} from {:?}", to, from
                );
            }
            // The sign of a zero is the top bit of the 32 bits.
            prop_assert_eq!(
                convert(Type::Tf32, from, Some(r), false, mode(Rounding::NearestEven), a, None),
                expected(TF32, r, &exact, sign & TF32.sign()) << 13
            );
        }
    }

    #[test]
    fn integer_to_float_is_exactly_rounded(
        r in rounding(), value in any::<u64>(), shift in 0_u32..64,
    ) {
        let value = value >> shift;
        for (to, shape) in
            [(Type::F64, F64), (Type::F32, F32), (Type::F16, F16), (Type::Bf16, BF16)]
        {
            for (from, exact) in [
                (Type::U64, i128::from(value)),
                (Type::S64, i128::from(value as i64)),
                (Type::U32, i128::from(value as u32)),
                (Type::S32, i128::from(value as i32)),
                (Type::S16, i128::from(value as i16)),
                (Type::U8, i128::from(value as u8)),
            ] {
                prop_assert_eq!(
                    convert(to, from, Some(r), false, mode(Rounding::NearestEven), value, None),
                    expected(shape, r, &Exact::integer(exact), 0),
                    "{:?} from {:?}", to, from
                );
            }
        }
    }

    /// The nearest numbers with 20 bits of fraction, of the upper half of the operand.
    #[test]
    fn approximate_reciprocals_of_doubles_are_rounded_once(a in bits(F64)) {
        const UPPER: Shape = Shape { exponent: 11, fraction: 20 };
        let upper = a >> 32 & !UPPER.sign();
        let normal = 1 << UPPER.fraction;
        if UPPER.is_finite(upper) && upper >= normal {
            let mode = FloatMode { flush: true, ..mode(Rounding::NearestEven) };
            let run = |op| float_unary(op, mode, Type::F64, upper << 32 | a & 0xffff_ffff);
            let reciprocal = Exact::integer(1).over(&UPPER.exact(upper));
            let rounded = reciprocal.round(UPPER, Rounding::NearestEven);
            let flushed = if rounded < normal { 0 } else { rounded };
            prop_assert_eq!(run(FloatUnary::Rcp { approximate: true }), flushed << 32);
            let root = Exact { root: true, ..reciprocal };
            let rounded = root.round(UPPER, Rounding::NearestEven);
            prop_assert_eq!(run(FloatUnary::Rsqrt), rounded << 32);
        }
    }

    /// The result is at most one unit from the nearest number.
    #[test]
    fn reciprocal_root_of_doubles_is_within_one_unit(a in bits(F64)) {
        let a = a & !F64.sign();
        if F64.is_finite(a) && a != 0 {
            let exact = Exact { root: true, ..Exact::integer(1).over(&F64.exact(a)) };
            let nearest = exact.round(F64, Rounding::NearestEven);
            let found = float_unary(FloatUnary::Rsqrt, mode(Rounding::NearestEven), Type::F64, a);
            prop_assert!(found.abs_diff(nearest) <= 1, "{:#x}: {:#x} for {:#x}", a, found, nearest);
        }
    }

    #[test]
    fn e5m2_is_exactly_rounded_and_clamped(single in bits(F32)) {
        if F32.is_finite(single) {
            let packed = convert(
                Type::E5m2x2, Type::F32, Some(Rounding::NearestEven), false,
                mode(Rounding::NearestEven), single, Some(0),
            );
            let exact = F32.exact(single);
            let sign = if exact.negative { E5M2.sign() } else { 0 };
            let rounded = expected(E5M2, Rounding::NearestEven, &exact, sign);
            let greatest = E5M2.infinity() - 1;
            let clamped = if E5M2.is_finite(rounded) { rounded } else { sign | greatest };
            prop_assert_eq!(packed, clamped << 8);
        }
    }
}

/// The common case uses the host's floating-point unit, everything else integers: both agree,
/// including NaNs and their payloads.
#[test]
fn host_and_integer_arithmetic_agree() {
    let mut random = Random(1);
    let nearest = Rounding::NearestEven;
    let types = [
        (Type::F32, F32, Format::F32),
        (Type::F64, F64, Format::F64),
        (Type::F16, F16, Format::F16),
        (Type::Bf16, BF16, Format::BF16),
    ];
    for _ in 0..500_000 {
        for (ty, shape, format) in types {
            let [a, b, c] = [0; 3].map(|_| shape.draw(&mut random));
            let whole = matches!(ty, Type::F32 | Type::F64);
            for op in [FloatBinary::Add, FloatBinary::Sub, FloatBinary::Mul, DIV] {
                if op == DIV && !whole {
                    continue;
                }
                assert_eq!(
                    float_binary(op, mode(nearest), ty, a, b),
                    soft_binary(op, nearest, format, a, b),
                    "{op:?} {ty:?} {a:#x} {b:#x}"
                );
            }
            assert_eq!(
                fma(mode(nearest), ty, a, b, c),
                soft_fma(nearest, format, a, b, c),
                "fma {ty:?} {a:#x} {b:#x} {c:#x}"
            );
            if whole {
                let op = FloatUnary::Sqrt { approximate: false };
                let expected = soft_sqrt(nearest, format, a);
                assert_eq!(float_unary(op, mode(nearest), ty, a), expected, "sqrt {ty:?} {a:#x}");
            }
        }
    }
}
