//! `cvt` between floating-point numbers: NaN and clamping, pairs, TF32 and the 8-bit formats. Exact
//! rounding is in `rounding.rs`.

use super::convert::{NEAREST, ZERO, convert_float};
use super::oracle::F16;
use super::{FLUSH, NAN, PLAIN, RELU, SATURATE, bits};
use crate::arithmetic::convert as fast;
use crate::arithmetic::convert;
use crate::program::{Rounding, Type};

#[test]
fn nans_and_clamps_between_floats() {
    assert_eq!(convert_float(Type::F32, Type::F16, None, 0xfe01), NAN);
    assert_eq!(convert_float(Type::F32, Type::Bf16, None, 0xff81), 0xff81_0000);
    assert_eq!(convert_float(Type::F16, Type::F32, NEAREST, 0xff80_0001), 0x7fff);
    assert_eq!(convert_float(Type::Bf16, Type::F32, NEAREST, 0xff80_0001), 0x7fff);
    assert_eq!(convert_float(Type::Bf16, Type::F32, ZERO, 0xff80_0001), 0x7fff);
    assert_eq!(convert_float(Type::F64, Type::F32, None, 0xff80_0001), 0xfff8_0000_2000_0000);
    let run = |mode, to, x: f32| convert(to, Type::F32, NEAREST, false, mode, bits(x), None);
    assert_eq!(run(SATURATE, Type::F16, 2.0), 0x3c00);
    assert_eq!(run(SATURATE, Type::F16, f32::NAN), 0);
    assert_eq!(run(SATURATE, Type::F32, -3.0), 0);
    assert_eq!(run(RELU, Type::F16, -2.0), 0);
    assert_eq!(run(RELU, Type::F16, 2.0), 0x4000);
    assert_eq!(run(RELU, Type::F16, f32::NAN), 0x7fff);
    assert_eq!(run(RELU, Type::Bf16, -0.0), 0);
    assert_eq!(run(PLAIN, Type::F16, -0.0), 0x8000);
}

/// The results of an H100 for operands that are NaN.
#[test]
fn nans_keep_the_payload_that_a_card_keeps() {
    let signalling = 0xfff0_0000_0000_0001;
    for (to, from, rounding, a, d) in [
        (Type::F32, Type::F32, None, 0xff80_0001, 0xff80_0001),
        (Type::F64, Type::F64, None, signalling, signalling),
        (Type::F64, Type::F16, None, 0x7c87, 0x7ffa_1c00_0000_0000),
        (Type::F64, Type::Bf16, None, 0xffeb, 0xfffd_6000_0000_0000),
        (Type::F32, Type::F64, NEAREST, signalling, 0xffc0_0000),
        (Type::F32, Type::F64, ZERO, u64::MAX, 0xffff_ffff),
        (Type::F16, Type::F64, NEAREST, signalling, 0xfe00),
        (Type::F16, Type::F64, NEAREST, u64::MAX, 0xffff),
        (Type::Bf16, Type::F64, NEAREST, signalling, 0xffc0),
        (Type::Tf32, Type::F32, NEAREST, 0xffeb_5d5f, 0x7fff_e000),
        (Type::Tf32, Type::F32, Some(Rounding::NearestAway), 0xffeb_5d5f, 0xffeb_4000),
        (Type::Tf32, Type::F32, Some(Rounding::NearestAway), 0x7f80_0001, 0x7f80_0000),
    ] {
        assert_eq!(convert_float(to, from, rounding, a), d, "{to:?} {from:?} {a:x}");
    }
    let run = |to, rounding, mode, a| convert(to, Type::F32, rounding, false, mode, a, None);
    assert_eq!(run(Type::F64, None, FLUSH, 0xffeb_5d5f), 0x7fff_ffff_e000_0000);
    let away = Some(Rounding::NearestAway);
    for (a, d) in [(0xff80_0001, 0xff7f_e000), (0x7fff_ffff, 0x7fff_c000)] {
        assert_eq!(run(Type::Tf32, away, SATURATE, a), d);
    }
}

