//! f16, f16x2, bf16, bf16x2: modifiers and special values. Exact rounding is in `rounding.rs`.

use super::oracle::mode;
use super::{FLUSH, MAX, MIN, PLAIN, RELU, SATURATE};
use crate::arithmetic::{float_binary, float_unary, fma};
use crate::program::{FloatBinary, FloatUnary, Rounding, Type};

// Half precision: 1, 2, 3, 0.5, the largest number, infinity, the canonical NaN.
const ONE: u64 = 0x3c00;
const TWO: u64 = 0x4000;
const THREE: u64 = 0x4200;
const HALF: u64 = 0x3800;
const GREATEST: u64 = 0x7bff;
const INF: u64 = 0x7c00;
const NAN: u64 = 0x7fff;
const SIGN: u64 = 0x8000;

fn f16(op: FloatBinary, a: u64, b: u64) -> u64 {
    float_binary(op, PLAIN, Type::F16, a, b)
}

#[test]
fn f16_arithmetic_has_the_right_bits() {
    assert_eq!(f16(FloatBinary::Add, ONE, TWO), THREE);
    assert_eq!(f16(FloatBinary::Sub, ONE, THREE), TWO | SIGN);
    assert_eq!(f16(FloatBinary::Mul, THREE, HALF), 0x3e00);
    // 2048 + 1 is a tie that rounds down to even; 2048 + 3 is a tie that rounds up.
    assert_eq!(f16(FloatBinary::Add, 0x6800, ONE), 0x6800);
    assert_eq!(f16(FloatBinary::Add, 0x6800, THREE), 0x6802);
    assert_eq!(f16(FloatBinary::Add, GREATEST, GREATEST), INF);
    assert_eq!(f16(FloatBinary::Mul, INF, 0), NAN);
    assert_eq!(f16(FloatBinary::Add, 0xfc01, ONE), NAN);
    // Half the smallest normal number is subnormal, and flushed with .ftz.
    assert_eq!(f16(FloatBinary::Mul, 0x0400, HALF), 0x0200);
    assert_eq!(float_binary(FloatBinary::Mul, FLUSH, Type::F16, 0x0400, HALF), 0);
    assert_eq!(float_binary(FloatBinary::Add, FLUSH, Type::F16, 0x83ff, 0x83ff), SIGN);
}

#[test]
fn bf16_arithmetic_rounds_to_seven_bits() {
    let (one, two, three) = (0x3f80, 0x4000, 0x4040);
    let run = |op, a, b| float_binary(op, PLAIN, Type::Bf16, a, b);
    assert_eq!(run(FloatBinary::Add, one, two), three);
    assert_eq!(run(FloatBinary::Mul, three, three), 0x4110);
    // 256 + 1 is a tie.
    assert_eq!(run(FloatBinary::Add, 0x4380, one), 0x4380);
    assert_eq!(run(FloatBinary::Add, 0x4380, three), 0x4382);
    assert_eq!(run(FloatBinary::Sub, 0x7f80, 0x7f80), NAN);
}

/// (1 + 2^−10)² = 1 + 2^−9 + 2^−20: only a fused operation keeps the last term.
#[test]
fn multiply_add_is_fused() {
    let a = ONE + 1;
    let c = (ONE + 2) | SIGN;
    // 2^−20 is subnormal: 16 units of 2^−24.
    assert_eq!(fma(PLAIN, Type::F16, a, a, c), 16);
    assert_eq!(fma(mode(Rounding::NearestEven), Type::F16, TWO, THREE, ONE), 0x4700);
    // bf16: (1 + 2^−7)² − (1 + 2^−6) = 2^−14
    assert_eq!(fma(PLAIN, Type::Bf16, 0x3f81, 0x3f81, 0xbf82), 0x3880);
}

#[test]
fn packed_halves_are_computed_separately() {
    let run = |op, ty, a, b| float_binary(op, PLAIN, ty, a, b);
    assert_eq!(run(FloatBinary::Add, Type::F16x2, 0x3c00_4000, 0x4000_3c00), 0x4200_4200);
    assert_eq!(run(FloatBinary::Mul, Type::F16x2, 0x7c00_4000, 0x0000_4200), 0x7fff_4600);
    assert_eq!(run(MIN, Type::Bf16x2, 0x3f80_7fc0, 0x4000_4000), 0x3f80_4000);
    assert_eq!(fma(PLAIN, Type::F16x2, 0x4000_3c00, 0x4200_3c00, 0x3c00_3c00), 0x4700_4000);
    assert_eq!(fma(PLAIN, Type::Bf16x2, 0x3f80_3f80, 0x4000_4000, 0x3f80_0000), 0x4040_4000);
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::F16x2, 0x3c00_8000), 0xbc00_0000);
    assert_eq!(float_unary(FloatUnary::Abs, PLAIN, Type::Bf16x2, 0xbf80_3f80), 0x3f80_3f80);
}

