//! f32 and f64: special values, modifiers, minimum and maximum. Exact rounding is in `rounding.rs`.

use super::oracle::{F32, Random, mode};
use super::{DIV, FLUSH, INF, MAX, MIN, NAN, PLAIN, SATURATE, SIGN, bits};
use crate::arithmetic::approximate::elementary_f32;
use crate::arithmetic::host::{self, flush_f32, max_f32, min_f32, saturate_f32};
use crate::arithmetic::{float_binary, float_unary, fma};
use crate::program::{FloatBinary, FloatMode, FloatUnary, Rounding, Type};

fn binary_f32(op: FloatBinary, a: f32, b: f32) -> u64 {
    float_binary(op, PLAIN, Type::F32, bits(a), bits(b))
}

#[test]
fn f32_and_f64_arithmetic_rounds_as_asked() {
    assert_eq!(binary_f32(FloatBinary::Add, 1.5, 2.25), bits(3.75));
    assert_eq!(binary_f32(FloatBinary::Sub, 1.5, 2.25), bits(-0.75));
    assert_eq!(binary_f32(FloatBinary::Mul, 1.5, -2.0), bits(-3.0));
    assert_eq!(binary_f32(DIV, 1.0, 3.0), 0x3eaa_aaab);
    let actual = float_binary(DIV, mode(Rounding::TowardsZero), Type::F32, bits(1.0), bits(3.0));
    assert_eq!(actual, 0x3eaa_aaaa);
    let expected = 0xbeaa_aaab;
    assert_eq!(float_binary(DIV, mode(Rounding::Down), Type::F32, bits(-1.0), bits(3.0)), expected);
    let expected = 0xbeaa_aaaa;
    assert_eq!(float_binary(DIV, mode(Rounding::Up), Type::F32, bits(-1.0), bits(3.0)), expected);
    let sqrt = FloatUnary::Sqrt { approximate: false };
    assert_eq!(float_unary(sqrt, PLAIN, Type::F32, bits(2.0)), 0x3fb5_04f3);
    assert_eq!(float_unary(sqrt, mode(Rounding::Up), Type::F32, bits(2.0)), 0x3fb5_04f4);
    assert_eq!(float_unary(sqrt, PLAIN, Type::F64, 2.0_f64.to_bits()), 0x3ff6_a09e_667f_3bcd);
    let expected = 0x3ff6_a09e_667f_3bcc;
    assert_eq!(float_unary(sqrt, mode(Rounding::Down), Type::F64, 2.0_f64.to_bits()), expected);
    let rcp = FloatUnary::Rcp { approximate: false };
    assert_eq!(float_unary(rcp, PLAIN, Type::F64, 3.0_f64.to_bits()), 0x3fd5_5555_5555_5555);
    let expected = 0x3fd5_5555_5555_5556;
    assert_eq!(float_unary(rcp, mode(Rounding::Up), Type::F64, 3.0_f64.to_bits()), expected);
}

/// (1 + 2^−12)² is 1 + 2^−11 + 2^−24; after subtracting the first two terms, only a fused operation
/// keeps the last one.
#[test]
fn multiply_add_is_fused() {
    let a = 1.0 + 1.0 / 4096.0;
    let c = -(1.0 + 1.0 / 2048.0);
    let expected = bits(2.0_f32.powi(-24));
    assert_eq!(fma(PLAIN, Type::F32, bits(a), bits(a), bits(c)), expected);
    // In f64 the sum 1 + 2^−24 + 2^−60 would first be rounded to a tie, and then down.
    let (a, b) = (bits(1.0), bits(1.0 + 2.0_f32.powi(-23)));
    let tie_and_more = fma(PLAIN, Type::F32, bits(2.0_f32.powi(-24)), b, a);
    assert_eq!(tie_and_more, bits(1.0 + 2.0_f32.powi(-23)));
    let tiny = bits(2.0_f32.powi(-100));
    let above_tie =
        fma(PLAIN, Type::F32, bits(1.0 + 2.0_f32.powi(-12)), bits(1.0 + 2.0_f32.powi(-12)), tiny);
    assert_eq!(above_tie, bits(1.0 + 2.0_f32.powi(-11)) + 1);
}

