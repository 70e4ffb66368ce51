//! `setp`, `set`, `slct`, `selp`, `testp`.

use super::{COMPARISONS, bits};
use crate::arithmetic::{combine, compare, compare_both, select_by_sign, set_value, test_property};
use crate::program::{Combine, Comparison, FloatProperty, Type};

/// Columns as in [`COMPARISONS`], copied from the ISA's "Comparisons" (of floating-point values).
const LESS: [bool; 14] = columns("-+++--|-+++--|+-");
const EQUAL: [bool; 14] = columns("+--+-+|+--+-+|+-");
const GREATER: [bool; 14] = columns("-+--++|-+--++|+-");
const UNORDERED: [bool; 14] = columns("------|++++++|-+");

const fn columns(signs: &str) -> [bool; 14] {
    let bytes = signs.as_bytes();
    let mut columns = [false; 14];
    let (mut at, mut column) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'|' {
            columns[column] = bytes[at] == b'+';
            column += 1;
        }
        at += 1;
    }
    columns
}

#[test]
fn ordered_and_unordered_comparisons_of_f32() {
    let nan = f32::NAN;
    let inf = f32::INFINITY;
    let tiny = f32::from_bits(1);
    for (a, b, row) in [
        (1.0, 2.0, LESS),
        (-2.0, -1.0, LESS),
        (-1.0, 1.0, LESS),
        (-inf, inf, LESS),
        (0.0, tiny, LESS),
        (-tiny, 0.0, LESS),
        (1.5, 1.5, EQUAL),
        (-0.0, 0.0, EQUAL),
        (0.0, -0.0, EQUAL),
        (inf, inf, EQUAL),
        (2.0, 1.0, GREATER),
        (1.0, -1.0, GREATER),
        (nan, 1.0, UNORDERED),
        (1.0, nan, UNORDERED),
        (nan, nan, UNORDERED),
        (nan, inf, UNORDERED),
    ] {
        for (comparison, expected) in COMPARISONS.into_iter().zip(row) {
            let found = compare(comparison, Type::F32, false, bits(a), bits(b));
            assert_eq!(found, expected, "{a} {comparison:?} {b}");
            let (a, b) = (f64::from(a), f64::from(b));
            let found = compare(comparison, Type::F64, false, a.to_bits(), b.to_bits());
            assert_eq!(found, expected, "{a} {comparison:?} {b}");
        }
    }
}

#[test]
fn comparisons_of_halves() {
    // 1.0, 2.0, NaN, −0, the smallest subnormal
    for (ty, one, two, nan, tiny) in
        [(Type::F16, 0x3c00, 0x4000, 0x7e00, 1), (Type::Bf16, 0x3f80, 0x4000, 0x7fc0, 1)]
    {
        for (comparison, i) in COMPARISONS.into_iter().zip(0..) {
            assert_eq!(compare(comparison, ty, false, one, two), LESS[i]);
            assert_eq!(compare(comparison, ty, false, one | 0x8000, two | 0x8000), GREATER[i]);
            assert_eq!(compare(comparison, ty, false, 0x8000, 0), EQUAL[i]);
            assert_eq!(compare(comparison, ty, false, one, nan), UNORDERED[i]);
            assert_eq!(compare(comparison, ty, false, 0, tiny), LESS[i]);
            assert_eq!(compare(comparison, ty, true, 0x8000, tiny), EQUAL[i]);
        }
    }
}

#[test]
fn flushed_subnormals_equal_zero() {
    let tiny = u64::from(f32::MIN_POSITIVE.to_bits()) - 1;
    assert!(!compare(Comparison::Eq, Type::F32, false, tiny, 0));
    assert!(compare(Comparison::Eq, Type::F32, true, tiny, 0));
    assert!(compare(Comparison::Eq, Type::F32, true, tiny, tiny | 0x8000_0000));
    assert!(compare(Comparison::Gt, Type::F32, true, tiny + 1, 0));
}

#[test]
fn signed_and_unsigned_comparisons_differ() {
    let ones = 0xffff_ffff;
    assert!(compare(Comparison::Lt, Type::S32, false, ones, 0));
    assert!(compare(Comparison::Gt, Type::U32, false, ones, 0));
    assert!(compare(Comparison::Gt, Type::U64, false, u64::MAX, 1));
    assert!(compare(Comparison::Le, Type::S64, false, u64::MAX, 1));
    assert!(compare(Comparison::Ge, Type::S16, false, 0x7fff, 0x8000));
    assert!(compare(Comparison::Lt, Type::U16, false, 0x7fff, 0x8000));
    assert!(compare(Comparison::Eq, Type::B32, false, 0x1_0000_0005, 5));
    assert!(compare(Comparison::Ne, Type::B64, false, 0x1_0000_0005, 5));
}

