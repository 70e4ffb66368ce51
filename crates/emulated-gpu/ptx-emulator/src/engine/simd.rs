//! The operations that most instructions of a kernel are, for 32 lanes at once. What is not here
//! goes through the general functions of [`crate::arithmetic`], lane by lane, to the same bits.

#![cfg_attr(test, allow(unsafe_code, reason = "the tests call both versions of an operation"))]

mod compare;
#[cfg(test)]
mod tests;

pub(super) use compare::{compare, predicate};

use super::code::Compute;
use super::vector::{compile, compile_select, operations};
use crate::arithmetic::{approximate, convert as cvt, host, integer};
use crate::program::{
    Approximate, FloatBinary, FloatMode, FloatUnary, IntBinary, IntUnary, Rounding, Type,
};

operations! {
    Add32: u32 = (a: u32, b: u32, _c: ()) a.wrapping_add(b);
    Sub32: u32 = (a: u32, b: u32, _c: ()) a.wrapping_sub(b);
    Mul32: u32 = (a: u32, b: u32, _c: ()) a.wrapping_mul(b);
    Mad32: u32 = (a: u32, b: u32, c: u32) a.wrapping_mul(b).wrapping_add(c);
    And32: u32 = (a: u32, b: u32, _c: ()) a & b;
    Or32: u32 = (a: u32, b: u32, _c: ()) a | b;
    Xor32: u32 = (a: u32, b: u32, _c: ()) a ^ b;
    Shl32: u32 = (a: u32, b: u32, _c: ()) integer::shl_b32(a, b);
    ShrU32: u32 = (a: u32, b: u32, _c: ()) integer::shr_u32(a, b);
    ShrS32: u32 = (a: u32, b: u32, _c: ()) integer::shr_s32(a as i32, b) as u32;
    MinU32: u32 = (a: u32, b: u32, _c: ()) a.min(b);
    MaxU32: u32 = (a: u32, b: u32, _c: ()) a.max(b);
    MinS32: u32 = (a: u32, b: u32, _c: ()) (a as i32).min(b as i32) as u32;
    MaxS32: u32 = (a: u32, b: u32, _c: ()) (a as i32).max(b as i32) as u32;
    MulHighU32: u32 = (a: u32, b: u32, _c: ()) integer::mul_hi_u32(a, b);
    MulHighS32: u32 = (a: u32, b: u32, _c: ()) integer::mul_hi_s32(a as i32, b as i32) as u32;
    DivU32: u32 = (a: u32, b: u32, _c: ()) integer::div_u32(a, b);
    RemU32: u32 = (a: u32, b: u32, _c: ()) integer::rem_u32(a, b);
    DivS32: u32 = (a: u32, b: u32, _c: ()) integer::div_s32(a as i32, b as i32) as u32;
    RemS32: u32 = (a: u32, b: u32, _c: ()) integer::rem_s32(a as i32, b as i32) as u32;
    DivU64: u64 = (a: u64, b: u64, _c: ()) a.checked_div(b).unwrap_or(u64::MAX);
    RemU64: u64 = (a: u64, b: u64, _c: ()) a.checked_rem(b).unwrap_or(u64::MAX);
    Neg64: u64 = (a: u64, _b: (), _c: ()) a.wrapping_neg();
    Not32: u32 = (a: u32, _b: (), _c: ()) !a;
    Neg32: u32 = (a: u32, _b: (), _c: ()) a.wrapping_neg();
    Copy32: u32 = (a: u32, _b: (), _c: ()) a;
    MulWideU32: u64 = (a: u32, b: u32, _c: ()) u64::from(a) * u64::from(b);
    MulWideS32: u64 = (a: u32, b: u32, _c: ()) (i64::from(a as i32) * i64::from(b as i32)) as u64;
    MadWideU32: u64 = (a: u32, b: u32, c: u64) (u64::from(a) * u64::from(b)).wrapping_add(c);
    MadWideS32: u64 = (a: u32, b: u32, c: u64) ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c);
    Add64: u64 = (a: u64, b: u64, _c: ()) a.wrapping_add(b);
    Sub64: u64 = (a: u64, b: u64, _c: ()) a.wrapping_sub(b);
    Mul64: u64 = (a: u64, b: u64, _c: ()) a.wrapping_mul(b);
    Mad64: u64 = (a: u64, b: u64, c: u64) a.wrapping_mul(b).wrapping_add(c);
    And64: u64 = (a: u64, b: u64, _c: ()) a & b;
    Or64: u64 = (a: u64, b: u64, _c: ()) a | b;
    Xor64: u64 = (a: u64, b: u64, _c: ()) a ^ b;
    Shl64: u64 = (a: u64, b: u32, _c: ()) integer::shl_b64(a, b);
    ShrU64: u64 = (a: u64, b: u32, _c: ()) integer::shr_u64(a, b);
    ShrS64: u64 = (a: u64, b: u32, _c: ()) integer::shr_s64(a as i64, b) as u64;
    Copy64: u64 = (a: u64, _b: (), _c: ()) a;

    AddF32: u32 = (a: u32, b: u32, _c: ()) f32_2(host::add_f32, a, b);
    SubF32: u32 = (a: u32, b: u32, _c: ()) f32_2(host::sub_f32, a, b);
    MulF32: u32 = (a: u32, b: u32, _c: ()) f32_2(host::mul_f32, a, b);
    DivF32: u32 = (a: u32, b: u32, _c: ()) f32_2(host::div_f32, a, b);
    MinF32: u32 = (a: u32, b: u32, _c: ()) f32_2(host::min_f32, a, b);
    MaxF32: u32 = (a: u32, b: u32, _c: ()) f32_2(host::max_f32, a, b);
    FmaF32: u32 = (a: u32, b: u32, c: u32) host::fma_f32(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits();
    NegF32: u32 = (a: u32, _b: (), _c: ()) host::canonical_f32(f32::from_bits(a)).neg_unless_nan().to_bits();
    AbsF32: u32 = (a: u32, _b: (), _c: ()) host::canonical_f32(f32::from_bits(a)).abs().to_bits();
    NegFtz: u32 = (a: u32, _b: (), _c: ()) host::canonical_f32(ftz(a)).neg_unless_nan().to_bits();
    AbsFtz: u32 = (a: u32, _b: (), _c: ()) host::canonical_f32(ftz(a)).abs().to_bits();
    SaturateF32: u32 = (a: u32, _b: (), _c: ()) host::saturate_f32(f32::from_bits(a)).to_bits();
    RcpF32: u32 = (a: u32, _b: (), _c: ()) host::div_f32(1.0, f32::from_bits(a)).to_bits();
    RcpFtz: u32 = (a: u32, _b: (), _c: ()) ftz_1(|a| host::div_f32(1.0, a), a);
    DivApproxF32: u32 = (a: u32, b: u32, _c: ()) f32_2(approximate::div_approx_f32, a, b);
    Ex2F32: u32 = (a: u32, _b: (), _c: ()) approximate::ex2_approx_f32(f32::from_bits(a)).to_bits();
    Ex2Ftz: u32 = (a: u32, _b: (), _c: ()) ftz_1(approximate::ex2_approx_f32, a);
    Lg2F32: u32 = (a: u32, _b: (), _c: ()) approximate::lg2_approx_f32(f32::from_bits(a)).to_bits();
    Lg2Ftz: u32 = (a: u32, _b: (), _c: ()) ftz_1(approximate::lg2_approx_f32, a);
    RsqrtF32: u32 = (a: u32, _b: (), _c: ()) approximate::rsqrt_approx_f32(f32::from_bits(a)).to_bits();
    RsqrtFtz: u32 = (a: u32, _b: (), _c: ()) ftz_1(approximate::rsqrt_approx_f32, a);
    SqrtF32: u32 = (a: u32, _b: (), _c: ()) host::sqrt_f32(f32::from_bits(a)).to_bits();
    AddFtz: u32 = (a: u32, b: u32, _c: ()) ftz_2(host::add_f32, a, b);
    SubFtz: u32 = (a: u32, b: u32, _c: ()) ftz_2(host::sub_f32, a, b);
    MulFtz: u32 = (a: u32, b: u32, _c: ()) f32_2(host::mul_ftz_f32, a, b);
    MinFtz: u32 = (a: u32, b: u32, _c: ()) ftz_2(host::min_f32, a, b);
    MaxFtz: u32 = (a: u32, b: u32, _c: ()) ftz_2(host::max_f32, a, b);
    FmaFtz: u32 = (a: u32, b: u32, c: u32) host::fma_ftz_f32(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits();
    AddF64: u64 = (a: u64, b: u64, _c: ()) f64_2(host::add_f64, a, b);
    SubF64: u64 = (a: u64, b: u64, _c: ()) f64_2(host::sub_f64, a, b);
    MulF64: u64 = (a: u64, b: u64, _c: ()) f64_2(host::mul_f64, a, b);
    DivF64: u64 = (a: u64, b: u64, _c: ()) f64_2(host::div_f64, a, b);
    FmaF64: u64 = (a: u64, b: u64, c: u64) host::fma_f64(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits();

    WidenU32: u64 = (a: u32, _b: (), _c: ()) u64::from(a);
    WidenS32: u64 = (a: u32, _b: (), _c: ()) i64::from(a as i32) as u64;
    Truncate64: u32 = (a: u64, _b: (), _c: ()) a as u32;
    F32FromS32: u32 = (a: u32, _b: (), _c: ()) cvt::s32_to_f32(a as i32).to_bits();
    F32FromU32: u32 = (a: u32, _b: (), _c: ()) cvt::u32_to_f32(a).to_bits();
    S32FromF32: u32 = (a: u32, _b: (), _c: ()) cvt::f32_to_s32(f32::from_bits(a)) as u32;
    F64FromF32: u64 = (a: u32, _b: (), _c: ()) cvt::f32_to_f64(f32::from_bits(a)).to_bits();
    F32FromF64: u32 = (a: u64, _b: (), _c: ()) cvt::f64_to_f32(f64::from_bits(a)).to_bits();
    F32FromF16: u32 = (a: u32, _b: (), _c: ()) cvt::f16_to_f32(a as u16).to_bits();
    F16FromF32: u32 = (a: u32, _b: (), _c: ()) u32::from(cvt::f32_to_f16(f32::from_bits(a)));
    Tf32Away: u32 = (a: u32, _b: (), _c: ()) cvt::f32_to_tf32_away(f32::from_bits(a));
    Tf32Even: u32 = (a: u32, _b: (), _c: ()) cvt::f32_to_tf32(f32::from_bits(a));
    Tf32TowardsZero: u32 = (a: u32, _b: (), _c: ()) cvt::f32_to_tf32_towards_zero(f32::from_bits(a));
    F16x2FromF32: u32 = (a: u32, b: u32, _c: ()) pair(cvt::f32_to_f16, a, b);
    Bf16x2FromF32: u32 = (a: u32, b: u32, _c: ()) pair(cvt::f32_to_bf16, a, b);
}

#[inline(always)]
fn f32_2(f: impl Fn(f32, f32) -> f32, a: u32, b: u32) -> u32 {
    f(f32::from_bits(a), f32::from_bits(b)).to_bits()
}

/// The first in the upper half.
#[inline(always)]
fn pair(f: impl Fn(f32) -> u16, a: u32, b: u32) -> u32 {
    u32::from(f(f32::from_bits(a))) << 16 | u32::from(f(f32::from_bits(b)))
}

#[inline(always)]
fn ftz(a: u32) -> f32 {
    host::flush_f32(f32::from_bits(a))
}

#[inline(always)]
fn ftz_1(f: impl Fn(f32) -> f32, a: u32) -> u32 {
    host::flush_f32(f(ftz(a))).to_bits()
}

/// The one NaN has no sign to turn.
trait NegUnlessNan {
    fn neg_unless_nan(self) -> Self;
}

impl NegUnlessNan for f32 {
    #[inline(always)]
    fn neg_unless_nan(self) -> Self {
        if self.is_nan() { self } else { -self }
    }
}

#[inline(always)]
fn ftz_2(f: impl Fn(f32, f32) -> f32, a: u32, b: u32) -> u32 {
    host::flush_f32(f(ftz(a), ftz(b))).to_bits()
}

#[inline(always)]
fn f64_2(f: impl Fn(f64, f64) -> f64, a: u64, b: u64) -> u64 {
    f(f64::from_bits(a), f64::from_bits(b)).to_bits()
}

/// An integer operation whose operands are all as wide as the type.
pub(super) fn int_binary(op: IntBinary, ty: Type, fast: bool) -> Option<Compute> {
    use IntBinary as I;
    use Type::{B32, B64, S32, S64, U32, U64};
    Some(match (op, ty) {
        (I::Add { saturate: false }, U32 | S32) => compile::<Add32>(fast),
        (I::Sub { saturate: false }, U32 | S32) => compile::<Sub32>(fast),
        (I::MulLow, U32 | S32) => compile::<Mul32>(fast),
        (I::MulHigh, U32) => compile::<MulHighU32>(fast),
        (I::MulHigh, S32) => compile::<MulHighS32>(fast),
        (I::MulWide, U32) => compile::<MulWideU32>(fast),
        (I::MulWide, S32) => compile::<MulWideS32>(fast),
        (I::Div, U32) => compile::<DivU32>(fast),
        (I::Rem, U32) => compile::<RemU32>(fast),
        (I::Div, S32) => compile::<DivS32>(fast),
        (I::Rem, S32) => compile::<RemS32>(fast),
        (I::Div, U64) => compile::<DivU64>(fast),
        (I::Rem, U64) => compile::<RemU64>(fast),
        (I::And, B32) => compile::<And32>(fast),
        (I::Or, B32) => compile::<Or32>(fast),
        (I::Xor, B32) => compile::<Xor32>(fast),
        (I::ShiftLeft, B32) => compile::<Shl32>(fast),
        (I::ShiftRight, U32 | B32) => compile::<ShrU32>(fast),
        (I::ShiftRight, S32) => compile::<ShrS32>(fast),
        (I::Min, U32) => compile::<MinU32>(fast),
        (I::Max, U32) => compile::<MaxU32>(fast),
        (I::Min, S32) => compile::<MinS32>(fast),
        (I::Max, S32) => compile::<MaxS32>(fast),
        (I::Add { saturate: false }, U64 | S64) => compile::<Add64>(fast),
        (I::Sub { saturate: false }, U64 | S64) => compile::<Sub64>(fast),
        (I::MulLow, U64 | S64) => compile::<Mul64>(fast),
        (I::And, B64) => compile::<And64>(fast),
        (I::Or, B64) => compile::<Or64>(fast),
        (I::Xor, B64) => compile::<Xor64>(fast),
        (I::ShiftLeft, B64) => compile::<Shl64>(fast),
        (I::ShiftRight, U64 | B64) => compile::<ShrU64>(fast),
        (I::ShiftRight, S64) => compile::<ShrS64>(fast),
        _ => return None,
    })
}

/// As [`int_binary`].
pub(super) fn int_unary(op: IntUnary, ty: Type, fast: bool) -> Option<Compute> {
    Some(match (op, ty) {
        (IntUnary::Not, Type::B32) => compile::<Not32>(fast),
        (IntUnary::Neg, Type::S32) => compile::<Neg32>(fast),
        (IntUnary::Neg, Type::S64) => compile::<Neg64>(fast),
        _ => return None,
    })
}

/// As [`int_binary`].
pub(super) fn int_mad(product: IntBinary, ty: Type, fast: bool) -> Option<Compute> {
    Some(match (product, ty) {
        (IntBinary::MulLow, Type::U32 | Type::S32) => compile::<Mad32>(fast),
        (IntBinary::MulLow, Type::U64 | Type::S64) => compile::<Mad64>(fast),
        (IntBinary::MulWide, Type::U32) => compile::<MadWideU32>(fast),
        (IntBinary::MulWide, Type::S32) => compile::<MadWideS32>(fast),
        _ => return None,
    })
}

fn plain(mode: FloatMode) -> bool {
    mode.rounding == Rounding::NearestEven && !mode.saturate && !mode.relu
}

/// As [`int_binary`].
pub(super) fn float_binary(
    op: FloatBinary,
    mode: FloatMode,
    ty: Type,
    fast: bool,
) -> Option<Compute> {
    use FloatBinary as F;
    if !plain(mode) {
        return None;
    }
    let min = F::Min { nan: false, xorsign_abs: false };
    let max = F::Max { nan: false, xorsign_abs: false };
    let div = F::Div { approximate: Approximate::No };
    let approximate = F::Div { approximate: Approximate::Approx };
    Some(match (op, ty, mode.flush) {
        (F::Add, Type::F32, false) => compile::<AddF32>(fast),
        (F::Sub, Type::F32, false) => compile::<SubF32>(fast),
        (F::Mul, Type::F32, false) => compile::<MulF32>(fast),
        (F::Add, Type::F32, true) => compile::<AddFtz>(fast),
        (F::Sub, Type::F32, true) => compile::<SubFtz>(fast),
        (F::Mul, Type::F32, true) => compile::<MulFtz>(fast),
        (F::Add, Type::F64, _) => compile::<AddF64>(fast),
        (F::Sub, Type::F64, _) => compile::<SubF64>(fast),
        (F::Mul, Type::F64, _) => compile::<MulF64>(fast),
        (op, Type::F32, false) if op == div => compile::<DivF32>(fast),
        (op, Type::F32, false) if op == approximate => compile::<DivApproxF32>(fast),
        (op, Type::F64, _) if op == div => compile::<DivF64>(fast),
        (op, Type::F32, false) if op == min => compile::<MinF32>(fast),
        (op, Type::F32, false) if op == max => compile::<MaxF32>(fast),
        (op, Type::F32, true) if op == min => compile::<MinFtz>(fast),
        (op, Type::F32, true) if op == max => compile::<MaxFtz>(fast),
        _ => return None,
    })
}

/// As [`int_binary`].
pub(super) fn float_unary(
    op: FloatUnary,
    mode: FloatMode,
    ty: Type,
    fast: bool,
) -> Option<Compute> {
    use FloatUnary as F;
    if ty != Type::F32 || !plain(mode) {
        return None;
    }
    Some(match (op, mode.flush) {
        (F::Neg, false) => compile::<NegF32>(fast),
        (F::Neg, true) => compile::<NegFtz>(fast),
        (F::Abs, false) => compile::<AbsF32>(fast),
        (F::Abs, true) => compile::<AbsFtz>(fast),
        (F::Rcp { .. }, false) => compile::<RcpF32>(fast),
        (F::Rcp { .. }, true) => compile::<RcpFtz>(fast),
        (F::Ex2, false) => compile::<Ex2F32>(fast),
        (F::Ex2, true) => compile::<Ex2Ftz>(fast),
        (F::Lg2, false) => compile::<Lg2F32>(fast),
        (F::Lg2, true) => compile::<Lg2Ftz>(fast),
        (F::Rsqrt, false) => compile::<RsqrtF32>(fast),
        (F::Rsqrt, true) => compile::<RsqrtFtz>(fast),
        (F::Sqrt { .. }, false) => compile::<SqrtF32>(fast),
        _ => return None,
    })
}

/// As [`int_binary`].
pub(super) fn fma(mode: FloatMode, ty: Type, fast: bool) -> Option<Compute> {
    if !plain(mode) {
        return None;
    }
    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
    if (ty, mode.flush) == (Type::F32, false) {
        return Some(super::fused::compute());
    }
    Some(match (ty, mode.flush) {
        (Type::F32, false) => compile::<FmaF32>(fast),
        (Type::F32, true) => compile::<FmaFtz>(fast),
        (Type::F64, _) => compile::<FmaF64>(fast),
        _ => return None,
    })
}

/// `cvt` between registers as wide as the types.
pub(super) fn convert(
    (to, from): (Type, Type),
    rounding: Option<Rounding>,
    mode: FloatMode,
    fast: bool,
) -> Option<Compute> {
    use Type::{B32, B64, F16, F32, F64, S32, S64, Tf32, U32, U64};
    if (to, from) == (F32, F32) && mode.saturate && !mode.relu && !mode.flush && rounding.is_none()
    {
        return Some(compile::<SaturateF32>(fast));
    }
    if mode.saturate || mode.relu || mode.flush {
        return None;
    }
    let nearest = rounding == Some(Rounding::NearestEven);
    Some(match (to, from) {
        (U64 | S64 | B64, U32 | B32) => compile::<WidenU32>(fast),
        (U64 | S64 | B64, S32) => compile::<WidenS32>(fast),
        (U32 | S32 | B32, U64 | S64 | B64) => compile::<Truncate64>(fast),
        (F32, S32) if nearest => compile::<F32FromS32>(fast),
        (F32, U32) if nearest => compile::<F32FromU32>(fast),
        (S32, F32) if rounding == Some(Rounding::TowardsZero) => compile::<S32FromF32>(fast),
        (F64, F32) => compile::<F64FromF32>(fast),
        (F32, F64) if nearest => compile::<F32FromF64>(fast),
        (F32, F16) => compile::<F32FromF16>(fast),
        (F16, F32) if nearest => compile::<F16FromF32>(fast),
        (Tf32, F32) if nearest => compile::<Tf32Even>(fast),
        (Tf32, F32) if rounding == Some(Rounding::NearestAway) => compile::<Tf32Away>(fast),
        (Tf32, F32) if rounding == Some(Rounding::TowardsZero) => compile::<Tf32TowardsZero>(fast),
        _ => return None,
    })
}

/// `cvt` of two registers of `f32` to a pair.
pub(super) fn convert_pair(
    to: Type,
    rounding: Option<Rounding>,
    mode: FloatMode,
    fast: bool,
) -> Option<Compute> {
    if mode.saturate || mode.relu || mode.flush || rounding != Some(Rounding::NearestEven) {
        return None;
    }
    match to {
        Type::F16x2 => Some(compile::<F16x2FromF32>(fast)),
        Type::Bf16x2 => Some(compile::<Bf16x2FromF32>(fast)),
        _ => None,
    }
}

/// `mov` of 32 or 64 bits.
pub(super) fn copy(wide: bool, fast: bool) -> Compute {
    if wide { compile::<Copy64>(fast) } else { compile::<Copy32>(fast) }
}

/// `selp` of 32 or 64 bits.
pub(super) fn select(wide: bool, fast: bool) -> Compute {
    if wide { compile_select::<u64>(fast) } else { compile_select::<u32>(fast) }
}
