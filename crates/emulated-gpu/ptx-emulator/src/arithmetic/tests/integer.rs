//! Integers: fixed values, and comparison with Rust's own integer types.

use super::oracle::config;
use crate::arithmetic::integer as fast;
use crate::arithmetic::{carry, int_binary, int_mad, int_unary, sad};
use crate::program::{IntBinary, IntUnary, Type};
use proptest::prelude::*;

const ADD: IntBinary = IntBinary::Add { saturate: false };
const SUB: IntBinary = IntBinary::Sub { saturate: false };
const BFIND: IntUnary = IntUnary::BFind { shift_amount: false };
const BFIND_SHIFT: IntUnary = IntUnary::BFind { shift_amount: true };
const NONE: u64 = 0xffff_ffff;

#[test]
fn addition_and_subtraction_wrap_in_their_width() {
    assert_eq!(int_binary(ADD, Type::U16, 0xffff, 2), 1);
    assert_eq!(int_binary(ADD, Type::S32, 0x7fff_ffff, 1), 0x8000_0000);
    assert_eq!(int_binary(ADD, Type::U64, u64::MAX, 1), 0);
    assert_eq!(int_binary(SUB, Type::U32, 0, 1), 0xffff_ffff);
    assert_eq!(int_binary(SUB, Type::S16, 0x8000, 1), 0x7fff);
    // Bits above the width are ignored.
    assert_eq!(int_binary(ADD, Type::U16, 0xabcd_0001, 0xffff_0001), 2);
}

#[test]
fn packed_halves_do_not_carry_into_each_other() {
    assert_eq!(int_binary(ADD, Type::U16x2, 0x0001_ffff, 0x0001_0001), 0x0002_0000);
    assert_eq!(int_binary(IntBinary::Min, Type::S16x2, 0x8000_0001, 0x0001_ffff), 0x8000_ffff);
    assert_eq!(int_binary(IntBinary::Max, Type::U16x2, 0x8000_0001, 0x0001_ffff), 0x8000_ffff);
}

#[test]
fn saturation_clamps_to_minint_and_maxint() {
    let add = IntBinary::Add { saturate: true };
    let sub = IntBinary::Sub { saturate: true };
    assert_eq!(int_binary(add, Type::S32, 0x7fff_ffff, 1), 0x7fff_ffff);
    assert_eq!(int_binary(add, Type::S32, 0x8000_0000, 0xffff_ffff), 0x8000_0000);
    assert_eq!(int_binary(add, Type::S32, 5, 0xffff_fffd), 2);
    assert_eq!(int_binary(sub, Type::S32, 0x8000_0000, 1), 0x8000_0000);
    assert_eq!(int_binary(sub, Type::S32, 0x7fff_ffff, 0xffff_ffff), 0x7fff_ffff);
}

#[test]
fn products_keep_their_lower_upper_or_all_bits() {
    // −2 · 3
    assert_eq!(int_binary(IntBinary::MulLow, Type::S32, 0xffff_fffe, 3), 0xffff_fffa);
    assert_eq!(int_binary(IntBinary::MulHigh, Type::S32, 0xffff_fffe, 3), 0xffff_ffff);
    assert_eq!(int_binary(IntBinary::MulHigh, Type::U32, 0xffff_fffe, 3), 2);
    assert_eq!(int_binary(IntBinary::MulWide, Type::S32, 0xffff_fffe, 3), 0xffff_ffff_ffff_fffa);
    assert_eq!(int_binary(IntBinary::MulWide, Type::U32, 0xffff_fffe, 3), 0x2_ffff_fffa);
    assert_eq!(int_binary(IntBinary::MulWide, Type::S16, 0xffff, 0xffff), 1);
    assert_eq!(int_binary(IntBinary::MulWide, Type::S16, 0x8000, 2), 0xffff_0000);
    assert_eq!(int_binary(IntBinary::MulWide, Type::U16, 0xffff, 0xffff), 0xfffe_0001);
    assert_eq!(int_binary(IntBinary::MulHigh, Type::U64, u64::MAX, u64::MAX), u64::MAX - 1);
    assert_eq!(int_binary(IntBinary::MulHigh, Type::S64, u64::MAX, u64::MAX), 0);
    assert_eq!(int_binary(IntBinary::MulHigh, Type::S64, 1 << 63, 1 << 63), 1 << 62);
}

