//! `cvt` from and to integers. Conversions between floating-point numbers are in
//! `narrow_floats.rs`, exact rounding is in `rounding.rs`.

use super::oracle::{F32, F64, Random, config};
use super::{FLUSH, NAN, PLAIN, SATURATE, bits};
use crate::arithmetic::convert as fast;
use crate::arithmetic::convert;
use crate::program::{FloatMode, Rounding, Type};
use proptest::prelude::*;

pub(super) const NEAREST: Option<Rounding> = Some(Rounding::NearestEven);
pub(super) const ZERO: Option<Rounding> = Some(Rounding::TowardsZero);
const DOWN: Option<Rounding> = Some(Rounding::Down);
const UP: Option<Rounding> = Some(Rounding::Up);

/// `cvt` with rounding to an integer.
fn convert_to_integer(to: Type, from: Type, rounding: Option<Rounding>, a: u64) -> u64 {
    convert(to, from, rounding, true, PLAIN, a, None)
}

/// `cvt` with an optional rounding of a floating-point result.
pub(super) fn convert_float(to: Type, from: Type, rounding: Option<Rounding>, a: u64) -> u64 {
    convert(to, from, rounding, false, PLAIN, a, None)
}

#[test]
fn integers_are_extended_and_truncated() {
    assert_eq!(convert_float(Type::S64, Type::S32, None, 0xffff_fffe), u64::MAX - 1);
    assert_eq!(convert_float(Type::U64, Type::U32, None, 0xffff_fffe), 0xffff_fffe);
    assert_eq!(convert_float(Type::U64, Type::S32, None, 0xffff_fffe), u64::MAX - 1);
    assert_eq!(convert_float(Type::U32, Type::S8, None, 0x80), 0xffff_ff80);
    assert_eq!(convert_float(Type::S32, Type::U8, None, 0x80), 0x80);
    assert_eq!(convert_float(Type::U16, Type::U32, None, 0x0012_3456), 0x3456);
    assert_eq!(convert_float(Type::S8, Type::S32, None, 0x1ff), 0xff);
    // A wider source register: only its lowest bits are used.
    assert_eq!(convert_float(Type::U32, Type::U8, None, 0xabcd), 0xcd);
    // A wider destination register.
    assert_eq!(fast::extend_result(Type::S8, 0xff), u64::MAX);
    assert_eq!(fast::extend_result(Type::U8, 0xff), 0xff);
    assert_eq!(fast::extend_result(Type::S16, 0x7fff), 0x7fff);
    assert_eq!(fast::extend_result(Type::F16, 0x8000), 0x8000);
}

#[test]
fn integers_saturate_with_sat() {
    let run = |to, from, a| convert(to, from, None, false, SATURATE, a, None);
    assert_eq!(run(Type::U8, Type::S32, 300), 255);
    assert_eq!(run(Type::U8, Type::S32, 0xffff_ffff), 0);
    assert_eq!(run(Type::S8, Type::S32, 0xffff_ff00), 0x80);
    assert_eq!(run(Type::S8, Type::U32, 0xffff_ffff), 0x7f);
    assert_eq!(run(Type::S32, Type::U32, 0xffff_ffff), 0x7fff_ffff);
    assert_eq!(run(Type::U32, Type::S64, u64::MAX), 0);
    assert_eq!(run(Type::S32, Type::S64, 1 << 40), 0x7fff_ffff);
    assert_eq!(run(Type::U64, Type::S64, u64::MAX), 0);
}

