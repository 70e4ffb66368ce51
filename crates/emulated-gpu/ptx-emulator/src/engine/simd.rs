//! Vectorised operations for 32 lanes at once, for the most common instructions. All other
//! instructions use the general functions of [`crate::arithmetic`], lane by lane, which give the
//! same bits.

#![cfg_attr(test, allow(unsafe_code, reason = "the tests call both versions of an operation"))]

mod compare;
#[cfg(test)]
mod tests;

pub(super) use compare::{compare, predicate};

use super::code::Compute;
use super::vector::{compile_select, lane};
use crate::arithmetic::approximate::{div_approx_f32, elementary_f32};
use crate::arithmetic::host::flush_f32 as ftz;
use crate::arithmetic::{convert as cvt, host, integer};
use crate::program::{
    Approximate, FloatBinary, FloatMode, FloatUnary, IntBinary, IntUnary, Rounding, Type,
};

/// A pair of halves, with the first one in the upper half.
#[inline(always)]
fn pair(f: impl Fn(f32) -> u16, a: f32, b: f32) -> u32 {
    u32::from(f(a)) << 16 | u32::from(f(b))
}

/// Negates a number. NaN becomes the canonical NaN, and its sign is not changed.
#[inline(always)]
fn negated(a: f32) -> f32 {
    let a = host::canonical_f32(a);
    if a.is_nan() { a } else { -a }
}

/// Selects the version of an operation for a host with AVX2 and FMA, or the portable one.
type Version = fn(bool) -> Compute;

/// Selects a vectorised integer operation, if all operands are as wide as the type.
pub(super) fn int_binary(op: IntBinary, ty: Type, fast: bool) -> Option<Compute> {
    use IntBinary as I;
    use Type::{B32, B64, S32, S64, U32, U64};
    let version: Version = match (op, ty) {
        (I::Add { saturate: false }, U32 | S32) => {
            lane!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) })
        }
        (I::Sub { saturate: false }, U32 | S32) => {
            lane!(|a: u32, b: u32| -> u32 { a.wrapping_sub(b) })
        }
        (I::MulLow, U32 | S32) => lane!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) }),
        (I::MulHigh, U32) => lane!(|a: u32, b: u32| -> u32 { integer::mul_hi_u32(a, b) }),
        (I::MulHigh, S32) => lane!(|a: i32, b: i32| -> i32 { integer::mul_hi_s32(a, b) }),
        (I::MulWide, U32) => lane!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) }),
        (I::MulWide, S32) => lane!(|a: i32, b: i32| -> i64 { i64::from(a) * i64::from(b) }),
        (I::Div, U32) => lane!(|a: u32, b: u32| -> u32 { integer::div_u32(a, b) }),
        (I::Rem, U32) => lane!(|a: u32, b: u32| -> u32 { integer::rem_u32(a, b) }),
        (I::Div, S32) => lane!(|a: i32, b: i32| -> i32 { integer::div_s32(a, b) }),
        (I::Rem, S32) => lane!(|a: i32, b: i32| -> i32 { integer::rem_s32(a, b) }),
        (I::Div, U64) => {
            lane!(|a: u64, b: u64| -> u64 { a.checked_div(b).unwrap_or(u64::MAX) })
        }
        (I::Rem, U64) => {
            lane!(|a: u64, b: u64| -> u64 { a.checked_rem(b).unwrap_or(u64::MAX) })
        }
        (I::And, B32) => lane!(|a: u32, b: u32| -> u32 { a & b }),
        (I::Or, B32) => lane!(|a: u32, b: u32| -> u32 { a | b }),
        (I::Xor, B32) => lane!(|a: u32, b: u32| -> u32 { a ^ b }),
        (I::ShiftLeft, B32) => lane!(|a: u32, b: u32| -> u32 { integer::shl_b32(a, b) }),
        (I::ShiftRight, U32 | B32) => {
            lane!(|a: u32, b: u32| -> u32 { integer::shr_u32(a, b) })
        }
        (I::ShiftRight, S32) => lane!(|a: i32, b: u32| -> i32 { integer::shr_s32(a, b) }),
        (I::Min, U32) => lane!(|a: u32, b: u32| -> u32 { a.min(b) }),
        (I::Max, U32) => lane!(|a: u32, b: u32| -> u32 { a.max(b) }),
        (I::Min, S32) => lane!(|a: i32, b: i32| -> i32 { a.min(b) }),
        (I::Max, S32) => lane!(|a: i32, b: i32| -> i32 { a.max(b) }),
        (I::Add { saturate: false }, U64 | S64) => {
            lane!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) })
        }
        (I::Sub { saturate: false }, U64 | S64) => {
            lane!(|a: u64, b: u64| -> u64 { a.wrapping_sub(b) })
        }
        (I::MulLow, U64 | S64) => lane!(|a: u64, b: u64| -> u64 { a.wrapping_mul(b) }),
        (I::And, B64) => lane!(|a: u64, b: u64| -> u64 { a & b }),
        (I::Or, B64) => lane!(|a: u64, b: u64| -> u64 { a | b }),
        (I::Xor, B64) => lane!(|a: u64, b: u64| -> u64 { a ^ b }),
        (I::ShiftLeft, B64) => lane!(|a: u64, b: u32| -> u64 { integer::shl_b64(a, b) }),
        (I::ShiftRight, U64 | B64) => {
            lane!(|a: u64, b: u32| -> u64 { integer::shr_u64(a, b) })
        }
        (I::ShiftRight, S64) => lane!(|a: i64, b: u32| -> i64 { integer::shr_s64(a, b) }),
        _ => return None,
    };
    Some(version(fast))
}