#[test]
fn invalid_operations_and_nan_operands_give_the_canonical_nan() {
    let inf = f32::INFINITY;
    assert_eq!(binary_f32(FloatBinary::Add, inf, -inf), NAN);
    assert_eq!(binary_f32(FloatBinary::Sub, inf, inf), NAN);
    assert_eq!(binary_f32(FloatBinary::Mul, 0.0, inf), NAN);
    assert_eq!(binary_f32(DIV, 0.0, 0.0), NAN);
    assert_eq!(binary_f32(DIV, inf, inf), NAN);
    let odd_nan = 0xff80_0001;
    for op in [FloatBinary::Add, FloatBinary::Sub, FloatBinary::Mul, DIV] {
        for rounding in [Rounding::NearestEven, Rounding::Up] {
            assert_eq!(float_binary(op, mode(rounding), Type::F32, odd_nan, bits(1.0)), NAN);
            assert_eq!(float_binary(op, mode(rounding), Type::F32, bits(1.0), odd_nan), NAN);
        }
    }
    assert_eq!(fma(PLAIN, Type::F32, bits(0.0), INF, bits(1.0)), NAN);
    assert_eq!(fma(PLAIN, Type::F32, bits(1.0), bits(1.0), odd_nan), NAN);
    assert_eq!(fma(PLAIN, Type::F32, INF, bits(1.0), INF | SIGN), NAN);
    for approximate in [false, true] {
        let actual = float_unary(FloatUnary::Sqrt { approximate }, PLAIN, Type::F32, bits(-1.0));
        assert_eq!(actual, NAN);
        assert_eq!(float_unary(FloatUnary::Rcp { approximate }, PLAIN, Type::F32, odd_nan), NAN);
    }
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::F32, odd_nan), NAN);
    assert_eq!(float_unary(FloatUnary::Abs, PLAIN, Type::F32, odd_nan), NAN);
}

/// "NaN payloads are supported for double-precision instructions." The order is an H100's: `b`, `c`,
/// `a`, and for quotients `a`, `b`.
#[test]
fn double_precision_keeps_payloads() {
    let signalling = 0x7ff0_0000_dead_beef;
    let quiet = 0x7ff8_0000_dead_beef;
    let other = 0xfff8_0000_0000_1234;
    let one = 1.0_f64.to_bits();
    for op in [FloatBinary::Add, FloatBinary::Sub, FloatBinary::Mul, DIV] {
        for rounding in [Rounding::NearestEven, Rounding::TowardsZero] {
            let run = |a, b| float_binary(op, mode(rounding), Type::F64, a, b);
            assert_eq!(run(signalling, one), quiet);
            assert_eq!(run(one, signalling), quiet);
            let [first, second] = if op == DIV { [quiet, other] } else { [other, quiet] };
            assert_eq!(run(signalling, other), first);
            assert_eq!(run(other, signalling), second);
        }
    }
    for rounding in [Rounding::NearestEven, Rounding::TowardsZero] {
        let run = |a, b, c| fma(mode(rounding), Type::F64, a, b, c);
        assert_eq!(run(one, one, other), other);
        assert_eq!(run(other, one, signalling), quiet);
        assert_eq!(run(signalling, other, one), other);
        assert_eq!(run(one, signalling, other), quiet);
    }
    let inf = f64::INFINITY.to_bits();
    let default = 0xfff8_0000_0000_0000;
    assert_eq!(float_binary(FloatBinary::Sub, PLAIN, Type::F64, inf, inf), default);
    assert_eq!(float_binary(FloatBinary::Sub, mode(Rounding::Up), Type::F64, inf, inf), default);
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::F64, signalling), quiet);
    assert_eq!(float_unary(FloatUnary::Abs, PLAIN, Type::F64, other), other);
}

