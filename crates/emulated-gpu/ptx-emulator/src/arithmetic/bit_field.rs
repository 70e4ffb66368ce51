//! Extraction and insertion of bits and bytes: `bfe`, `bfi`, `fns`, `lop3`, `shf`, `prmt`, and the
//! dot products of bytes `dp4a` and `dp2a`.

use super::bits::{integer_value, is_signed, mask, width};
use crate::program::{Permute, Type};

/// The position and the length of a field, of which the ISA uses "only the lowest 8 bits"; on an
/// H100 with CUDA 13.0, an instruction of 64 bits uses all of them.
fn field_operands(ty: Type, operands: [u32; 2]) -> [u32; 2] {
    if width(ty) == 64 { operands } else { operands.map(|bits| bits & 0xff) }
}

/// `bfe`: extracts `length` bits of `a` from `position` on ([`field_operands`]). The field is sign-extended for signed
/// types. If it reaches beyond `a`, its sign is the sign of `a`.
pub(crate) fn bit_extract(ty: Type, a: u64, position: u32, length: u32) -> u64 {
    let [position, length] = field_operands(ty, [position, length]);
    if length == 0 {
        return 0;
    }
    // The value is sign-extended beyond the top of `a`, so the sign of the field is right even if the field's top bit
    // is beyond the top of `a`.
    let field = integer_value(ty, a) >> position.min(64);
    let unused = 128_u32.saturating_sub(length);
    let field = if is_signed(ty) {
        (field << unused) >> unused
    } else {
        (((field as u128) << unused) >> unused) as i128
    };
    field as u64 & mask(width(ty))
}

/// `bfi`: inserts the lowest `length` bits of `a` into `b` from `position` on ([`field_operands`]).
pub(crate) fn bit_insert(ty: Type, a: u64, b: u64, position: u32, length: u32) -> u64 {
    let [position, length] = field_operands(ty, [position, length]);
    let whole = mask(width(ty));
    let field = mask(length.min(64)).checked_shl(position).unwrap_or(0) & whole;
    let inserted = a.checked_shl(position).unwrap_or(0);
    b & whole & !field | inserted & field
}

/// `fns`: the position of the `offset`-th set bit in `mask`, counting from `base`, upwards or (if
/// `offset` is negative) downwards; 0 asks for the bit at `base` itself. 0xffffffff if there is
/// none, or if `base` is greater than 31 ("behavior is undefined").
pub(crate) fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    const NONE: u32 = u32::MAX;
    let Some(from_base) = u32::MAX.checked_shl(base) else { return NONE };
    let (mut rest, upwards) = match offset {
        0 => return if mask >> base & 1 == 1 { base } else { NONE },
        1.. => (mask & from_base, true),
        _ => (mask & !(from_base << 1), false),
    };
    if rest.count_ones() < offset.unsigned_abs() {
        return NONE;
    }
    for _ in 1..offset.unsigned_abs() {
        rest &= if upwards { rest.wrapping_sub(1) } else { !(1 << rest.ilog2()) };
    }
    if upwards { rest.trailing_zeros() } else { rest.ilog2() }
}

/// `lop3`: for each bit position, the bits of `a`, `b` and `c` form an index into the table.
#[inline(always)]
pub(crate) const fn lop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    let mut index = 0;
    while index < 8 {
        if table >> index & 1 == 1 {
            let a = if index & 4 == 0 { !a } else { a };
            let b = if index & 2 == 0 { !b } else { b };
            let c = if index & 1 == 0 { !c } else { c };
            result |= a & b & c;
        }
        index += 1;
    }
    result
}

/// `shf`: shifts the 64 bits of `b` (upper half) and `a` (lower half) by `c`, clamped to 32 or,
/// with `.wrap`, modulo 32. Returns the upper half of a left shift, or the lower half of a right
/// shift.
#[inline(always)]
pub(crate) const fn funnel_shift(right: bool, wrap: bool, a: u32, b: u32, c: u32) -> u32 {
    let amount = if wrap {
        c & 31
    } else if c < 32 {
        c
    } else {
        32
    };
    let both = (b as u64) << 32 | a as u64;
    if right { (both >> amount) as u32 } else { ((both << amount) >> 32) as u32 }
}

/// `prmt`: selects four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), as specified by `c`.
pub(crate) const fn permute(mode: Permute, a: u32, b: u32, c: u32) -> u32 {
    let n = c & 3;
    // Four selectors of four bits each, starting with the selector of the lowest byte.
    let selectors = match mode {
        Permute::Generic => c & 0xffff,
        Permute::F4e => 0x3210 + 0x1111 * n,
        // Backwards, modulo 8.
        Permute::B4e => (0x5670 + 0x1111 * n) & 0x7777,
        Permute::Rc8 => 0x1111 * n,
        Permute::Ecl => match n {
            0 => 0x3210,
            1 => 0x3211,
            2 => 0x3222,
            _ => 0x3333,
        },
        Permute::Ecr => match n {
            0 => 0x0000,
            1 => 0x1110,
            2 => 0x2210,
            _ => 0x3210,
        },
        Permute::Rc16 => 0x1010 + 0x2222 * (n & 1),
    };
    let bytes = (b as u64) << 32 | a as u64;
    let mut result = 0;
    let mut at = 0;
    while at < 4 {
        let selector = selectors >> (4 * at) & 0xf;
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        // The top bit of a selector replicates the byte's sign eight times.
        let byte = if selector & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 };
        result |= (byte as u32) << (8 * at);
        at += 1;
    }
    result
}

/// `dp4a` (`high` is `None`): `c` plus the sum of the products of the four bytes. `dp2a`: `c` plus
/// the sum of the products of the two 16-bit halves of `a` and the two lower (or, if `high`, upper)
/// bytes of `b`. The result wraps.
pub(crate) const fn dot_product(
    high: Option<bool>,
    (a_signed, b_signed): (bool, bool),
    a: u32,
    b: u32,
    c: u32,
) -> u32 {
    let (count, a_width, b_from) = match high {
        None => (4, 8, 0),
        Some(false) => (2, 16, 0),
        Some(true) => (2, 16, 2),
    };
    let mut sum = c;
    let mut i = 0;
    while i < count {
        let x = element(a, a_width, i, a_signed);
        let y = element(b, 8, b_from + i, b_signed);
        sum = sum.wrapping_add(x.wrapping_mul(y) as u32);
        i += 1;
    }
    sum
}

/// The element of `bits` at an index.
const fn element(bits: u32, width: u32, index: u32, signed: bool) -> i32 {
    let to_top = bits << (32 - width * (index + 1));
    if signed { (to_top as i32) >> (32 - width) } else { (to_top >> (32 - width)) as i32 }
}
