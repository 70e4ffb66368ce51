//! Integer arithmetic, logic and shifts of all widths (PTX ISA, "Integer Arithmetic Instructions",
//! "Extended-Precision Integer Arithmetic Instructions", "Logic and Shift Instructions").
//!
//! Values are bits, zero-extended; bits of an operand above the width of its type are ignored. All
//! operations wrap. For types that the ISA doesn't allow, the same formulas are used, without a
//! panic; of a product wider than 64 bits, the lowest 64 are returned.

use super::bits::{
    halves, integer_range, integer_value, is_signed, mask, pack_halves, sign_extend, width,
};
use crate::program::{IntBinary, IntUnary, Type};

/// A binary operation on integers or bits; on both halves of `.u16x2` and `.s16x2`.
///
/// - `div` and `rem` by zero ("an unspecified, machine-specific value") return all ones, like
///   hardware; the minimum divided by −1 is itself, with remainder 0.
/// - The second operand of shifts is a u32 of any size: "Shift amounts greater than the register
///   width N are clamped to N."
/// - `mul24` and similar use the lowest 24 bits of each operand, sign-extended for `.s32`.
/// - The result of `mul.wide` is twice as wide as `ty`.
pub(crate) fn int_binary(op: IntBinary, ty: Type, a: u64, b: u64) -> u64 {
    let half = match ty {
        Type::U16x2 => Type::U16,
        Type::S16x2 => Type::S16,
        _ => return scalar(op, ty, a, b),
    };
    let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
    pack_halves(scalar(op, half, a_low, b_low) & 0xffff, scalar(op, half, a_high, b_high) & 0xffff)
}

fn scalar(op: IntBinary, ty: Type, a: u64, b: u64) -> u64 {
    let width = width(ty);
    let ones = mask(width);
    let (x, y) = (integer_value(ty, a), integer_value(ty, b));
    match op {
        IntBinary::Add { saturate } => wrap_or_clamp(ty, saturate, x + y),
        IntBinary::Sub { saturate } => wrap_or_clamp(ty, saturate, x - y),
        IntBinary::MulLow => x.wrapping_mul(y) as u64 & ones,
        IntBinary::MulHigh => (product(ty, x, y) >> width) as u64 & ones,
        IntBinary::MulWide => product(ty, x, y) as u64 & mask(2 * width),
        IntBinary::Mul24Low => product_24(ty, a, b) as u64 & ones,
        IntBinary::Mul24High => (product_24(ty, a, b) >> 16) as u64 & ones,
        IntBinary::Div if y == 0 => ones,
        IntBinary::Rem if y == 0 => ones,
        IntBinary::Div => (x / y) as u64 & ones,
        IntBinary::Rem => (x % y) as u64 & ones,
        IntBinary::Min => x.min(y) as u64 & ones,
        IntBinary::Max => x.max(y) as u64 & ones,
        IntBinary::And => a & b & ones,
        IntBinary::Or => (a | b) & ones,
        IntBinary::Xor => (a ^ b) & ones,
        // A shift by 64 exceeds all widths, and is valid for i128.
        IntBinary::ShiftLeft => (x << (b as u32).min(64)) as u64 & ones,
        IntBinary::ShiftRight => (x >> (b as u32).min(64)) as u64 & ones,
    }
}

/// The exact product, as 128 bits.
fn product(ty: Type, x: i128, y: i128) -> u128 {
    if is_signed(ty) { (x * y) as u128 } else { x as u128 * y as u128 }
}

fn product_24(ty: Type, a: u64, b: u64) -> i64 {
    let value = |bits: u64| {
        if is_signed(ty) { sign_extend(24, bits) } else { (bits & mask(24)) as i64 }
    };
    value(a) * value(b)
}

fn wrap_or_clamp(ty: Type, saturate: bool, value: i128) -> u64 {
    let (least, greatest) = integer_range(ty);
    let value = if saturate { value.clamp(least, greatest) } else { value };
    value as u64 & mask(width(ty))
}

/// A unary operation on integers or bits. `popc`, `clz` and `bfind` return a u32; `neg` and `abs`
/// of the minimum return the minimum.
pub(crate) fn int_unary(op: IntUnary, ty: Type, a: u64) -> u64 {
    let width = width(ty);
    let a = a & mask(width);
    match op {
        IntUnary::Neg => a.wrapping_neg() & mask(width),
        IntUnary::Abs => integer_value(ty, a).unsigned_abs() as u64 & mask(width),
        IntUnary::Not => !a & mask(width),
        IntUnary::CNot => u64::from(a == 0),
        IntUnary::PopC => u64::from(a.count_ones()),
        IntUnary::Clz => u64::from(a.leading_zeros() - (64 - width)),
        IntUnary::Brev => a.reverse_bits() >> (64 - width),
        IntUnary::BFind { shift_amount } => {
            let value = integer_value(ty, a);
            // For a negative number, find the first bit that differs from the sign.
            let bits = if value < 0 { !value } else { value };
            match bits.checked_ilog2() {
                None => 0xffff_ffff,
                Some(position) if shift_amount => u64::from(width - 1 - position),
                Some(position) => u64::from(position),
            }
        }
    }
}

