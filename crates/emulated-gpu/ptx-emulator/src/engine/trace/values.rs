//! Formatting of values.

use crate::arithmetic;
use crate::program::{FloatMode, Type};

/// The type with which a register's value is shown: usually the instruction's type. If that type is
/// untyped, the register's declared type is used; if the value is extended into a wider register,
/// the type is widened.
pub(super) fn shown_type(ty: Option<Type>, declared: Type, written: bool) -> Type {
    use Type as T;
    let Some(ty) = ty else { return declared };
    let untyped = |ty| matches!(ty, T::B8 | T::B16 | T::B32 | T::B64 | T::B128);
    if untyped(ty) && ty.bits() == declared.bits() {
        return declared;
    }
    if !written || ty.bits() >= declared.bits() {
        return ty;
    }
    let signed = matches!(ty, T::S8 | T::S16 | T::S32 | T::S64);
    let unsigned = matches!(ty, T::U8 | T::U16 | T::U32 | T::U64);
    match (declared.bits(), signed, unsigned) {
        (16, true, _) => T::S16,
        (32, true, _) => T::S32,
        (64, true, _) => T::S64,
        (16, _, true) => T::U16,
        (32, _, true) => T::U32,
        (64, _, true) => T::U64,
        _ => ty,
    }
}

/// Formats a value: decimal for numbers, hexadecimal for bits and NaN.
pub(super) fn decode(ty: Type, bits: u64) -> String {
    let to_single = |from: Type, bits: u64| {
        let mode = FloatMode::NEAREST;
        f32::from_bits(arithmetic::convert(Type::F32, from, None, false, mode, bits, None) as u32)
    };
    let kept = arithmetic::bits::mask(arithmetic::bits::width(ty)) & bits;
    let nan = |digits: usize| format!("NaN ({kept:#0width$x})", width = digits + 2);
    match ty {
        Type::Pred => (bits & 1 == 1).to_string(),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => kept.to_string(),
        Type::S8 | Type::S16 | Type::S32 | Type::S64 => {
            arithmetic::bits::integer_value(ty, bits).to_string()
        }
        Type::F32 | Type::Tf32 => match f32::from_bits(kept as u32) {
            value if value.is_nan() => nan(8),
            value => format!("{value:?}"),
        },
        Type::F64 => match f64::from_bits(kept) {
            value if value.is_nan() => nan(16),
            value => format!("{value:?}"),
        },
        Type::F16 | Type::Bf16 => match to_single(ty, kept) {
            value if value.is_nan() => nan(4),
            value => format!("{value:?}"),
        },
        Type::F16x2 | Type::Bf16x2 | Type::U16x2 | Type::S16x2 => {
            let half = match ty {
                Type::F16x2 => Type::F16,
                Type::Bf16x2 => Type::Bf16,
                Type::U16x2 => Type::U16,
                _ => Type::S16,
            };
            format!("{{{}, {}}}", decode(half, kept & 0xffff), decode(half, kept >> 16))
        }
        _ if kept < 10 => kept.to_string(),
        _ => format!("{kept:#x}"),
    }
}