#[test]
fn infinities_and_zeros() {
    assert_eq!(binary_f32(DIV, 1.0, 0.0), INF);
    assert_eq!(binary_f32(DIV, -1.0, 0.0), INF | SIGN);
    assert_eq!(binary_f32(DIV, 1.0, f32::NEG_INFINITY), SIGN);
    assert_eq!(binary_f32(FloatBinary::Add, f32::INFINITY, 1.0), INF);
    assert_eq!(binary_f32(FloatBinary::Add, 0.0, -0.0), 0);
    assert_eq!(binary_f32(FloatBinary::Add, -0.0, -0.0), SIGN);
    assert_eq!(binary_f32(FloatBinary::Sub, 1.0, 1.0), 0);
    let down = |op, a, b| float_binary(op, mode(Rounding::Down), Type::F32, bits(a), bits(b));
    assert_eq!(down(FloatBinary::Sub, 1.0, 1.0), SIGN);
    assert_eq!(down(FloatBinary::Add, 0.0, -0.0), SIGN);
    assert_eq!(down(FloatBinary::Add, 0.0, 0.0), 0);
    let sqrt = FloatUnary::Sqrt { approximate: false };
    assert_eq!(float_unary(sqrt, mode(Rounding::Up), Type::F32, SIGN), SIGN);
    assert_eq!(float_unary(sqrt, mode(Rounding::Up), Type::F32, INF), INF);
    assert_eq!(float_unary(sqrt, mode(Rounding::Up), Type::F32, INF | SIGN), NAN);
    let rcp = FloatUnary::Rcp { approximate: false };
    for rounding in [Rounding::NearestEven, Rounding::Down] {
        assert_eq!(float_unary(rcp, mode(rounding), Type::F32, SIGN), INF | SIGN);
        assert_eq!(float_unary(rcp, mode(rounding), Type::F32, INF | SIGN), SIGN);
    }
}

#[test]
fn overflow_depends_on_the_rounding() {
    let max = bits(f32::MAX);
    let run =
        |rounding, a: u64, b: u64| float_binary(FloatBinary::Add, mode(rounding), Type::F32, a, b);
    assert_eq!(run(Rounding::NearestEven, max, max), INF);
    assert_eq!(run(Rounding::TowardsZero, max, max), max);
    assert_eq!(run(Rounding::Down, max, max), max);
    assert_eq!(run(Rounding::Up, max, max), INF);
    assert_eq!(run(Rounding::Down, max | SIGN, max | SIGN), INF | SIGN);
    assert_eq!(run(Rounding::Up, max | SIGN, max | SIGN), max | SIGN);
    assert_eq!(run(Rounding::TowardsZero, INF, max), INF);
}

#[test]
fn flush_to_zero_affects_operands_and_results_and_keeps_the_sign() {
    let (tiny, min_normal) = (1_u64, bits(f32::MIN_POSITIVE));
    let run = |op, a, b| float_binary(op, FLUSH, Type::F32, a, b);
    assert_eq!(run(FloatBinary::Add, tiny, tiny | SIGN), 0);
    assert_eq!(run(FloatBinary::Add, tiny | SIGN, tiny | SIGN), SIGN);
    assert_eq!(run(FloatBinary::Add, min_normal, tiny), min_normal);
    assert_eq!(run(FloatBinary::Mul, min_normal, bits(0.5)), 0);
    assert_eq!(run(FloatBinary::Mul, min_normal | SIGN, bits(0.5)), SIGN);
    assert_eq!(binary_f32(FloatBinary::Mul, f32::MIN_POSITIVE, 0.5), 0x0040_0000);
    assert_eq!(run(DIV, bits(1.0), tiny), INF);
    assert_eq!(run(MIN, tiny, bits(1.0)), 0);
    assert_eq!(run(MAX, tiny | SIGN, bits(-1.0)), SIGN);
    assert_eq!(fma(FLUSH, Type::F32, tiny, bits(1.0), bits(2.0)), bits(2.0));
    assert_eq!(fma(FLUSH, Type::F32, min_normal, bits(0.5), 0), 0);
    assert_eq!(float_unary(FloatUnary::Abs, FLUSH, Type::F32, tiny | SIGN), 0);
    assert_eq!(float_unary(FloatUnary::Neg, FLUSH, Type::F32, tiny), SIGN);
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::F32, tiny), tiny | SIGN);
    let sqrt = FloatUnary::Sqrt { approximate: false };
    assert_eq!(float_unary(sqrt, FLUSH, Type::F32, tiny | SIGN), SIGN);
    // 1 / 2^127 is subnormal.
    let rcp = FloatUnary::Rcp { approximate: false };
    assert_eq!(float_unary(rcp, FLUSH, Type::F32, bits(2.0_f32.powi(127))), 0);
    assert_eq!(flush_f32(f32::from_bits(0x807f_ffff)).to_bits(), 0x8000_0000);
    assert_eq!(flush_f32(f32::MIN_POSITIVE), f32::MIN_POSITIVE);
    assert!(flush_f32(f32::NAN).is_nan());
}