/// `.rni .rzi .rmi .rpi` of halves and their neighbours.
#[test]
fn floats_convert_to_integers_in_each_rounding() {
    for (x, nearest, zero, down, up) in [
        (2.5, 2, 2, 2, 3),
        (3.5, 4, 3, 3, 4),
        (-2.5, -2, -2, -3, -2),
        (-3.5, -4, -3, -4, -3),
        (0.4, 0, 0, 0, 1),
        (-0.4, 0, 0, -1, 0),
        (0.5, 0, 0, 0, 1),
        (-0.6, -1, 0, -1, 0),
        (7.0, 7, 7, 7, 7),
        (-0.0, 0, 0, 0, 0),
    ] {
        for (rounding, value) in [(NEAREST, nearest), (ZERO, zero), (DOWN, down), (UP, up)] {
            let expected = |width: u32| value as u64 & (u64::MAX >> (64 - width));
            let single = bits(x);
            let double = f64::from(x).to_bits();
            let half = convert_float(Type::F16, Type::F32, NEAREST, single);
            let brain = convert_float(Type::Bf16, Type::F32, NEAREST, single);
            for (to, width) in [(Type::S8, 8), (Type::S16, 16), (Type::S32, 32), (Type::S64, 64)] {
                let actual = convert_to_integer(to, Type::F32, rounding, single);
                assert_eq!(actual, expected(width), "{x} {rounding:?}");
                let actual = convert_to_integer(to, Type::F64, rounding, double);
                assert_eq!(actual, expected(width), "{x} {rounding:?}");
                if x.abs() != 0.4 && x != -0.6 {
                    assert_eq!(convert_to_integer(to, Type::F16, rounding, half), expected(width));
                    let actual = convert_to_integer(to, Type::Bf16, rounding, brain);
                    assert_eq!(actual, expected(width));
                }
            }
            // Negative numbers are clamped for unsigned types.
            let clamped = u64::try_from(value).unwrap_or(0);
            let actual = convert_to_integer(Type::U32, Type::F32, rounding, single);
            assert_eq!(actual, clamped, "{x} {rounding:?}");
            let actual = convert_to_integer(Type::U64, Type::F64, rounding, double);
            assert_eq!(actual, clamped, "{x} {rounding:?}");
        }
    }
}

#[test]
fn floats_are_clamped_to_the_integer_range_without_sat() {
    for mode in [PLAIN, SATURATE] {
        let run = |to, from, a| convert(to, from, ZERO, true, mode, a, None);
        assert_eq!(run(Type::S32, Type::F32, bits(3e9)), 0x7fff_ffff);
        assert_eq!(run(Type::S32, Type::F32, bits(-3e9)), 0x8000_0000);
        assert_eq!(run(Type::U32, Type::F32, bits(5e9)), 0xffff_ffff);
        assert_eq!(run(Type::U32, Type::F32, bits(-1.5)), 0);
        assert_eq!(run(Type::U32, Type::F32, bits(4294967040.0)), 0xffff_ff00);
        assert_eq!(run(Type::U8, Type::F32, bits(300.0)), 255);
        assert_eq!(run(Type::S8, Type::F32, bits(-300.0)), 0x80);
        assert_eq!(run(Type::S16, Type::F64, 1e300_f64.to_bits()), 0x7fff);
        assert_eq!(run(Type::S64, Type::F32, bits(f32::INFINITY)), (1 << 63) - 1);
        assert_eq!(run(Type::S64, Type::F32, bits(f32::NEG_INFINITY)), 1 << 63);
        assert_eq!(run(Type::U64, Type::F64, f64::INFINITY.to_bits()), u64::MAX);
        let expected = u64::MAX - 2047;
        assert_eq!(run(Type::U64, Type::F64, 18446744073709549568.0_f64.to_bits()), expected);
        assert_eq!(run(Type::S16, Type::F16, 0x7bff), 0x7fff);
    }
}

/// NaN gives 0 between types of at most 32 bits, and only the top bit otherwise.
#[test]
fn nan_converts_to_zero_or_the_top_bit() {
    let (single, double) = (bits(f32::NAN), f64::NAN.to_bits());
    for to in [Type::S8, Type::U8, Type::S16, Type::U16, Type::S32, Type::U32] {
        for from in [Type::F32, Type::F16, Type::Bf16] {
            let nan = if from == Type::F32 { single } else { 0x7fff };
            assert_eq!(convert_to_integer(to, from, ZERO, nan), 0, "{to:?} {from:?}");
        }
    }
    for to in [Type::S64, Type::U64] {
        assert_eq!(convert_to_integer(to, Type::F32, ZERO, single), 1 << 63);
        assert_eq!(convert_to_integer(to, Type::F16, ZERO, 0x7e00), 1 << 63);
        assert_eq!(convert_to_integer(to, Type::F64, ZERO, double), 1 << 63);
    }
    assert_eq!(convert_to_integer(Type::S32, Type::F64, ZERO, double), 0x8000_0000);
    assert_eq!(convert_to_integer(Type::U32, Type::F64, NEAREST, double), 0x8000_0000);
    assert_eq!(convert_to_integer(Type::S16, Type::F64, ZERO, double), 0x8000);
    assert_eq!(convert_to_integer(Type::U8, Type::F64, ZERO, double), 0x80);
}

