//! Bit fields, bytes and dot products: fixed values, and the loops in the ISA.

use super::oracle::config;
use crate::arithmetic::{
    bit_extract, bit_insert, dot_product, find_nth_set, funnel_shift, lop3, permute,
};
use crate::program::{Permute, Type};
use proptest::prelude::*;

const NONE: u64 = 0xffff_ffff;

#[test]
fn bit_fields_have_the_values_of_the_isa() {
    assert_eq!(bit_extract(Type::U32, 0xabcd_1234, 8, 8), 0x12);
    assert_eq!(bit_extract(Type::S32, 0x0000_8000, 8, 8), 0xffff_ff80);
    assert_eq!(bit_extract(Type::S32, 0x8000_0000, 40, 4), 0xffff_ffff);
    assert_eq!(bit_extract(Type::U32, 0x8000_0000, 40, 4), 0);
    assert_eq!(bit_extract(Type::S32, 0xffff_ffff, 0, 0), 0);
    assert_eq!(bit_extract(Type::U64, u64::MAX, 60, 200), 0xf);
    assert_eq!(bit_insert(Type::B32, 0xff, 0, 4, 4), 0xf0);
    assert_eq!(bit_insert(Type::B32, 0, 0xffff_ffff, 28, 100), 0x0fff_ffff);
    assert_eq!(bit_insert(Type::B32, 0xff, 7, 32, 4), 7);
    assert_eq!(bit_insert(Type::B32, 0xff, 7, 3, 0), 7);
    assert_eq!(bit_insert(Type::B64, 1, 0, 63, 9), 1 << 63);
}

/// The four examples in the ISA's "fns", and its corner cases.
#[test]
fn find_nth_set_bit() {
    assert_eq!(find_nth_set(0xaaaa_aaaa, 3, 1), 3);
    assert_eq!(find_nth_set(0xaaaa_aaaa, 3, -1), 3);
    assert_eq!(find_nth_set(0xaaaa_aaaa, 2, 1), 3);
    assert_eq!(find_nth_set(0xaaaa_aaaa, 2, -1), 1);
    assert_eq!(find_nth_set(8, 3, 0), 3);
    assert_eq!(find_nth_set(8, 2, 0), u32::MAX);
    assert_eq!(find_nth_set(u32::MAX, 31, i32::MIN), u32::MAX);
    assert_eq!(find_nth_set(u32::MAX, 32, 1), u32::MAX);
}

/// The examples in the ISA's "lop3".
#[test]
fn lop3_follows_its_truth_table() {
    let (a, b, c) = (0x0f0f_1234, 0x3333_5678, 0x5555_9abc);
    assert_eq!(lop3(0x80, a, b, c), a & b & c);
    assert_eq!(lop3(0xfe, a, b, c), a | b | c);
    assert_eq!(lop3(0x40, a, b, c), a & b & !c);
    assert_eq!(lop3(0x1a, a, b, c), (a & b | c) ^ a);
    assert_eq!(lop3(0x00, a, b, c), 0);
    assert_eq!(lop3(0xff, a, b, c), u32::MAX);
    assert_eq!(lop3(0x96, a, b, c), a ^ b ^ c);
}

#[test]
fn funnel_shifts_wrap_or_clamp() {
    let (a, b) = (0x89ab_cdef, 0x0123_4567);
    assert_eq!(funnel_shift(false, false, a, b, 8), 0x2345_6789);
    assert_eq!(funnel_shift(true, false, a, b, 8), 0x6789_abcd);
    assert_eq!(funnel_shift(false, false, a, b, 0), b);
    assert_eq!(funnel_shift(true, false, a, b, 0), a);
    for amount in [32, 33, u32::MAX] {
        assert_eq!(funnel_shift(false, false, a, b, amount), a);
        assert_eq!(funnel_shift(true, false, a, b, amount), b);
    }
    assert_eq!(funnel_shift(false, true, a, b, 40), 0x2345_6789);
    assert_eq!(funnel_shift(true, true, a, b, 32), a);
}

/// The table of modes in the ISA's "prmt": the bytes are numbered, so the result shows the
/// permutation.
#[test]
fn prmt_has_the_modes_of_the_isa() {
    let (a, b) = (0x0302_0100, 0x0706_0504);
    let table: [(Permute, [u32; 4]); 6] = [
        (Permute::F4e, [0x0302_0100, 0x0403_0201, 0x0504_0302, 0x0605_0403]),
        (Permute::B4e, [0x0506_0700, 0x0607_0001, 0x0700_0102, 0x0001_0203]),
        (Permute::Rc8, [0x0000_0000, 0x0101_0101, 0x0202_0202, 0x0303_0303]),
        (Permute::Ecl, [0x0302_0100, 0x0302_0101, 0x0302_0202, 0x0303_0303]),
        (Permute::Ecr, [0x0000_0000, 0x0101_0100, 0x0202_0100, 0x0302_0100]),
        (Permute::Rc16, [0x0100_0100, 0x0302_0302, 0x0100_0100, 0x0302_0302]),
    ];
    for (mode, rows) in table {
        for (selector, row) in (0..).zip(rows) {
            assert_eq!(permute(mode, a, b, selector), row, "{mode:?} {selector}");
            // Only the two lowest bits of the selector are used.
            assert_eq!(permute(mode, a, b, selector | 0xffff_fff4), row, "{mode:?} {selector}");
        }
    }
    assert_eq!(permute(Permute::Generic, a, b, 0x7610), 0x0706_0100);
    assert_eq!(permute(Permute::Generic, a, b, 0xffff_0123), 0x0001_0203);
    // The top bit of a selector replicates the sign.
    assert_eq!(permute(Permute::Generic, 0x0000_7f80, 0, 0x1098), 0x7f80_00ff);
}