/// 2^−126 − 2^−150 is a tie between the largest subnormal number and the smallest normal number, and rounds to the
/// normal number. With 24 digits and an unlimited exponent it is smaller, so it is flushed; ptxas folds the constants
/// of `mul.ftz.f32` and `cvt.rn.ftz.f32.f64` in this way. 2^−126 − 2^−173 is not flushed.
#[test]
fn tiny_results_that_round_to_normal_are_flushed() {
    let min_normal = bits(f32::MIN_POSITIVE);
    let (a, half) = (0x00ff_ffff, bits(0.5));
    let run = |mode, a, b| float_binary(FloatBinary::Mul, mode, Type::F32, a, b);
    assert_eq!(run(PLAIN, a, half), min_normal);
    assert_eq!(run(FLUSH, a, half), 0);
    assert_eq!(run(FLUSH, a | SIGN, half), SIGN);
    assert_eq!(fma(FLUSH, Type::F32, a, half, 0), 0);
    assert_eq!(float_binary(DIV, FLUSH, Type::F32, a, bits(2.0)), 0);
    // 8388609 · 16777214 = 2^47 − 2
    let (a, b) = (bits(8_388_609.0 * 2.0_f32.powi(-100)), bits(16_777_214.0 * 2.0_f32.powi(-73)));
    assert_eq!(run(FLUSH, a, b), min_normal);
    assert_eq!(run(FloatMode { flush: true, ..mode(Rounding::TowardsZero) }, a, b), 0);
    assert_eq!(run(FloatMode { flush: true, ..mode(Rounding::Up) }, a, b), min_normal);
}

#[test]
fn saturation_clamps_to_one_and_nan_to_zero() {
    let run =
        |a: f32, b: f32| float_binary(FloatBinary::Add, SATURATE, Type::F32, bits(a), bits(b));
    assert_eq!(run(0.25, 0.5), bits(0.75));
    assert_eq!(run(1.0, 0.5), bits(1.0));
    assert_eq!(run(-1.0, 0.5), 0);
    assert_eq!(run(-0.0, -0.0), 0);
    assert_eq!(run(f32::NAN, 0.5), 0);
    assert_eq!(run(f32::INFINITY, 0.0), bits(1.0));
    assert_eq!(run(f32::NEG_INFINITY, 0.0), 0);
    assert_eq!(fma(SATURATE, Type::F32, bits(3.0), bits(2.0), bits(1.0)), bits(1.0));
    for (x, y) in [(0.5, 0.5), (2.0, 1.0), (-3.0, 0.0), (-0.0, 0.0), (f32::NAN, 0.0)] {
        assert_eq!(saturate_f32(x).to_bits(), f32::to_bits(y));
    }
}