#[test]
fn flushing_only_applies_to_f32() {
    let run = |to, from, rounding, integer, a| convert(to, from, rounding, integer, FLUSH, a, None);
    // As a source:
    assert_eq!(run(Type::S32, Type::F32, UP, true, 1), 0);
    assert_eq!(convert_to_integer(Type::S32, Type::F32, UP, 1), 1);
    assert_eq!(run(Type::F64, Type::F32, None, false, 0x8000_0001), 1 << 63);
    assert_eq!(run(Type::F32, Type::F32, None, false, 0x807f_ffff), 0x8000_0000);
    assert_eq!(run(Type::F32, Type::F32, UP, true, 1), 0);
    // As a destination:
    assert_eq!(run(Type::F32, Type::F64, NEAREST, false, 1e-40_f64.to_bits()), 0);
    assert_eq!(convert_float(Type::F32, Type::F64, NEAREST, 1e-40_f64.to_bits()), 0x0001_16c2);
    // 2^−126 − 2^−150 rounds to the smallest normal number, but it is tiny when rounded to 24
    // significant bits.
    assert_eq!(convert_float(Type::F32, Type::F64, NEAREST, 0x380f_ffff_e000_0000), 0x0080_0000);
    assert_eq!(run(Type::F32, Type::F64, NEAREST, false, 0x380f_ffff_e000_0000), 0);
    assert_eq!(run(Type::F32, Type::F64, NEAREST, false, 0x380f_ffff_ffff_ffff), 0x0080_0000);
    // A subnormal f16 is a normal f32, and a subnormal f16 result is kept.
    assert_eq!(run(Type::F32, Type::F16, None, false, 1), bits(2.0_f32.powi(-24)));
    assert_eq!(run(Type::F16, Type::F32, NEAREST, false, bits(2.0_f32.powi(-24))), 1);
    // A subnormal bf16 becomes a subnormal f32.
    assert_eq!(run(Type::F32, Type::Bf16, None, false, 1), 0);
    assert_eq!(convert_float(Type::F32, Type::Bf16, None, 1), 0x0001_0000);
}

#[test]
fn floats_rounded_to_integers_stay_floats_and_keep_their_sign() {
    let run = |rounding, x: f32| convert_to_integer(Type::F32, Type::F32, rounding, bits(x));
    assert_eq!(run(NEAREST, 2.5), bits(2.0));
    assert_eq!(run(UP, -0.3), bits(-0.0));
    assert_eq!(run(ZERO, -0.3), bits(-0.0));
    assert_eq!(run(DOWN, -0.3), bits(-1.0));
    assert_eq!(run(UP, 1e30), bits(1e30));
    assert_eq!(run(NEAREST, f32::INFINITY), bits(f32::INFINITY));
    assert_eq!(run(NEAREST, f32::NAN), NAN);
    let expected = (-2.0_f64).to_bits();
    assert_eq!(convert_to_integer(Type::F64, Type::F64, DOWN, (-1.5_f64).to_bits()), expected);
    assert_eq!(convert_to_integer(Type::F16, Type::F16, UP, 0x3c01), 0x4000);
    assert_eq!(convert_to_integer(Type::Bf16, Type::Bf16, NEAREST, 0x4020), 0x4000);
    // With both modifiers, 1.7 is first rounded to 2, which is then clamped.
    let saturated = convert(Type::F32, Type::F32, NEAREST, true, SATURATE, bits(1.7), None);
    assert_eq!(saturated, bits(1.0));
}

#[test]
fn integers_convert_to_floats() {
    assert_eq!(convert_float(Type::F32, Type::S32, NEAREST, 0xffff_ffff), bits(-1.0));
    assert_eq!(convert_float(Type::F32, Type::U32, NEAREST, 0xffff_ffff), bits(4294967296.0));
    assert_eq!(convert_float(Type::F32, Type::U32, ZERO, 0xffff_ffff), bits(4294967040.0));
    assert_eq!(convert_float(Type::F32, Type::S32, NEAREST, 16777217), bits(16777216.0));
    assert_eq!(convert_float(Type::F32, Type::S32, UP, 16777217), bits(16777218.0));
    let expected = 18446744073709551616.0_f64.to_bits();
    assert_eq!(convert_float(Type::F64, Type::U64, NEAREST, u64::MAX), expected);
    assert_eq!(convert_float(Type::F64, Type::S64, ZERO, i64::MAX as u64), 0x43df_ffff_ffff_ffff);
    assert_eq!(convert_float(Type::F16, Type::S32, NEAREST, 65520), 0x7c00);
    assert_eq!(convert_float(Type::F16, Type::S32, ZERO, 65520), 0x7bff);
    assert_eq!(convert_float(Type::F16, Type::U8, NEAREST, 0x1ff), 0x5bf8);
    assert_eq!(convert_float(Type::Bf16, Type::S16, NEAREST, 0x8000), 0xc700);
    assert_eq!(convert(Type::F32, Type::S32, NEAREST, false, SATURATE, 7, None), bits(1.0));
}