#[test]
fn products_of_24_bits_ignore_higher_bits() {
    let (low, high) = (IntBinary::Mul24Low, IntBinary::Mul24High);
    assert_eq!(int_binary(low, Type::U32, 0xff00_0003, 0xff00_0004), 12);
    // 0xffffff is −1 as a signed 24-bit number.
    assert_eq!(int_binary(low, Type::S32, 0x00ff_ffff, 5), 0xffff_fffb);
    assert_eq!(int_binary(high, Type::S32, 0x00ff_ffff, 5), 0xffff_ffff);
    // 0xffffff² = 0xfffffe000001
    assert_eq!(int_binary(low, Type::U32, 0x00ff_ffff, 0x00ff_ffff), 0xfe00_0001);
    assert_eq!(int_binary(high, Type::U32, 0x00ff_ffff, 0x00ff_ffff), 0xffff_fe00);
}

#[test]
fn division_rounds_towards_zero_and_by_zero_gives_all_ones() {
    let (div, rem) = (IntBinary::Div, IntBinary::Rem);
    assert_eq!(int_binary(div, Type::S32, (-7_i32) as u32 as u64, 2), (-3_i32) as u32 as u64);
    assert_eq!(int_binary(rem, Type::S32, (-7_i32) as u32 as u64, 2), (-1_i32) as u32 as u64);
    assert_eq!(int_binary(rem, Type::S32, 7, (-2_i32) as u32 as u64), 1);
    assert_eq!(int_binary(div, Type::U32, 0xffff_fff9, 2), 0x7fff_fffc);
    for (ty, ones) in [
        (Type::U16, 0xffff),
        (Type::S16, 0xffff),
        (Type::U32, 0xffff_ffff),
        (Type::S32, 0xffff_ffff),
        (Type::U64, u64::MAX),
        (Type::S64, u64::MAX),
    ] {
        assert_eq!(int_binary(div, ty, 5, 0), ones);
        assert_eq!(int_binary(rem, ty, 5, 0), ones);
    }
    for (ty, least, minus_one) in [
        (Type::S16, 0x8000, 0xffff),
        (Type::S32, 0x8000_0000, 0xffff_ffff),
        (Type::S64, 1 << 63, u64::MAX),
    ] {
        assert_eq!(int_binary(div, ty, least, minus_one), least);
        assert_eq!(int_binary(rem, ty, least, minus_one), 0);
    }
}

#[test]
fn minimum_and_maximum_depend_on_signedness() {
    assert_eq!(int_binary(IntBinary::Min, Type::S32, 0xffff_ffff, 1), 0xffff_ffff);
    assert_eq!(int_binary(IntBinary::Min, Type::U32, 0xffff_ffff, 1), 1);
    assert_eq!(int_binary(IntBinary::Max, Type::S64, u64::MAX, 1), 1);
    assert_eq!(int_binary(IntBinary::Max, Type::U64, u64::MAX, 1), u64::MAX);
    assert_eq!(int_binary(IntBinary::Max, Type::S16, 0x8000, 0x7fff), 0x7fff);
}

#[test]
fn logic_works_in_the_width_of_its_type() {
    assert_eq!(int_binary(IntBinary::And, Type::B16, 0xff0f, 0x3333), 0x3303);
    assert_eq!(int_binary(IntBinary::Or, Type::B32, 0xf0, 0x0f), 0xff);
    assert_eq!(int_binary(IntBinary::Xor, Type::B64, u64::MAX, 1), u64::MAX - 1);
    assert_eq!(int_binary(IntBinary::Xor, Type::Pred, 1, 1), 0);
    assert_eq!(int_binary(IntBinary::And, Type::Pred, 1, 1), 1);
    assert_eq!(int_unary(IntUnary::Not, Type::Pred, 0), 1);
    assert_eq!(int_unary(IntUnary::Not, Type::B16, 0x00ff), 0xff00);
    assert_eq!(int_unary(IntUnary::Not, Type::B64, 0), u64::MAX);
    assert_eq!(int_unary(IntUnary::CNot, Type::B32, 0), 1);
    assert_eq!(int_unary(IntUnary::CNot, Type::B16, 7), 0);
}