/// `mad.lo`, `mad.hi`, `mad.wide`, `mad24.lo`, `mad24.hi`: the product from [`int_binary`] plus
/// `c`, which for `mad.wide` is twice as wide as `ty`. `saturate` clamps the sum (`.hi.sat.s32`).
pub(crate) fn int_mad(op: IntBinary, saturate: bool, ty: Type, a: u64, b: u64, c: u64) -> u64 {
    let product = int_binary(op, ty, a, b);
    if op == IntBinary::MulWide {
        return product.wrapping_add(c) & mask(2 * width(ty));
    }
    wrap_or_clamp(ty, saturate, integer_value(ty, product) + integer_value(ty, c))
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` and similar: `x + y` or `x − y`. If there
/// is a product, `x` is `a · b` and `y` is `c`; otherwise they are `a` and `b`. `flag` is the carry
/// flag CC.CF if the instruction reads it. Returns the result and the new flag for `.cc`.
///
/// The flag is the carry of an addition, even for a subtraction: `x − y` is `x + ¬y + 1`, and
/// `subc` adds the flag instead of 1. So after a subtraction the flag is 1 if nothing was borrowed.
/// The PTX ISA ("Extended-Precision Arithmetic Instructions") calls the flag a borrow there, which
/// is equivalent as long as only `subc` reads the flag of `sub.cc` and `subc.cc`, and only `addc`
/// and `madc` read the flag of additions. For mixtures, the machine code of ptxas is decisive,
/// which has one flag for both (`IADD3.X R, ~R, P`); NVIDIA's own 128-bit division relies on it,
/// reading a comparison by `subc.cc` with `addc`.
pub(crate) fn carry(
    subtract: bool,
    product: Option<IntBinary>,
    ty: Type,
    (a, b, c): (u64, u64, u64),
    flag: Option<bool>,
) -> (u64, bool) {
    let ones = mask(width(ty));
    let (x, y) = match product {
        Some(op) => (int_binary(op, ty, a, b) & ones, c & ones),
        None => (a & ones, b & ones),
    };
    let y = if subtract { !y & ones } else { y };
    let sum = u128::from(x) + u128::from(y) + u128::from(flag.unwrap_or(subtract));
    (sum as u64 & ones, sum > u128::from(ones))
}

/// `sad`: `c + |a − b|`.
pub(crate) fn sad(ty: Type, a: u64, b: u64, c: u64) -> u64 {
    let distance = integer_value(ty, a).abs_diff(integer_value(ty, b));
    (distance as u64).wrapping_add(c) & mask(width(ty))
}

/// Declares shifts by any amount: `shl.b32`, `shr.u32` (also `shr.b32`), and `shr.s32`, which gives
/// all sign bits for amounts beyond the width.
macro_rules! shifts {
    ($($left:ident, $right:ident, $signed_right:ident: $word:ident, $signed:ident;)*) => {$(
        #[inline(always)]
        pub(crate) const fn $left(a: $word, amount: u32) -> $word {
            if amount < $word::BITS { a << amount } else { 0 }
        }

        #[inline(always)]
        pub(crate) const fn $right(a: $word, amount: u32) -> $word {
            if amount < $word::BITS { a >> amount } else { 0 }
        }

        #[inline(always)]
        pub(crate) const fn $signed_right(a: $signed, amount: u32) -> $signed {
            a >> if amount < $word::BITS { amount } else { $word::BITS - 1 }
        }
    )*};
}

shifts! {
    shl_b32, shr_u32, shr_s32: u32, i32;
    shl_b64, shr_u64, shr_s64: u64, i64;
}

/// `mul.hi.u32`
#[inline(always)]
pub(crate) const fn mul_hi_u32(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

/// `mul.hi.s32`
#[inline(always)]
pub(crate) const fn mul_hi_s32(a: i32, b: i32) -> i32 {
    ((a as i64 * b as i64) >> 32) as i32
}

/// `div.u32`; division by zero returns all ones.
#[inline(always)]
pub(crate) const fn div_u32(a: u32, b: u32) -> u32 {
    match a.checked_div(b) {
        Some(quotient) => quotient,
        None => u32::MAX,
    }
}

/// `rem.u32`; division by zero returns all ones.
#[inline(always)]
pub(crate) const fn rem_u32(a: u32, b: u32) -> u32 {
    match a.checked_rem(b) {
        Some(remainder) => remainder,
        None => u32::MAX,
    }
}

/// `div.s32`; division by zero returns −1.
#[inline(always)]
pub(crate) const fn div_s32(a: i32, b: i32) -> i32 {
    if b == 0 { -1 } else { a.wrapping_div(b) }
}

/// `rem.s32`; division by zero returns −1.
#[inline(always)]
pub(crate) const fn rem_s32(a: i32, b: i32) -> i32 {
    if b == 0 { -1 } else { a.wrapping_rem(b) }
}