#[test]
fn minimum_and_maximum_handle_nans_and_zeros() {
    assert_eq!(binary_f32(MIN, 1.0, 2.0), bits(1.0));
    assert_eq!(binary_f32(MAX, 1.0, -2.0), bits(1.0));
    assert_eq!(binary_f32(MIN, 0.0, -0.0), SIGN);
    assert_eq!(binary_f32(MIN, -0.0, 0.0), SIGN);
    assert_eq!(binary_f32(MAX, 0.0, -0.0), 0);
    assert_eq!(binary_f32(MAX, -0.0, 0.0), 0);
    assert_eq!(binary_f32(MIN, f32::NAN, 3.0), bits(3.0));
    assert_eq!(binary_f32(MAX, 3.0, f32::NAN), bits(3.0));
    assert_eq!(binary_f32(MIN, f32::NAN, f32::NAN), NAN);
    assert_eq!(binary_f32(MIN, f32::NEG_INFINITY, 3.0), INF | SIGN);

    let min_nan = FloatBinary::Min { nan: true, xorsign_abs: false };
    assert_eq!(binary_f32(min_nan, f32::NAN, 3.0), NAN);
    assert_eq!(binary_f32(min_nan, 3.0, f32::NAN), NAN);
    assert_eq!(binary_f32(min_nan, 3.0, 4.0), bits(3.0));

    let min_xor = FloatBinary::Min { nan: false, xorsign_abs: true };
    let max_xor = FloatBinary::Max { nan: false, xorsign_abs: true };
    assert_eq!(binary_f32(min_xor, -3.0, 4.0), bits(-3.0));
    assert_eq!(binary_f32(min_xor, -3.0, -4.0), bits(3.0));
    assert_eq!(binary_f32(max_xor, 3.0, -4.0), bits(-4.0));
    assert_eq!(binary_f32(max_xor, f32::NAN, -4.0) & !SIGN, bits(4.0));
    assert_eq!(binary_f32(max_xor, f32::NAN, f32::NAN), NAN);

    let double = |op, a: f64, b: f64| float_binary(op, PLAIN, Type::F64, a.to_bits(), b.to_bits());
    assert_eq!(double(MIN, 0.0, -0.0), 1 << 63);
    assert_eq!(double(MAX, f64::NAN, -1.0), (-1.0_f64).to_bits());
    assert_eq!(double(MIN, f64::NEG_INFINITY, f64::NAN), f64::NEG_INFINITY.to_bits());
}

#[test]
fn copysign_uses_the_sign_of_the_first() {
    assert_eq!(binary_f32(FloatBinary::CopySign, -1.0, 3.0), bits(-3.0));
    assert_eq!(binary_f32(FloatBinary::CopySign, 1.0, -0.0), 0);
    let run = |a: f64, b: f64| {
        float_binary(FloatBinary::CopySign, PLAIN, Type::F64, a.to_bits(), b.to_bits())
    };
    assert_eq!(run(-0.0, 2.0), (-2.0_f64).to_bits());
}

/// Compares the small functions, which the engine calls in loops over lanes, with the general
/// functions.
#[test]
fn small_functions_equal_the_general_ones() {
    let mut random = Random(2);
    for _ in 0..200_000 {
        let (a, b) = (F32.draw(&mut random), F32.draw(&mut random));
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        assert_eq!(bits(min_f32(x, y)), float_binary(MIN, PLAIN, Type::F32, a, b), "{a:x} {b:x}");
        assert_eq!(bits(max_f32(x, y)), float_binary(MAX, PLAIN, Type::F32, a, b), "{a:x} {b:x}");
        assert_eq!(bits(min_f32(x, -x)), float_binary(MIN, PLAIN, Type::F32, a, a ^ SIGN), "{a:x}");
    }
}