#[test]
fn shifts_beyond_the_width_are_clamped_to_it() {
    let (left, right) = (IntBinary::ShiftLeft, IntBinary::ShiftRight);
    assert_eq!(int_binary(left, Type::B32, 1, 31), 0x8000_0000);
    assert_eq!(int_binary(left, Type::B16, 0x8001, 1), 2);
    assert_eq!(int_binary(right, Type::S32, 0x8000_0000, 4), 0xf800_0000);
    assert_eq!(int_binary(right, Type::U32, 0x8000_0000, 4), 0x0800_0000);
    assert_eq!(int_binary(right, Type::B32, 0x8000_0000, 4), 0x0800_0000);
    for amount in [64, 65, 255, 0x8000_0000, 0xffff_ffff] {
        for ty in [Type::B16, Type::B32, Type::B64] {
            assert_eq!(int_binary(left, ty, u64::MAX, amount), 0);
            assert_eq!(int_binary(right, ty, u64::MAX, amount), 0);
        }
        assert_eq!(int_binary(right, Type::S16, 0x8000, amount), 0xffff);
        assert_eq!(int_binary(right, Type::S32, 0x8000_0000, amount), 0xffff_ffff);
        assert_eq!(int_binary(right, Type::S64, 1 << 63, amount), u64::MAX);
        assert_eq!(int_binary(right, Type::S64, 1 << 62, amount), 0);
    }
    assert_eq!(int_binary(left, Type::B32, 1, 32), 0);
    assert_eq!(int_binary(right, Type::U32, u64::MAX, 32), 0);
    assert_eq!(int_binary(right, Type::S32, 0x8000_0000, 32), 0xffff_ffff);
    assert_eq!(int_binary(left, Type::B16, 1, 16), 0);
}

#[test]
fn negation_and_magnitude_have_the_right_sign() {
    assert_eq!(int_unary(IntUnary::Neg, Type::S32, 1), 0xffff_ffff);
    assert_eq!(int_unary(IntUnary::Neg, Type::S16, 0x8000), 0x8000);
    assert_eq!(int_unary(IntUnary::Abs, Type::S32, 0xffff_fffb), 5);
    assert_eq!(int_unary(IntUnary::Abs, Type::S16, 0x8000), 0x8000);
    assert_eq!(int_unary(IntUnary::Abs, Type::S64, 1 << 63), 1 << 63);
}

#[test]
fn bits_are_counted_found_and_reversed() {
    assert_eq!(int_unary(IntUnary::PopC, Type::B32, 0xf0f0), 8);
    assert_eq!(int_unary(IntUnary::PopC, Type::B64, u64::MAX), 64);
    assert_eq!(int_unary(IntUnary::Clz, Type::B32, 0), 32);
    assert_eq!(int_unary(IntUnary::Clz, Type::B32, 1), 31);
    assert_eq!(int_unary(IntUnary::Clz, Type::B64, 0), 64);
    assert_eq!(int_unary(IntUnary::Clz, Type::B64, 1 << 63), 0);
    assert_eq!(int_unary(IntUnary::Brev, Type::B32, 1), 0x8000_0000);
    assert_eq!(int_unary(IntUnary::Brev, Type::B32, 0x0000_0f00), 0x00f0_0000);
    assert_eq!(int_unary(IntUnary::Brev, Type::B64, 1), 1 << 63);

    assert_eq!(int_unary(BFIND, Type::U32, 0), NONE);
    assert_eq!(int_unary(BFIND, Type::U32, 0x0001_0000), 16);
    assert_eq!(int_unary(BFIND, Type::U64, 1 << 63), 63);
    // For a negative number, the result is the position of the most significant 0; −1 has no 0.
    assert_eq!(int_unary(BFIND, Type::S32, 0xffff_fff0), 3);
    assert_eq!(int_unary(BFIND, Type::S32, 0xffff_ffff), NONE);
    assert_eq!(int_unary(BFIND, Type::S64, u64::MAX), NONE);
    assert_eq!(int_unary(BFIND_SHIFT, Type::U32, 0x0001_0000), 15);
    assert_eq!(int_unary(BFIND_SHIFT, Type::S64, 1), 63);
    assert_eq!(int_unary(BFIND_SHIFT, Type::U32, 0), NONE);
}