#[test]
fn dp4a_and_dp2a_multiply_bytes_and_halves() {
    let (unsigned, signed) = ((false, false), (true, true));
    // 1·5 + 2·6 + 3·7 + 4·8
    assert_eq!(dot_product(None, unsigned, 0x0403_0201, 0x0807_0605, 100), 170);
    assert_eq!(dot_product(None, signed, 0xff00_0000, 0x0200_0000, 0), (-2_i32) as u32);
    assert_eq!(dot_product(None, unsigned, 0xff00_0000, 0x0200_0000, 0), 510);
    assert_eq!(dot_product(None, (false, true), 0xff, 0xff, 0), (-255_i32) as u32);
    assert_eq!(dot_product(None, (true, false), 0xff, 0xff, 0), (-255_i32) as u32);
    assert_eq!(dot_product(None, unsigned, 0xff, 0xff, u32::MAX), 65024);
    // a = (−1, 2), b = bytes 3, 4, 5, 6
    let (a, b) = (0x0002_ffff, 0x0605_0403);
    assert_eq!(dot_product(Some(false), signed, a, b, 10), 10 - 3 + 8);
    assert_eq!(dot_product(Some(true), signed, a, b, 10), 10 - 5 + 12);
    assert_eq!(dot_product(Some(false), (false, true), a, b, 0), 65535 * 3 + 8);
}

/// The bits of a position and a length that count: the ISA's lowest 8, or all, as on an H100.
fn used_bits(msb: u32) -> u32 {
    if msb == 63 { u32::MAX } else { 0xff }
}

proptest! {
    #![proptest_config(config(4000))]

    /// The ISA's loop for "bfe", with all bits of the operands in 64 bits.
    #[test]
    fn bit_extract_equals_the_isa_loop(
        a in any::<u64>(), position in 0_u32..300, length in 0_u32..300,
    ) {
        for (ty, signed, msb) in [
            (Type::U32, false, 31), (Type::S32, true, 31), (Type::U64, false, 63), (Type::S64, true, 63),
        ] {
            let bit = |i: u32| a >> i & 1;
            let bits = used_bits(msb);
            let (pos, len) = (position & bits, length & bits);
            let sbit = if !signed || len == 0 { 0 } else { bit((pos + len - 1).min(msb)) };
            let mut d = 0;
            for i in 0..=msb {
                d |= (if i < len && pos + i <= msb { bit(pos + i) } else { sbit }) << i;
            }
            prop_assert_eq!(bit_extract(ty, a, position, length), d, "{:?}", ty);
        }
    }

    /// The ISA's loop for "bfi", with all bits of the operands in 64 bits.
    #[test]
    fn bit_insert_equals_the_isa_loop(
        a in any::<u64>(), b in any::<u64>(), position in 0_u32..300, length in 0_u32..300,
    ) {
        for (ty, msb) in [(Type::B32, 31), (Type::B64, 63)] {
            let bits = used_bits(msb);
            let (pos, len) = (position & bits, length & bits);
            let mut f = if msb == 31 { b & NONE } else { b };
            let mut i = 0;
            while i < len && pos + i <= msb {
                f = f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i);
                i += 1;
            }
            prop_assert_eq!(bit_insert(ty, a, b, position, length), f, "{:?}", ty);
        }
    }

    /// The ISA's loop for "fns".
    #[test]
    fn find_nth_set_bit_equals_the_isa_loop(
        mask in any::<u32>(), thin in any::<u32>(), base in 0_u32..32, offset in -34_i32..35,
    ) {
        let mask = mask & thin;
        let mut d = u32::MAX;
        if offset == 0 {
            if mask >> base & 1 == 1 { d = base; }
        } else {
            let mut pos = base as i32;
            let mut count = offset.abs() - 1;
            while (0..32).contains(&pos) {
                if mask >> pos & 1 == 1 {
                    if count == 0 { d = pos as u32; break; }
                    count -= 1;
                }
                pos += offset.signum();
            }
        }
        prop_assert_eq!(find_nth_set(mask, base, offset), d);
    }

    #[test]
    fn three_input_logic_equals_the_table(
        table in any::<u8>(), a in any::<u32>(), b in any::<u32>(), c in any::<u32>(),
    ) {
        let mut expected = 0;
        for i in 0..32 {
            let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
            expected |= (u32::from(table) >> index & 1) << i;
        }
        prop_assert_eq!(lop3(table, a, b, c), expected);
    }
}