/// Selects a vectorised operation like [`int_binary`].
pub(super) fn int_unary(op: IntUnary, ty: Type, fast: bool) -> Option<Compute> {
    let version: Version = match (op, ty) {
        (IntUnary::Not, Type::B32) => lane!(|a: u32| -> u32 { !a }),
        (IntUnary::Neg, Type::S32) => lane!(|a: u32| -> u32 { a.wrapping_neg() }),
        (IntUnary::Neg, Type::S64) => lane!(|a: u64| -> u64 { a.wrapping_neg() }),
        _ => return None,
    };
    Some(version(fast))
}

/// Selects a vectorised operation like [`int_binary`].
pub(super) fn int_mad(product: IntBinary, ty: Type, fast: bool) -> Option<Compute> {
    let version: Version = match (product, ty) {
        (IntBinary::MulLow, Type::U32 | Type::S32) => {
            lane!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_mul(b).wrapping_add(c) })
        }
        (IntBinary::MulLow, Type::U64 | Type::S64) => {
            lane!(|a: u64, b: u64, c: u64| -> u64 { a.wrapping_mul(b).wrapping_add(c) })
        }
        (IntBinary::MulWide, Type::U32) => {
            lane!(|a: u32, b: u32, c: u64| -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) })
        }
        (IntBinary::MulWide, Type::S32) => {
            lane!(|a: i32, b: i32, c: i64| -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) })
        }
        _ => return None,
    };
    Some(version(fast))
}

fn is_plain_rounding(mode: FloatMode) -> bool {
    mode.rounding == Rounding::NearestEven && !mode.saturate && !mode.relu
}