#[test]
fn mad_adds_in_the_width_of_the_product() {
    assert_eq!(int_mad(IntBinary::MulLow, false, Type::S32, 3, 0xffff_ffff, 5), 2);
    assert_eq!(int_mad(IntBinary::MulHigh, false, Type::U32, 1 << 31, 4, 0xffff_ffff), 1);
    let expected = (1 << 40) - 2;
    assert_eq!(int_mad(IntBinary::MulWide, false, Type::S32, 0xffff_ffff, 2, 1 << 40), expected);
    let actual = int_mad(IntBinary::MulWide, false, Type::U16, 0xffff, 0xffff, 0xffff_ffff);
    assert_eq!(actual, 0xfffe_0000);
    // 0x40000000² >> 32 = 0x10000000
    let near_max = 0x7000_0000;
    let expected = 0x7fff_ffff;
    assert_eq!(int_mad(IntBinary::MulHigh, true, Type::S32, 1 << 30, 1 << 30, near_max), expected);
    let expected = 0x8000_0000;
    assert_eq!(int_mad(IntBinary::MulHigh, false, Type::S32, 1 << 30, 1 << 30, near_max), expected);
    assert_eq!(int_mad(IntBinary::Mul24Low, false, Type::U32, 0xff00_0002, 3, 4), 10);
    let expected = 0x4000_0001;
    assert_eq!(int_mad(IntBinary::Mul24High, false, Type::U32, 0x80_0000, 0x80_0000, 1), expected);
}

#[test]
fn additions_set_the_carry_flag() {
    // 128-bit arithmetic in pieces of 32 or 64 bits.
    let add = |ty, a, b, flag| carry(false, None, ty, (a, b, 0), flag);
    assert_eq!(add(Type::U32, 0xffff_ffff, 1, None), (0, true));
    assert_eq!(add(Type::U32, 0xffff_ffff, 0, Some(true)), (0, true));
    assert_eq!(add(Type::U32, 0xffff_ffff, 0xffff_ffff, Some(true)), (0xffff_ffff, true));
    assert_eq!(add(Type::S32, 0x7fff_ffff, 1, None), (0x8000_0000, false));
    assert_eq!(add(Type::U64, u64::MAX, 0, Some(true)), (0, true));
    let low = Some(IntBinary::MulLow);
    let high = Some(IntBinary::MulHigh);
    assert_eq!(carry(false, low, Type::U32, (0x10000, 0xffff, 0x1_0000), None), (0, true));
    let ones = (0xffff_ffff, 0xffff_ffff, 1);
    assert_eq!(carry(false, high, Type::U32, ones, Some(true)), (0, true));
}