/// The small functions are inlined into a loop that the compiler vectorises, as in the engine. The vectorised loop must
/// not replace a NaN by another NaN.
#[test]
fn loops_over_lanes_give_the_same_bits() {
    type Lanes = [u32; 32];
    let map = |a: &Lanes, b: &Lanes, f: &dyn Fn(&Lanes, &Lanes, &mut Lanes)| {
        let mut result = [0; 32];
        f(a, b, &mut result);
        result
    };
    macro_rules! check {
        ($a:expr, $b:expr, $small:expr, $general:expr) => {
            let small = map($a, $b, &|a, b, result| {
                for lane in 0..32 {
                    let (x, y) = (f32::from_bits(a[lane]), f32::from_bits(b[lane]));
                    result[lane] = f32::to_bits($small(x, y));
                }
            });
            for lane in 0..32 {
                let (x, y) = (u64::from($a[lane]), u64::from($b[lane]));
                assert_eq!(u64::from(small[lane]), $general(x, y), "{x:#x} {y:#x}");
            }
        };
    }
    let mut random = Random(4);
    for _ in 0..5000 {
        let a: Lanes = std::array::from_fn(|_| F32.draw(&mut random) as u32);
        let b: Lanes = std::array::from_fn(|_| F32.draw(&mut random) as u32);
        let run = |op, mode| move |x, y| float_binary(op, mode, Type::F32, x, y);
        let unary = |op| move |x, _| float_unary(op, PLAIN, Type::F32, x);
        check!(&a, &b, host::add_f32, run(FloatBinary::Add, PLAIN));
        check!(&a, &b, host::sub_f32, run(FloatBinary::Sub, PLAIN));
        check!(&a, &b, host::mul_f32, run(FloatBinary::Mul, PLAIN));
        check!(&a, &b, host::div_f32, run(DIV, PLAIN));
        check!(&a, &b, host::min_f32, run(MIN, PLAIN));
        check!(&a, &b, host::max_f32, run(MAX, PLAIN));
        check!(&a, &b, |x, _| host::sqrt_f32(x), unary(FloatUnary::Sqrt { approximate: false }));
        check!(&a, &b, |x, _| elementary_f32(FloatUnary::Rsqrt, x), unary(FloatUnary::Rsqrt));
        check!(&a, &b, host::add_ftz_f32, run(FloatBinary::Add, FLUSH));
        check!(&a, &b, host::mul_ftz_f32, run(FloatBinary::Mul, FLUSH));
        check!(&a, &b, |x, y| host::fma_ftz_f32(x, y, x), |x, y| fma(FLUSH, Type::F32, x, y, x));
        // Products near the smallest normal number.
        let near = |seed: u32, exponent: u32| seed & 0x807f_ffff | exponent << 23;
        let c: Lanes = std::array::from_fn(|lane| near(a[lane] | 0x007f_f000, 64));
        let d: Lanes = std::array::from_fn(|lane| near(b[lane] & 0xff80_0fff, 63));
        check!(&c, &d, host::mul_ftz_f32, run(FloatBinary::Mul, FLUSH));
        let quarter = 2.0_f32.powi(-128);
        check!(&c, &d, |x, y| host::fma_ftz_f32(x, y, quarter), |x, y| fma(
            FLUSH,
            Type::F32,
            x,
            y,
            bits(quarter)
        ));
        check!(&c, &d, |x, y| host::fma_ftz_f32(x, y, f32::MIN_POSITIVE), |x, y| fma(
            FLUSH,
            Type::F32,
            x,
            y,
            bits(f32::MIN_POSITIVE)
        ));
        check!(&a, &b, |x, y| saturate_f32(host::add_f32(x, y)), run(FloatBinary::Add, SATURATE));
        check!(&a, &b, |x, y| host::fma_f32(x, y, x), |x, y| fma(PLAIN, Type::F32, x, y, x));
    }
}

/// Types that the checker rejects.
#[test]
fn types_without_arithmetic_give_zero() {
    assert_eq!(float_binary(FloatBinary::Add, PLAIN, Type::S32, 1, 1), 0);
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::B64, 1), 0);
    assert_eq!(fma(PLAIN, Type::U32, 1, 1, 1), 0);
}