/// Selects a vectorised operation like [`int_binary`].
pub(super) fn float_binary(
    op: FloatBinary,
    mode: FloatMode,
    ty: Type,
    fast: bool,
) -> Option<Compute> {
    use FloatBinary as F;
    if !is_plain_rounding(mode) {
        return None;
    }
    let min = F::Min { nan: false, xorsign_abs: false };
    let max = F::Max { nan: false, xorsign_abs: false };
    let div = F::Div { approximate: Approximate::No };
    let approximate = F::Div { approximate: Approximate::Approx };
    let version: Version = match (op, ty, mode.flush) {
        (F::Add, Type::F32, false) => lane!(|a: f32, b: f32| -> f32 { host::add_f32(a, b) }),
        (F::Sub, Type::F32, false) => lane!(|a: f32, b: f32| -> f32 { host::sub_f32(a, b) }),
        (F::Mul, Type::F32, false) => lane!(|a: f32, b: f32| -> f32 { host::mul_f32(a, b) }),
        (F::Add, Type::F32, true) => {
            lane!(|a: f32, b: f32| -> f32 { ftz(host::add_f32(ftz(a), ftz(b))) })
        }
        (F::Sub, Type::F32, true) => {
            lane!(|a: f32, b: f32| -> f32 { ftz(host::sub_f32(ftz(a), ftz(b))) })
        }
        (F::Mul, Type::F32, true) => {
            lane!(|a: f32, b: f32| -> f32 { host::mul_ftz_f32(a, b) })
        }
        (F::Add, Type::F64, _) => lane!(|a: f64, b: f64| -> f64 { host::add_f64(a, b) }),
        (F::Sub, Type::F64, _) => lane!(|a: f64, b: f64| -> f64 { host::sub_f64(a, b) }),
        (F::Mul, Type::F64, _) => lane!(|a: f64, b: f64| -> f64 { host::mul_f64(a, b) }),
        (op, Type::F32, false) if op == div => {
            lane!(|a: f32, b: f32| -> f32 { host::div_f32(a, b) })
        }
        (op, Type::F32, false) if op == approximate => {
            lane!(|a: f32, b: f32| -> f32 { div_approx_f32(a, b) })
        }
        (op, Type::F64, _) if op == div => {
            lane!(|a: f64, b: f64| -> f64 { host::div_f64(a, b) })
        }
        (op, Type::F32, false) if op == min => {
            lane!(|a: f32, b: f32| -> f32 { host::min_f32(a, b) })
        }
        (op, Type::F32, false) if op == max => {
            lane!(|a: f32, b: f32| -> f32 { host::max_f32(a, b) })
        }
        (op, Type::F32, true) if op == min => {
            lane!(|a: f32, b: f32| -> f32 { ftz(host::min_f32(ftz(a), ftz(b))) })
        }
        (op, Type::F32, true) if op == max => {
            lane!(|a: f32, b: f32| -> f32 { ftz(host::max_f32(ftz(a), ftz(b))) })
        }
        _ => return None,
    };
    Some(version(fast))
}

/// Selects a vectorised operation like [`int_binary`].
pub(super) fn float_unary(
    op: FloatUnary,
    mode: FloatMode,
    ty: Type,
    fast: bool,
) -> Option<Compute> {
    use FloatUnary as F;
    if ty != Type::F32 || !is_plain_rounding(mode) {
        return None;
    }
    let version: Version = match (op, mode.flush) {
        (F::Neg, false) => lane!(|a: f32| -> f32 { negated(a) }),
        (F::Neg, true) => lane!(|a: f32| -> f32 { negated(ftz(a)) }),
        (F::Abs, false) => lane!(|a: f32| -> f32 { host::canonical_f32(a).abs() }),
        (F::Abs, true) => lane!(|a: f32| -> f32 { host::canonical_f32(ftz(a)).abs() }),
        (F::Rcp { .. }, false) => lane!(|a: f32| -> f32 { host::div_f32(1.0, a) }),
        (F::Rcp { .. }, true) => lane!(|a: f32| -> f32 { ftz(host::div_f32(1.0, ftz(a))) }),
        (F::Ex2, false) => lane!(|a: f32| -> f32 { elementary_f32(F::Ex2, a) }),
        (F::Ex2, true) => lane!(|a: f32| -> f32 { ftz(elementary_f32(F::Ex2, ftz(a))) }),
        (F::Lg2, false) => lane!(|a: f32| -> f32 { elementary_f32(F::Lg2, a) }),
        (F::Lg2, true) => lane!(|a: f32| -> f32 { ftz(elementary_f32(F::Lg2, ftz(a))) }),
        (F::Rsqrt, false) => lane!(|a: f32| -> f32 { elementary_f32(F::Rsqrt, a) }),
        (F::Rsqrt, true) => {
            lane!(|a: f32| -> f32 { ftz(elementary_f32(F::Rsqrt, ftz(a))) })
        }
        (F::Sqrt { .. }, false) => lane!(|a: f32| -> f32 { host::sqrt_f32(a) }),
        _ => return None,
    };
    Some(version(fast))
}