/// After a subtraction the flag is set if nothing was borrowed.
#[test]
fn subtraction_sets_the_flag_unless_it_borrows() {
    let sub = |ty, a, b, flag| carry(true, None, ty, (a, b, 0), flag);
    assert_eq!(sub(Type::U32, 0, 1, None), (0xffff_ffff, false));
    assert_eq!(sub(Type::U32, 5, 5, None), (0, true));
    assert_eq!(sub(Type::U32, 5, 5, Some(false)), (0xffff_ffff, false));
    assert_eq!(sub(Type::U32, 5, 4, Some(false)), (0, true));
    assert_eq!(sub(Type::U32, 5, 4, Some(true)), (1, true));
    assert_eq!(sub(Type::U64, 0, u64::MAX, Some(false)), (0, false));
    assert_eq!(sub(Type::U64, u64::MAX, 0, None), (u64::MAX, true));
    // 2^64 - 1 in two words: the low word borrows from the high word.
    let (low, flag) = sub(Type::U32, 0, 1, None);
    assert_eq!((low, sub(Type::U32, 1, 0, Some(flag))), (0xffff_ffff, (0, true)));
}

/// The example of the ISA's "madc": a product of 128 bits from four of 64.
#[test]
fn carries_build_a_product_of_128_bits() {
    let (low, high) = (Some(IntBinary::MulLow), Some(IntBinary::MulHigh));
    let multiply = |r4: u64, r5: u64, r6: u64, r7: u64| {
        let u32s = Type::U32;
        let r0 = int_binary(IntBinary::MulLow, u32s, r4, r6);
        let r1 = int_binary(IntBinary::MulHigh, u32s, r4, r6);
        let (r1, cf) = carry(false, low, u32s, (r5, r6, r1), None);
        let (r2, _) = carry(false, high, u32s, (r5, r6, 0), Some(cf));
        let (r1, cf) = carry(false, low, u32s, (r4, r7, r1), None);
        let (r2, cf) = carry(false, high, u32s, (r4, r7, r2), Some(cf));
        let (r3, _) = carry(false, None, u32s, (0, 0, 0), Some(cf));
        let (r2, cf) = carry(false, low, u32s, (r5, r7, r2), None);
        let (r3, _) = carry(false, high, u32s, (r5, r7, r3), Some(cf));
        u128::from(r3) << 96 | u128::from(r2) << 64 | u128::from(r1) << 32 | u128::from(r0)
    };
    for (a, b) in [(u64::MAX, u64::MAX), (0x1234_5678_9abc_def0, 0xfedc_ba98_7654_3210)] {
        let product = multiply(a & NONE, a >> 32, b & NONE, b >> 32);
        assert_eq!(product, u128::from(a) * u128::from(b));
    }
}

#[test]
fn sad_adds_the_absolute_difference() {
    assert_eq!(sad(Type::U32, 3, 10, 100), 107);
    assert_eq!(sad(Type::S32, 0xffff_ffff, 1, 100), 102);
    assert_eq!(sad(Type::U32, 0xffff_ffff, 1, 3), 1);
    assert_eq!(sad(Type::S16, 0x8000, 0x7fff, 1), 0);
    assert_eq!(sad(Type::S64, 1 << 63, (1 << 63) - 1, 0), u64::MAX);
}