#[test]
fn two_floats_are_packed_with_the_first_in_the_upper_half() {
    let run = |to, rounding, mode, a: f32, b: f32| {
        convert(to, Type::F32, rounding, false, mode, bits(a), Some(bits(b)))
    };
    assert_eq!(run(Type::F16x2, NEAREST, PLAIN, 1.0, -2.0), 0x3c00_c000);
    assert_eq!(run(Type::Bf16x2, NEAREST, PLAIN, 1.0, -2.0), 0x3f80_c000);
    assert_eq!(run(Type::Bf16x2, NEAREST, RELU, -1.0, 2.0), 0x0000_4000);
    // 1 + 2^−8 + 2^−20 is above the tie of bf16.
    let x = 1.0 + 2.0_f32.powi(-8) + 2.0_f32.powi(-20);
    assert_eq!(run(Type::Bf16x2, NEAREST, PLAIN, x, x), 0x3f81_3f81);
    assert_eq!(run(Type::Bf16x2, ZERO, PLAIN, x, x), 0x3f80_3f80);
    assert_eq!(run(Type::F16x2, ZERO, PLAIN, 70000.0, f32::NAN), 0x7bff_7fff);
    assert_eq!(run(Type::F16x2, NEAREST, PLAIN, 70000.0, f32::NAN), 0x7c00_7fff);
}

/// Tests `.satfinite` for the types that have no `.sat`.
#[test]
fn satfinite_clamps_to_finite_numbers() {
    let run =
        |to, rounding, a: f32, b| convert(to, Type::F32, rounding, false, SATURATE, bits(a), b);
    let minus_infinity = Some(bits(f32::NEG_INFINITY));
    assert_eq!(run(Type::F16x2, NEAREST, 70000.0, minus_infinity), 0x7bff_fbff);
    assert_eq!(run(Type::F16x2, NEAREST, 3.0, Some(NAN)), 0x4200_7fff);
    assert_eq!(run(Type::Bf16x2, ZERO, f32::MAX, minus_infinity), 0x7f7f_ff7f);
    assert_eq!(run(Type::Bf16, NEAREST, f32::MAX, None), 0x7f7f);
    assert_eq!(run(Type::Bf16, NEAREST, -2.0, None), 0xc000);
    assert_eq!(run(Type::Tf32, Some(Rounding::NearestAway), f32::MAX, None), 0x7f7f_e000);
}

/// Ten bits of fraction, in the upper bits of 32; ties away from zero.
#[test]
fn rounding_to_tf32_keeps_ten_bits_of_fraction() {
    let away = Some(Rounding::NearestAway);
    let run = |rounding, a| convert_float(Type::Tf32, Type::F32, rounding, a);
    assert_eq!(run(away, bits(1.0)), bits(1.0));
    assert_eq!(run(away, 0x3f80_1000), 0x3f80_2000);
    assert_eq!(run(away, 0x3f80_0fff), 0x3f80_0000);
    assert_eq!(run(away, 0xbf80_1000), 0xbf80_2000);
    assert_eq!(run(NEAREST, 0x3f80_1000), 0x3f80_0000);
    assert_eq!(run(NEAREST, 0x3f80_3000), 0x3f80_4000);
    assert_eq!(run(ZERO, 0x3f80_1fff), 0x3f80_0000);
    assert_eq!(run(away, bits(f32::MAX)), bits(f32::INFINITY));
    assert_eq!(run(away, 0xffff_ffff), 0xffff_e000);
    assert_eq!(convert(Type::Tf32, Type::F32, NEAREST, false, RELU, bits(-1.0), None), 0);
}