/// Selects a vectorised operation like [`int_binary`].
pub(super) fn fma(mode: FloatMode, ty: Type, fast: bool) -> Option<Compute> {
    if !is_plain_rounding(mode) {
        return None;
    }
    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
    if (ty, mode.flush) == (Type::F32, false) {
        return Some(super::fused::compute());
    }
    let version: Version = match (ty, mode.flush) {
        (Type::F32, false) => {
            lane!(|a: f32, b: f32, c: f32| -> f32 { host::fma_f32(a, b, c) })
        }
        (Type::F32, true) => {
            lane!(|a: f32, b: f32, c: f32| -> f32 { host::fma_ftz_f32(a, b, c) })
        }
        (Type::F64, _) => lane!(|a: f64, b: f64, c: f64| -> f64 { host::fma_f64(a, b, c) }),
        _ => return None,
    };
    Some(version(fast))
}

/// `cvt` between registers that are as wide as their types.
pub(super) fn convert(
    (to, from): (Type, Type),
    rounding: Option<Rounding>,
    mode: FloatMode,
    fast: bool,
) -> Option<Compute> {
    use Type::{B32, B64, F16, F32, F64, S32, S64, Tf32, U32, U64};
    if (to, from) == (F32, F32) && mode.saturate && !mode.relu && !mode.flush && rounding.is_none()
    {
        return Some(lane!(|a: f32| -> f32 { host::saturate_f32(a) })(fast));
    }
    if mode.saturate || mode.relu || mode.flush {
        return None;
    }
    let [nearest, away, towards_zero] =
        [Rounding::NearestEven, Rounding::NearestAway, Rounding::TowardsZero]
            .map(|one| rounding == Some(one));
    let version: Version = match (to, from) {
        (U64 | S64 | B64, U32 | B32) => lane!(|a: u32| -> u64 { u64::from(a) }),
        (U64 | S64 | B64, S32) => lane!(|a: i32| -> i64 { i64::from(a) }),
        (U32 | S32 | B32, U64 | S64 | B64) => lane!(|a: u64| -> u32 { a as u32 }),
        (F32, S32) if nearest => lane!(|a: i32| -> f32 { cvt::s32_to_f32(a) }),
        (F32, U32) if nearest => lane!(|a: u32| -> f32 { cvt::u32_to_f32(a) }),
        (S32, F32) if towards_zero => lane!(|a: f32| -> i32 { cvt::f32_to_s32(a) }),
        (F64, F32) => lane!(|a: f32| -> f64 { cvt::f32_to_f64(a) }),
        (F32, F64) if nearest => lane!(|a: f64| -> f32 { cvt::f64_to_f32(a) }),
        (F32, F16) => lane!(|a: u32| -> f32 { cvt::f16_to_f32(a as u16) }),
        (F16, F32) if nearest => lane!(|a: f32| -> u32 { u32::from(cvt::f32_to_f16(a)) }),
        (Tf32, F32) if nearest => lane!(|a: f32| -> u32 { cvt::f32_to_tf32(a) }),
        (Tf32, F32) if away => lane!(|a: f32| -> u32 { cvt::f32_to_tf32_away(a) }),
        (Tf32, F32) if towards_zero => {
            lane!(|a: f32| -> u32 { cvt::f32_to_tf32_towards_zero(a) })
        }
        _ => return None,
    };
    Some(version(fast))
}

/// `cvt` of two `f32` registers to a pair of halves.
pub(super) fn convert_pair(
    to: Type,
    rounding: Option<Rounding>,
    mode: FloatMode,
    fast: bool,
) -> Option<Compute> {
    if mode.saturate || mode.relu || mode.flush || rounding != Some(Rounding::NearestEven) {
        return None;
    }
    let version: Version = match to {
        Type::F16x2 => lane!(|a: f32, b: f32| -> u32 { pair(cvt::f32_to_f16, a, b) }),
        Type::Bf16x2 => lane!(|a: f32, b: f32| -> u32 { pair(cvt::f32_to_bf16, a, b) }),
        _ => return None,
    };
    Some(version(fast))
}

/// `mov` of 32 or 64 bits.
pub(super) fn copy(wide: bool, fast: bool) -> Compute {
    let version: Version =
        if wide { lane!(|a: u64| -> u64 { a }) } else { lane!(|a: u32| -> u32 { a }) };
    version(fast)
}

/// `selp` of 32 or 64 bits.
pub(super) fn select(wide: bool, fast: bool) -> Compute {
    if wide { compile_select::<u64>(fast) } else { compile_select::<u32>(fast) }
}
