//! `cvt` between all pairs of types (PTX ISA, "Data Movement and Conversion Instructions: cvt").
//!
//! - To an integer, a value is rounded (`.rni .rzi .rmi .rpi`) and clamped to the type's range,
//!   even without `.sat`. NaN gives 0; but from f64, or to 64 bits, only the top bit is set: the
//!   minimum of a signed type, or half the range of an unsigned one.
//! - From integer to integer, bits are truncated, or extended by the sign of the source; `.sat`
//!   clamps.
//! - To a floating-point type, the value is rounded once; `.sat` clamps to \[0, 1\] and turns NaN
//!   into +0, `.relu` turns negative values into +0. A NaN becomes the canonical NaN of the
//!   destination. The ISA leaves it open; an H100 keeps sign and payload from and to f64 (`carried_nan`),
//!   from bf16 to f32, by `.rna.tf32`, and if there is nothing to convert.
//! - `.ftz` only affects f32: it flushes subnormal sources and destinations; on an H100, not the
//!   sources of an f16.
//! - `.satfinite` turns infinities and values that are too large into the largest finite number.
//!   For `.e4m3x2` and `.e5m2x2` it is mandatory, so it is always done. For `.f16x2`, `.bf16`,
//!   `.bf16x2` and `.tf32`, which have no `.sat`, [`FloatMode::saturate`] means `.satfinite`; for a
//!   single `.f16` it means `.sat`.
//! - Two f32 are converted to a packed pair with `a` in the upper half.

use super::bits::{integer_range, integer_value, mask, width};
use super::float::finish;
use super::format::Format;
use super::soft::{Magnitude, Unpacked};
use crate::program::{FloatMode, Rounding, Type};

/// Converts the bits of one type to bits of another. Bits above the width of the source type are ignored (a source
/// register may be wider). The result is zero-extended from the width of the destination type; for a wider destination
/// register, extend it with [`extend_result`].
///
/// `rounding` is the rounding of a floating-point result or, with `integer` or an integer destination, the rounding to
/// an integer. The default is to nearest, and towards zero to an integer; the checker requires a rounding wherever it
/// matters. `b` is the second f32 of a pair to be packed. Unsupported conversions (of a packed type to another kind of
/// type) return 0.
pub(crate) fn convert(
    to: Type,
    from: Type,
    rounding: Option<Rounding>,
    integer: bool,
    mode: FloatMode,
    a: u64,
    b: Option<u64>,
) -> u64 {
    let cvt = Conversion { to, from, rounding, integer, mode };
    if let (None, Some(bits)) = (b, common(cvt, a)) {
        return bits;
    }
    let convert_one = |value| {
        // Each half of a packed pair is converted like a single value, if its conversion is a common case.
        let element_type = match to {
            Type::F16x2 => Type::F16,
            Type::Bf16x2 => Type::Bf16,
            other => other,
        };
        match common(Conversion { to: element_type, ..cvt }, value) {
            Some(bits) => bits,
            None => float_to_float(cvt, value),
        }
    };
    match (pair(to), pair(from)) {
        (None, None) => scalar(cvt, a),
        // The upper half comes from `a`; without `b`, the lower one is 0.
        (Some(half), None) if from == Type::F32 => {
            convert_one(a) << half | convert_one(b.unwrap_or(0))
        }
        (Some(half), Some(source)) => {
            convert_one(a >> source & mask(source)) << half | convert_one(a & mask(source))
        }
        _ => 0,
    }
}

/// The parameters of a conversion.
#[derive(Clone, Copy)]
struct Conversion {
    to: Type,
    from: Type,
    rounding: Option<Rounding>,
    integer: bool,
    mode: FloatMode,
}

/// The width of one half of a packed floating-point type.
const fn pair(ty: Type) -> Option<u32> {
    match ty {
        Type::F16x2 | Type::Bf16x2 => Some(16),
        Type::E4m3x2 | Type::E5m2x2 => Some(8),
        _ => None,
    }
}

/// The result of `cvt` in a destination register that is wider than the type: "sign-extended to the
/// destination register width for signed integers, and … zero-extended … for unsigned, bit-size,
/// and floating-point types".
#[inline]
pub(crate) const fn extend_result(ty: Type, bits: u64) -> u64 {
    match ty {
        Type::S8 | Type::S16 | Type::S32 => super::bits::sign_extend(width(ty), bits) as u64,
        _ => bits,
    }
}