/// The 8-bit formats: e4m3 has no infinities, and 448 is its largest number; the largest of e5m2 is
/// 57344; both saturate.
#[test]
fn eight_bit_floats_round_and_saturate() {
    let run = |to, mode, a: f32, b: f32| {
        convert(to, Type::F32, NEAREST, false, mode, bits(a), Some(bits(b)))
    };
    assert_eq!(run(Type::E4m3x2, PLAIN, 1.0, -1.5), 0x38bc);
    assert_eq!(run(Type::E4m3x2, PLAIN, 448.0, 1e9), 0x7e7e);
    assert_eq!(run(Type::E4m3x2, PLAIN, f32::NEG_INFINITY, f32::NAN), 0xfe7f);
    // 464 is halfway from 448 to 480, which doesn't exist; 17 is a tie of 16 and 18, 19 one of 18
    // and 20.
    assert_eq!(run(Type::E4m3x2, PLAIN, 464.0, 17.0), 0x7e58);
    assert_eq!(run(Type::E4m3x2, PLAIN, 19.0, -0.0), 0x5a80);
    // The inputs are the smallest subnormal number, 2^−9, and half of it, which is a tie with 0.
    assert_eq!(run(Type::E4m3x2, PLAIN, 2.0_f32.powi(-9), 2.0_f32.powi(-10)), 0x0100);
    assert_eq!(run(Type::E4m3x2, RELU, -3.0, 0.5), 0x0030);
    assert_eq!(run(Type::E5m2x2, PLAIN, 1.0, -1.5), 0x3cbe);
    assert_eq!(run(Type::E5m2x2, PLAIN, 1e9, f32::NEG_INFINITY), 0x7bfb);
    assert_eq!(run(Type::E5m2x2, PLAIN, f32::NAN, 2.0_f32.powi(-16)), 0x7f01);

    let pack = |to, a| convert(to, Type::F16x2, NEAREST, false, PLAIN, a, None);
    assert_eq!(pack(Type::E4m3x2, 0x3c00_be00), 0x38bc);
    assert_eq!(pack(Type::E5m2x2, 0x7c00_3c00), 0x7b3c);
    let unpack = |from, mode, a| convert(Type::F16x2, from, NEAREST, false, mode, a, None);
    assert_eq!(unpack(Type::E4m3x2, PLAIN, 0x38bc), 0x3c00_be00);
    assert_eq!(unpack(Type::E4m3x2, PLAIN, 0x7e7f), 0x5f00_7fff);
    assert_eq!(unpack(Type::E4m3x2, PLAIN, 0x0180), 0x1800_8000);
    assert_eq!(unpack(Type::E4m3x2, RELU, 0x38bc), 0x3c00_0000);
    assert_eq!(unpack(Type::E5m2x2, PLAIN, 0x7c01), 0x7c00_0100);
}

/// All numbers of the 8-bit formats, by definition.
#[test]
fn every_eight_bit_float() {
    for bits in 0..=255_u32 {
        let (field, fraction) = (bits >> 3 & 15, bits & 7);
        let e4m3 = if field == 0 {
            f64::from(fraction) * 2.0_f64.powi(-9)
        } else {
            (1.0 + f64::from(fraction) / 8.0) * 2.0_f64.powi(field as i32 - 7)
        };
        if bits & 0x7f != 0x7f {
            check_eight_bits(Type::E4m3x2, bits, e4m3);
        }
        let (field, fraction) = (bits >> 2 & 31, bits & 3);
        let e5m2 = if field == 0 {
            f64::from(fraction) * 2.0_f64.powi(-16)
        } else {
            (1.0 + f64::from(fraction) / 4.0) * 2.0_f64.powi(field as i32 - 15)
        };
        if field != 31 {
            check_eight_bits(Type::E5m2x2, bits, e5m2);
        }
    }
}

fn check_eight_bits(ty: Type, encoding: u32, magnitude: f64) {
    let value = if encoding & 0x80 == 0 { magnitude } else { -magnitude } as f32;
    let half = convert(Type::F16x2, ty, NEAREST, false, PLAIN, u64::from(encoding), None);
    assert_eq!(fast::f16_to_f32(half as u16).to_bits(), value.to_bits(), "{ty:?} {encoding:#x}");
    let back = convert(ty, Type::F32, NEAREST, false, PLAIN, bits(value), Some(bits(value)));
    assert_eq!(back, u64::from(encoding * 0x101), "{ty:?} {value}");
}

/// All halves, by definition.
#[test]
fn every_half_converts_to_single() {
    for half in 0..=u16::MAX {
        let single = fast::f16_to_f32(half);
        if F16.is_nan(u64::from(half)) {
            assert_eq!(single.to_bits(), 0x7fff_ffff);
            continue;
        }
        let (field, fraction) = (half >> 10 & 31, f64::from(half & 0x3ff));
        let magnitude = match field {
            0 => fraction * 2.0_f64.powi(-24),
            31 => f64::INFINITY,
            _ => (1.0 + fraction / 1024.0) * 2.0_f64.powi(i32::from(field) - 15),
        };
        let value = if half & 0x8000 == 0 { magnitude } else { -magnitude };
        assert_eq!(single.to_bits(), (value as f32).to_bits(), "{half:#x}");
        assert_eq!(fast::f32_to_f16(single), half);
        let brain = fast::bf16_to_f32(half);
        if !brain.is_nan() {
            assert_eq!(fast::f32_to_bf16(brain), half);
        }
    }
}
