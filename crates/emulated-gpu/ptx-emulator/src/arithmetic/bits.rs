//! Widths of types, and the representation of values in a u64.

use crate::program::Type;

/// The width in bits of a value of this type. A predicate has 1 bit; `.b128`, which has no
/// arithmetic, counts as 64 bits.
#[inline]
pub(crate) const fn width(ty: Type) -> u32 {
    if ty.bits() < 64 { ty.bits() } else { 64 }
}

/// A mask of the lowest `width` bits; `width` is at most 64.
#[inline]
pub(crate) const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Whether the type is a signed integer, or a pair of them.
#[inline]
pub(crate) const fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
}

/// Sign-extends the lowest `width` bits; `width` is 1 to 64.
#[inline]
pub(crate) const fn sign_extend(width: u32, bits: u64) -> i64 {
    let unused = 64 - width;
    ((bits << unused) as i64) >> unused
}

/// The value of an integer type; bits above its width are ignored.
#[inline]
pub(crate) const fn integer_value(ty: Type, bits: u64) -> i128 {
    let width = width(ty);
    if is_signed(ty) { sign_extend(width, bits) as i128 } else { (bits & mask(width)) as i128 }
}

/// The minimum and the maximum of an integer type.
#[inline]
pub(crate) const fn integer_range(ty: Type) -> (i128, i128) {
    let width = width(ty);
    if is_signed(ty) {
        (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        (0, mask(width) as i128)
    }
}

/// The lower and the upper 16 bits of a packed 32-bit value.
#[inline]
pub(crate) const fn halves(bits: u64) -> (u64, u64) {
    (bits & 0xffff, bits >> 16 & 0xffff)
}

/// Packs two 16-bit values into 32 bits.
#[inline]
pub(crate) const fn pack_halves(low: u64, high: u64) -> u64 {
    high << 16 | low
}