/// Common conversions, by the host's own instructions.
#[inline]
fn common(cvt: Conversion, a: u64) -> Option<u64> {
    let Conversion { to, from, rounding, integer, mode } = cvt;
    if mode.flush || mode.saturate || mode.relu || integer && Format::from_type(to).is_some() {
        return None;
    }
    let narrow = a as u32;
    let single = |x: f32| u64::from(x.to_bits());
    Some(match (to, from, rounding) {
        (Type::F32, Type::S32, Some(Rounding::NearestEven)) => single(narrow as i32 as f32),
        (Type::F32, Type::U32, Some(Rounding::NearestEven)) => single(narrow as f32),
        (Type::S32, Type::F32, Some(Rounding::TowardsZero)) => {
            u64::from(f32::from_bits(narrow) as i32 as u32)
        }
        (Type::U32, Type::F32, Some(Rounding::TowardsZero)) => {
            u64::from(f32::from_bits(narrow) as u32)
        }
        (Type::F32, Type::F16, _) => single(f16_to_f32(a as u16)),
        (Type::F32, Type::Bf16, _) => single(bf16_to_f32(a as u16)),
        (Type::F32, Type::F32, None) | (Type::F64, Type::F64, None) => a & mask(width(to)),
        (Type::F16, Type::F32, Some(Rounding::NearestEven)) => {
            u64::from(f32_to_f16(f32::from_bits(narrow)))
        }
        (Type::Bf16, Type::F32, Some(Rounding::NearestEven)) => {
            u64::from(f32_to_bf16(f32::from_bits(narrow)))
        }
        (Type::Tf32, Type::F32, Some(Rounding::NearestAway)) => {
            u64::from(f32_to_tf32_away(f32::from_bits(narrow)))
        }
        (Type::Tf32, Type::F32, Some(Rounding::NearestEven)) => {
            u64::from(f32_to_tf32(f32::from_bits(narrow)))
        }
        (Type::Tf32, Type::F32, Some(Rounding::TowardsZero)) => {
            u64::from(f32_to_tf32_towards_zero(f32::from_bits(narrow)))
        }
        _ => return None,
    })
}

fn scalar(cvt: Conversion, a: u64) -> u64 {
    let Conversion { to, from, rounding, mode, .. } = cvt;
    match (Format::from_type(to), Format::from_type(from)) {
        (None, None) => {
            let value = integer_value(from, a);
            let (least, greatest) = integer_range(to);
            let value = if mode.saturate { value.clamp(least, greatest) } else { value };
            value as u64 & mask(width(to))
        }
        (Some(format), None) => {
            let rounding = rounding.unwrap_or(Rounding::NearestEven);
            let bits = Unpacked::integer(integer_value(from, a)).round(format, rounding);
            to_register(to, finish(format, mode, bits))
        }
        (None, Some(format)) => float_to_integer(cvt, format, a),
        (Some(_), Some(_)) => float_to_float(cvt, a),
    }
}

/// The value of a source operand, flushed for `.ftz`.
fn source(cvt: Conversion, format: Format, a: u64) -> u64 {
    let Conversion { to, from, mode, .. } = cvt;
    let a = if from == Type::Tf32 { a >> 13 } else { a };
    let a = a & (format.sign() | format.magnitude());
    if mode.flush && from == Type::F32 && to != Type::F16 { format.flush(a) } else { a }
}

/// `.tf32` is stored in the upper bits of 32.
fn to_register(to: Type, bits: u64) -> u64 {
    if to == Type::Tf32 { bits << 13 } else { bits }
}

fn float_to_integer(cvt: Conversion, format: Format, a: u64) -> u64 {
    let Conversion { to, from, rounding, .. } = cvt;
    let (least, greatest) = integer_range(to);
    let width = width(to);
    let value = Unpacked::new(format, source(cvt, format, a))
        .round_to_integer(rounding.unwrap_or(Rounding::TowardsZero));
    let clamped = match value.magnitude {
        Magnitude::Nan if from == Type::F64 || width == 64 => return 1 << (width - 1),
        Magnitude::Nan | Magnitude::Zero => 0,
        Magnitude::Finite { exponent, significand }
            if exponent + (significand.ilog2() as i32) < 100 =>
        {
            let magnitude = (significand << exponent) as i128;
            (if value.negative { -magnitude } else { magnitude }).clamp(least, greatest)
        }
        Magnitude::Finite { .. } | Magnitude::Infinite if value.negative => least,
        Magnitude::Finite { .. } | Magnitude::Infinite => greatest,
    };
    clamped as u64 & mask(width)
}