#[test]
fn packed_halves_compare_separately() {
    // (lower, upper) = (1, NaN) against (1, 1)
    let (a, b) = (0x7e00_3c00, 0x3c00_3c00);
    assert_eq!(compare_both(Comparison::Eq, Type::F16x2, false, a, b), (true, false));
    assert_eq!(compare_both(Comparison::Neu, Type::F16x2, false, a, b), (false, true));
    // A scalar comparison also returns its negation.
    assert_eq!(compare_both(Comparison::Lt, Type::S32, false, 1, 2), (true, false));
    let nan = bits(f32::NAN);
    assert_eq!(compare_both(Comparison::Lt, Type::F32, false, nan, nan), (false, true));
}

#[test]
fn predicates_combine() {
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(combine(Combine::And, a, b), a & b);
        assert_eq!(combine(Combine::Or, a, b), a | b);
        assert_eq!(combine(Combine::Xor, a, b), a ^ b);
    }
}

#[test]
fn set_writes_all_ones_or_one() {
    let yes = (true, false);
    let no = (false, true);
    assert_eq!(set_value(Type::U32, Type::F32, yes), 0xffff_ffff);
    assert_eq!(set_value(Type::S32, Type::S64, yes), 0xffff_ffff);
    assert_eq!(set_value(Type::F32, Type::S32, yes), bits(1.0));
    assert_eq!(set_value(Type::F32, Type::S32, no), 0);
    assert_eq!(set_value(Type::U16, Type::F16, yes), 0xffff);
    assert_eq!(set_value(Type::F16, Type::F16, yes), 0x3c00);
    assert_eq!(set_value(Type::Bf16, Type::Bf16, yes), 0x3f80);
    assert_eq!(set_value(Type::F16x2, Type::F16x2, yes), 0x0000_3c00);
    assert_eq!(set_value(Type::F16x2, Type::F16x2, (true, true)), 0x3c00_3c00);
    assert_eq!(set_value(Type::Bf16x2, Type::Bf16x2, no), 0x3f80_0000);
    assert_eq!(set_value(Type::U32, Type::F16x2, no), 0xffff_0000);
}

#[test]
fn slct_selects_by_sign() {
    let pick = |ty, flush, c| select_by_sign(ty, flush, 1, 2, c);
    assert_eq!(pick(Type::S32, false, 0), 1);
    assert_eq!(pick(Type::S32, false, 0xffff_ffff), 2);
    assert_eq!(pick(Type::F32, false, bits(3.0)), 1);
    assert_eq!(pick(Type::F32, false, bits(-0.0)), 1);
    assert_eq!(pick(Type::F32, false, bits(-1.0)), 2);
    assert_eq!(pick(Type::F32, false, bits(f32::NAN)), 2);
    assert_eq!(pick(Type::F32, false, 0x8000_0001), 2);
    assert_eq!(pick(Type::F32, true, 0x8000_0001), 1);
}

#[test]
fn testp_classifies_numbers() {
    use FloatProperty::{Finite, Infinite, Normal, NotANumber, Number, Subnormal};
    let order = [Finite, Infinite, Number, NotANumber, Normal, Subnormal];
    for (x, signs) in [
        (1.0, "+-+-+-"),
        (0.0, "+-+-+-"),
        (-0.0, "+-+-+-"),
        (f32::MIN_POSITIVE, "+-+-+-"),
        (f32::from_bits(1), "+-+--+"),
        (-f32::from_bits(0x007f_ffff), "+-+--+"),
        (f32::MAX, "+-+-+-"),
        (f32::INFINITY, "-++---"),
        (f32::NEG_INFINITY, "-++---"),
        (f32::NAN, "---+--"),
    ] {
        for (property, sign) in order.into_iter().zip(signs.chars()) {
            let expected = sign == '+';
            assert_eq!(test_property(property, Type::F32, bits(x)), expected, "{property:?} {x}");
        }
    }
    assert!(test_property(Subnormal, Type::F64, 1));
    assert!(test_property(Normal, Type::F64, 1 << 63));
    assert!(test_property(Infinite, Type::F64, f64::INFINITY.to_bits()));
    assert!(test_property(NotANumber, Type::F64, f64::NAN.to_bits()));
}