#[test]
fn relu_and_sat_clamp_the_result() {
    assert_eq!(fma(RELU, Type::F16, ONE, ONE | SIGN, 0), 0);
    assert_eq!(fma(RELU, Type::F16, ONE, TWO, 0), TWO);
    assert_eq!(fma(RELU, Type::F16, ONE, NAN, 0), NAN);
    assert_eq!(fma(RELU, Type::F16x2, 0x3c00_3c00, 0xbc00_4000, 0), 0x0000_4000);
    assert_eq!(fma(RELU, Type::Bf16, 0x3f80, 0xbf80, 0), 0);
    assert_eq!(fma(RELU, Type::Bf16, 0x3f80, 0x7fc0, 0), NAN);
    assert_eq!(fma(SATURATE, Type::F16, ONE, TWO, 0), ONE);
    assert_eq!(fma(SATURATE, Type::F16, ONE, NAN, 0), 0);
    assert_eq!(float_binary(FloatBinary::Sub, SATURATE, Type::F16, ONE, TWO), 0);
    assert_eq!(float_binary(FloatBinary::Sub, SATURATE, Type::F16, ONE, HALF), HALF);
}

#[test]
fn minimum_and_maximum_handle_nans_and_zeros() {
    assert_eq!(f16(MIN, ONE, TWO), ONE);
    assert_eq!(f16(MAX, ONE | SIGN, TWO | SIGN), ONE | SIGN);
    assert_eq!(f16(MIN, 0, SIGN), SIGN);
    assert_eq!(f16(MAX, SIGN, 0), 0);
    assert_eq!(f16(MIN, 0x7e00, TWO), TWO);
    assert_eq!(f16(MIN, 0x7e00, 0x7c01), NAN);
    assert_eq!(f16(FloatBinary::Max { nan: true, xorsign_abs: false }, 0x7e00, TWO), NAN);
    let max_xor = FloatBinary::Max { nan: false, xorsign_abs: true };
    assert_eq!(f16(max_xor, ONE | SIGN, TWO | SIGN), TWO);
    assert_eq!(f16(max_xor, ONE, TWO | SIGN), TWO | SIGN);
    assert_eq!(float_binary(MAX, FLUSH, Type::F16, 0x83ff, TWO | SIGN), SIGN);
}

#[test]
fn negation_and_magnitude_have_the_right_sign() {
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::F16, ONE), ONE | SIGN);
    assert_eq!(float_unary(FloatUnary::Abs, PLAIN, Type::F16, INF | SIGN), INF);
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::F16, 0xfe00), NAN);
    assert_eq!(float_unary(FloatUnary::Abs, FLUSH, Type::F16, 0x83ff), 0);
    assert_eq!(float_unary(FloatUnary::Neg, PLAIN, Type::Bf16, 0), SIGN);
}

#[test]
fn ex2_and_tanh_of_halves_have_the_right_bits() {
    let run = |op, mode, ty, a| float_unary(op, mode, ty, a);
    for (ty, one, two, minus_one, inf) in
        [(Type::F16, ONE, TWO, ONE | SIGN, INF), (Type::Bf16, 0x3f80, 0x4000, 0xbf80, 0x7f80)]
    {
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, one), two);
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, 0), one);
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, SIGN), one);
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, SIGN | 1), one);
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, inf | SIGN), 0);
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, inf), inf);
        assert_eq!(run(FloatUnary::Ex2, FLUSH, ty, NAN), NAN);
        assert_eq!(run(FloatUnary::Tanh, PLAIN, ty, inf), one);
        assert_eq!(run(FloatUnary::Tanh, PLAIN, ty, inf | SIGN), minus_one);
        assert_eq!(run(FloatUnary::Tanh, PLAIN, ty, SIGN), SIGN);
        assert_eq!(run(FloatUnary::Tanh, PLAIN, ty, 1), 1);
        assert_eq!(run(FloatUnary::Tanh, PLAIN, ty, NAN), NAN);
    }
    // tanh(1) = 0.76159…: 0x3a18 is 0.76171875, its neighbours 0.7612 and 0.7622.
    assert_eq!(run(FloatUnary::Tanh, PLAIN, Type::F16, ONE), 0x3a18);
    // 2^0.5 = 1.41421…: 0x3da8 is 1.4140625.
    assert_eq!(run(FloatUnary::Ex2, PLAIN, Type::F16x2, 0x3800_0000), 0x3da8_3c00);
}