fn float_to_float(cvt: Conversion, a: u64) -> u64 {
    let Conversion { to, from, rounding, integer, mode } = cvt;
    let (Some(target), Some(format)) = (Format::from_type(to), Format::from_type(from)) else {
        return 0;
    };
    let a = source(cvt, format, a);
    let rounding = rounding.unwrap_or(Rounding::NearestEven);
    let value = Unpacked::new(format, a);
    let value = if integer { value.round_to_integer(rounding) } else { value };
    let truncates_nan = (to, from, rounding) == (Type::Tf32, Type::F32, Rounding::NearestAway);
    let mut bits = match value.magnitude {
        Magnitude::Nan if truncates_nan => a >> 13,
        // With `.ftz`, a NaN in single precision is replaced by the canonical NaN.
        Magnitude::Nan if target == Format::F64 && mode.flush => {
            carried_nan(target, format, format.nan())
        }
        Magnitude::Nan if target == Format::F64 || format == Format::F64 => {
            carried_nan(target, format, a)
        }
        Magnitude::Nan => target.nan(),
        _ => value.round(target, rounding),
    };
    let to_single = mode.flush && to == Type::F32;
    let min_normal = bits & target.magnitude() == target.min_normal();
    if to_single && min_normal && value.is_tiny(target, rounding) {
        bits &= target.sign();
    }
    let eight_bits = matches!(to, Type::E4m3x2 | Type::E5m2x2);
    let without_sat = matches!(to, Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::Tf32);
    let finite = eight_bits || without_sat && mode.saturate;
    if finite && bits & target.magnitude() == target.infinity() && !target.is_nan(bits) {
        bits = bits & target.sign() | target.max_finite();
    }
    if finite && target.is_nan(bits) && truncates_nan {
        // An H100 also subtracts a unit of the last bit here.
        bits -= 1;
    }
    let mode = FloatMode {
        flush: to_single,
        saturate: mode.saturate && !(eight_bits || without_sat),
        ..mode
    };
    to_register(to, finish(target, mode, bits))
}

/// A NaN converted from or to f64: made quiet, with its sign, and with as much of the payload as fits.
fn carried_nan(to: Format, from: Format, a: u64) -> u64 {
    let sign = if a & from.sign() == 0 { 0 } else { to.sign() };
    let payload = a & (from.min_normal() - 1);
    let payload = payload << (52 - from.fraction_bits) >> (52 - to.fraction_bits);
    sign | to.infinity() | to.min_normal() >> 1 | payload
}

/// `cvt.f32.f16`, exact; NaN becomes 0x7fffffff.
#[inline(always)]
pub(crate) fn f16_to_f32(a: u16) -> f32 {
    let magnitude = u32::from(a & 0x7fff);
    // After moving exponent and fraction into place, only a factor of 2^(127 − 15) is missing;
    // multiplying by it also handles subnormal numbers.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 127 - 15) << 23);
    let bits = match magnitude {
        0x7c01.. => return f32::from_bits(0x7fff_ffff),
        0x7c00 => 0x7f80_0000,
        _ => scaled.to_bits(),
    };
    f32::from_bits(bits | u32::from(a & 0x8000) << 16)
}

/// `cvt.rn.f16.f32`; NaN becomes 0x7fff.
#[inline(always)]
pub(crate) fn f32_to_f16(a: f32) -> u16 {
    let magnitude = a.abs();
    let bits = if a.is_nan() {
        return 0x7fff;
    } else if magnitude >= 65520.0 {
        0x7c00
    } else if magnitude < f32::from_bits((127 - 14) << 23) {
        // The result is subnormal. The last bit of the sum with 0.5 has the weight 2^−24, so the
        // addition rounds at the right place.
        (magnitude + 0.5).to_bits() - 0.5_f32.to_bits()
    } else {
        // Round to nearest even: add half a unit of the last kept bit, or one less if that bit is
        // 0.
        let bits = magnitude.to_bits() - ((127 - 15) << 23);
        (bits + 0xfff + (bits >> 13 & 1)) >> 13
    };
    bits as u16 | (a.to_bits() >> 16 & 0x8000) as u16
}