/// Compares the small functions, which the engine calls in loops over lanes, with the integer-based
/// general function. Modes that don't change the result, such as `.rna` for a value that isn't a
/// tie, make the general function avoid its fast path.
#[test]
fn small_functions_equal_the_general_ones() {
    let mut random = Random(3);
    // This mode changes nothing here, but avoids the fast path.
    let slow = |to, from, rounding, a| convert(to, from, rounding, false, FLUSH, a, None);
    for _ in 0..500_000 {
        let a = F32.draw(&mut random);
        let x = f32::from_bits(a as u32);
        if x == 0.0 || x.is_normal() || x.is_nan() || x.is_infinite() {
            let expected = slow(Type::F16, Type::F32, NEAREST, a);
            assert_eq!(u64::from(fast::f32_to_f16(x)), expected, "{a:x}");
            let expected = slow(Type::Bf16, Type::F32, NEAREST, a);
            assert_eq!(u64::from(fast::f32_to_bf16(x)), expected, "{a:x}");
            let expected = slow(Type::S32, Type::F32, ZERO, a);
            assert_eq!(u64::from(fast::f32_to_s32(x) as u32), expected, "{a:x}");
            if !x.is_nan() {
                let double = slow(Type::F64, Type::F32, None, a);
                assert_eq!(fast::f32_to_f64(x).to_bits(), double, "{a:x}");
            }
        }
        let small = a as u32 >> (a >> 40 & 31);
        let expected = slow(Type::F32, Type::U32, NEAREST, u64::from(small));
        assert_eq!(bits(fast::u32_to_f32(small)), expected);
        let expected = slow(Type::F32, Type::S32, NEAREST, u64::from(small));
        assert_eq!(bits(fast::s32_to_f32(small as i32)), expected);
        let a = F64.draw(&mut random);
        let direct = convert(Type::F32, Type::F64, NEAREST, false, PLAIN, a, None);
        assert_eq!(bits(fast::f64_to_f32(f64::from_bits(a))), direct, "{a:x}");
    }
}

proptest! {
    #![proptest_config(config(4000))]

    /// Rust's own conversions round towards zero and clamp.
    #[test]
    fn rounding_towards_zero_equals_rust(a in any::<u64>(), b in any::<u32>()) {
        let (double, single) = (f64::from_bits(a), f32::from_bits(b));
        prop_assume!(!double.is_nan() && !single.is_nan());
        for x in [double, f64::from(single), double.rem_euclid(1e20) - 5e19] {
            prop_assume!(!x.is_nan());
            let run = |to| convert_to_integer(to, Type::F64, ZERO, x.to_bits());
            prop_assert_eq!(run(Type::S8), x as i8 as u8 as u64);
            prop_assert_eq!(run(Type::U16), x as u16 as u64);
            prop_assert_eq!(run(Type::S32), x as i32 as u32 as u64);
            prop_assert_eq!(run(Type::U64), x as u64);
            prop_assert_eq!(run(Type::S64), x as i64 as u64);
        }
    }

    /// No conversion between any two types panics.
    #[test]
    fn no_conversion_panics(a in any::<u64>(), b in any::<Option<u64>>(), all in any::<u8>()) {
        let mode = FloatMode {
            rounding: Rounding::NearestEven,
            flush: all & 1 != 0,
            saturate: all & 2 != 0,
            relu: all & 4 != 0,
        };
        for &(_, to, _) in Type::NAMED {
            for &(_, from, _) in Type::NAMED {
                for rounding in [None, NEAREST, DOWN, Some(Rounding::NearestAway)] {
                    let result = convert(to, from, rounding, all & 8 != 0, mode, a, b);
                    prop_assert_eq!(result & !crate::arithmetic::bits::mask(
                        crate::arithmetic::bits::width(to)), 0, "{:?} {:?}", to, from);
                }
            }
        }
    }
}