/// Rust's own integers, type by type.
macro_rules! against {
    ($a:expr, $b:expr, $c:expr, $($signed:ident $unsigned:ident $s:ident $u:ident $wide:ident),*) => {$(
        let (a, b, c) = ($a as $unsigned, $b as $unsigned, $c as $unsigned);
        let (x, y, z) = ($a as $signed, $b as $signed, $c as $signed);
        let n = <$unsigned>::BITS;
        let (ua, ub, uc) = (a as u64, b as u64, c as u64);
        for ty in [Type::$s, Type::$u] {
            prop_assert_eq!(int_binary(ADD, ty, ua, ub), a.wrapping_add(b) as u64);
            prop_assert_eq!(int_binary(SUB, ty, ua, ub), a.wrapping_sub(b) as u64);
            prop_assert_eq!(int_binary(IntBinary::MulLow, ty, ua, ub), a.wrapping_mul(b) as u64);
            let expected = a.wrapping_mul(b).wrapping_add(c) as u64;
            prop_assert_eq!(int_mad(IntBinary::MulLow, false, ty, ua, ub, uc), expected);
        }
        let expected = ((a as u128 * b as u128) >> n) as $unsigned as u64;
        prop_assert_eq!(int_binary(IntBinary::MulHigh, Type::$u, ua, ub), expected);
        let expected = ((x as i128 * y as i128) >> n) as $unsigned as u64;
        prop_assert_eq!(int_binary(IntBinary::MulHigh, Type::$s, ua, ub), expected);
        let expected = a.checked_div(b).unwrap_or(<$unsigned>::MAX) as u64;
        prop_assert_eq!(int_binary(IntBinary::Div, Type::$u, ua, ub), expected);
        let expected = (if y == 0 { -1 } else { x.wrapping_rem(y) }) as $unsigned as u64;
        prop_assert_eq!(int_binary(IntBinary::Rem, Type::$s, ua, ub), expected);
        let expected = (if y == 0 { -1 } else { x.wrapping_div(y) }) as $unsigned as u64;
        prop_assert_eq!(int_binary(IntBinary::Div, Type::$s, ua, ub), expected);
        prop_assert_eq!(int_binary(IntBinary::Min, Type::$s, ua, ub), x.min(y) as $unsigned as u64);
        prop_assert_eq!(int_binary(IntBinary::Max, Type::$u, ua, ub), a.max(b) as u64);
        prop_assert_eq!(sad(Type::$u, ua, ub, uc), a.abs_diff(b).wrapping_add(c) as u64);
        prop_assert_eq!(sad(Type::$s, ua, ub, uc), x.abs_diff(y).wrapping_add(z as $unsigned) as u64);
        prop_assert_eq!(int_unary(IntUnary::Neg, Type::$s, ua), x.wrapping_neg() as $unsigned as u64);
        prop_assert_eq!(int_unary(IntUnary::Abs, Type::$s, ua), x.wrapping_abs() as $unsigned as u64);
    )*};
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn every_width_equals_rust(
        a in any::<u64>(), b in any::<u64>(), c in any::<u64>(), small in 0_u32..64,
    ) {
        let b = b >> small;
        against!(a, b, c, i16 u16 S16 U16 u32, i32 u32 S32 U32 u64, i64 u64 S64 U64 u128);
    }

    #[test]
    fn small_functions_equal_the_general_ones(
        a in any::<u64>(), b in any::<u64>(), small in 0_u32..64, amount in 0_u32..80,
    ) {
        let b = b >> small;
        let (x, y) = (a as u32, b as u32);
        let run = |op, ty| int_binary(op, ty, u64::from(x), u64::from(y)) as u32;
        let shift = |op, ty, a| int_binary(op, ty, a, u64::from(amount));
        prop_assert_eq!(fast::div_u32(x, y), run(IntBinary::Div, Type::U32));
        prop_assert_eq!(fast::rem_u32(x, y), run(IntBinary::Rem, Type::U32));
        prop_assert_eq!(fast::div_s32(x as i32, y as i32) as u32, run(IntBinary::Div, Type::S32));
        prop_assert_eq!(fast::rem_s32(x as i32, y as i32) as u32, run(IntBinary::Rem, Type::S32));
        prop_assert_eq!(fast::mul_hi_u32(x, y), run(IntBinary::MulHigh, Type::U32));
        prop_assert_eq!(fast::mul_hi_s32(x as i32, y as i32) as u32, run(IntBinary::MulHigh, Type::S32));
        let (left, right) = (IntBinary::ShiftLeft, IntBinary::ShiftRight);
        prop_assert_eq!(u64::from(fast::shl_b32(x, amount)), shift(left, Type::B32, a));
        prop_assert_eq!(fast::shl_b64(a, amount), shift(left, Type::B64, a));
        prop_assert_eq!(u64::from(fast::shr_u32(x, amount)), shift(right, Type::U32, a));
        prop_assert_eq!(fast::shr_u64(a, amount), shift(right, Type::U64, a));
        prop_assert_eq!(u64::from(fast::shr_s32(x as i32, amount) as u32), shift(right, Type::S32, a));
        prop_assert_eq!(fast::shr_s64(a as i64, amount) as u64, shift(right, Type::S64, a));
    }
}