/// `cvt.f32.bf16`, exact.
#[inline(always)]
pub(crate) fn bf16_to_f32(a: u16) -> f32 {
    f32::from_bits(u32::from(a) << 16)
}

/// `cvt.rn.bf16.f32`; NaN becomes 0x7fff.
#[inline(always)]
pub(crate) fn f32_to_bf16(a: f32) -> u16 {
    let bits = a.to_bits();
    if a.is_nan() { 0x7fff } else { ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16 }
}

/// Truncates a rounded number to the bits of TF32; NaN becomes 0x7fffe000.
#[inline(always)]
fn tf32(a: f32, rounded: u32) -> u32 {
    if a.is_nan() { 0x7fff_e000 } else { rounded & !0x1fff }
}

/// `cvt.rna.tf32.f32`; NaN is truncated.
#[inline(always)]
pub(crate) fn f32_to_tf32_away(a: f32) -> u32 {
    // Round to nearest: add half a unit of the last kept bit. A carry goes into the exponent, up to
    // infinity.
    let half = if a.is_nan() { 0 } else { 0x1000 };
    a.to_bits().wrapping_add(half) & !0x1fff
}

/// `cvt.rn.tf32.f32`; NaN becomes 0x7fffe000.
#[inline(always)]
pub(crate) fn f32_to_tf32(a: f32) -> u32 {
    // Round to nearest even: add half a unit of the last kept bit, or one less if that bit is 0.
    let bits = a.to_bits();
    tf32(a, bits.wrapping_add(0xfff + (bits >> 13 & 1)))
}

/// `cvt.rz.tf32.f32`; NaN becomes 0x7fffe000.
#[inline(always)]
pub(crate) fn f32_to_tf32_towards_zero(a: f32) -> u32 {
    tf32(a, a.to_bits())
}

/// `cvt.rzi.s32.f32`: clamped; NaN gives 0.
#[inline(always)]
pub(crate) fn f32_to_s32(a: f32) -> i32 {
    a as i32
}

/// `cvt.rn.f32.s32`
#[inline(always)]
pub(crate) fn s32_to_f32(a: i32) -> f32 {
    a as f32
}

/// `cvt.rn.f32.u32`
#[inline(always)]
pub(crate) fn u32_to_f32(a: u32) -> f32 {
    a as f32
}

/// `cvt.f64.f32`, exact; a NaN keeps its payload and becomes quiet.
#[inline(always)]
pub(crate) fn f32_to_f64(a: f32) -> f64 {
    let bits = u64::from(a.to_bits());
    let nan = (bits & 0x8000_0000) << 32 | 0x7ff8 << 48 | (bits & 0x007f_ffff) << 29;
    if a.is_nan() { f64::from_bits(nan) } else { f64::from(a) }
}

/// `cvt.rn.f32.f64`; a NaN becomes quiet, and keeps its sign and the upper bits of its payload.
#[inline(always)]
pub(crate) fn f64_to_f32(a: f64) -> f32 {
    let bits = a.to_bits();
    let nan = (bits >> 32 & 0x8000_0000) as u32 | 0x7fc0_0000 | (bits >> 29 & 0x007f_ffff) as u32;
    if a.is_nan() { f32::from_bits(nan) } else { a as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with all exponents, and with edge cases of the bits that TF32 keeps and drops.
    fn edge_case_singles() -> impl Iterator<Item = u32> {
        let dropped = [0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff];
        let kept = [0, 0x2000, 0x4000, 0x002a_a000, 0x007f_c000, 0x007f_e000];
        (0..512u32).flat_map(move |upper| {
            kept.into_iter().flat_map(move |k| dropped.map(move |d| upper << 23 | k | d))
        })
    }

    #[test]
    fn fast_tf32_equals_the_general_rounding() {
        let mode = FloatMode::NEAREST;
        for (rounding, quick) in [
            (Rounding::NearestAway, f32_to_tf32_away as fn(f32) -> u32),
            (Rounding::NearestEven, f32_to_tf32),
            (Rounding::TowardsZero, f32_to_tf32_towards_zero),
        ] {
            for bits in edge_case_singles() {
                let (to, from, rounding) = (Type::Tf32, Type::F32, Some(rounding));
                let cvt = Conversion { to, from, rounding, integer: false, mode };
                let general = float_to_float(cvt, u64::from(bits));
                let own = quick(f32::from_bits(bits));
                assert_eq!(u64::from(own), general, "{rounding:?} of {bits:#010x}");
            }
        }
    }
}
