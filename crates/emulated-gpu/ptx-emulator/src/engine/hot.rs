//! The operations that most instructions of a kernel are, for 32 lanes at once. What is not here
//! goes through the general functions of [`crate::arithmetic`], lane by lane, to the same bits.

#![cfg_attr(test, allow(unsafe_code, reason = "the tests call both versions of an operation"))]

use super::code::{Compute, Operands};
use super::registers::Registers;
use super::vector::{Comparator, compile, compile_comparison, compile_select, operations};
use crate::arithmetic::{approximate, convert as cvt, host, integer};
use crate::program::{
    Approximate, Comparison, FloatBinary, FloatMode, FloatUnary, IntBinary, IntUnary, Rounding,
    Type,
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
}

#[inline(always)]
fn f32_2(f: impl Fn(f32, f32) -> f32, a: u32, b: u32) -> u32 {
    f(f32::from_bits(a), f32::from_bits(b)).to_bits()
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
    use Type::{B32, B64, F16, F32, F64, S32, S64, U32, U64};
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
        _ => return None,
    })
}

/// `mov` of 32 or 64 bits.
pub(super) fn copy(wide: bool, fast: bool) -> Compute {
    if wide { compile::<Copy64>(fast) } else { compile::<Copy32>(fast) }
}

/// `selp` of 32 or 64 bits.
pub(super) fn select(wide: bool, fast: bool) -> Compute {
    if wide { compile_select::<u64>(fast) } else { compile_select::<u32>(fast) }
}

macro_rules! comparators {
    ($($name:ident: $lane:ty, |$x:ident| $view:expr;)*) => {
        $(
            struct $name<const OP: u8>;
            impl<const OP: u8> Comparator for $name<OP> {
                type A = $lane;
                #[inline(always)]
                fn apply(a: $lane, b: $lane) -> bool {
                    #[inline(always)]
                    fn view($x: $lane) -> impl PartialOrd + Copy {
                        $view
                    }
                    holds::<OP, _>(view(a), view(b))
                }
            }
        )*
    };
}

comparators! {
    CompareU32: u32, |x| x;
    CompareS32: u32, |x| x as i32;
    CompareF32: u32, |x| f32::from_bits(x);
    CompareFtz: u32, |x| ftz(x);
    CompareU64: u64, |x| x;
    CompareS64: u64, |x| x as i64;
    CompareF64: u64, |x| f64::from_bits(x);
}

/// A comparison by its number: the order in which [`compare`] lists them.
#[inline(always)]
#[expect(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::eq_op,
    reason = "NaN makes the difference"
)]
fn holds<const OP: u8, T: PartialOrd + Copy>(a: T, b: T) -> bool {
    match OP {
        0 => a == b,
        1 => a < b || a > b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        6 => !(a < b || a > b),
        7 => a != b,
        8 => !(a >= b),
        9 => !(a > b),
        10 => !(a <= b),
        11 => !(a < b),
        12 => a == a && b == b,
        _ => a != a || b != b,
    }
}

/// `setp` without `combine` and with one destination.
pub(super) fn compare(op: Comparison, ty: Type, flush: bool, fast: bool) -> Option<Compute> {
    macro_rules! by_op {
        ($name:ident) => {
            match op {
                Comparison::Eq => compile_comparison::<$name<0>>(fast),
                Comparison::Ne => compile_comparison::<$name<1>>(fast),
                Comparison::Lt => compile_comparison::<$name<2>>(fast),
                Comparison::Le => compile_comparison::<$name<3>>(fast),
                Comparison::Gt => compile_comparison::<$name<4>>(fast),
                Comparison::Ge => compile_comparison::<$name<5>>(fast),
                Comparison::Equ => compile_comparison::<$name<6>>(fast),
                Comparison::Neu => compile_comparison::<$name<7>>(fast),
                Comparison::Ltu => compile_comparison::<$name<8>>(fast),
                Comparison::Leu => compile_comparison::<$name<9>>(fast),
                Comparison::Gtu => compile_comparison::<$name<10>>(fast),
                Comparison::Geu => compile_comparison::<$name<11>>(fast),
                Comparison::Num => compile_comparison::<$name<12>>(fast),
                Comparison::Nan => compile_comparison::<$name<13>>(fast),
            }
        };
    }
    Some(match ty {
        Type::U32 | Type::B32 => by_op!(CompareU32),
        Type::S32 => by_op!(CompareS32),
        Type::F32 if flush => by_op!(CompareFtz),
        Type::F32 => by_op!(CompareF32),
        Type::U64 | Type::B64 => by_op!(CompareU64),
        Type::S64 => by_op!(CompareS64),
        Type::F64 => by_op!(CompareF64),
        _ => return None,
    })
}

/// `and`, `or`, `xor`, `not` and `mov` of predicates: operations on one word.
pub(super) fn predicate(op: IntBinary) -> Option<Compute> {
    fn apply(registers: &mut Registers, operands: &Operands, mask: u32, f: fn(u32, u32) -> u32) {
        let predicates = &mut registers.predicates;
        let value = f(predicates[operands.a as usize], predicates[operands.b as usize]);
        let word = &mut predicates[operands.d as usize];
        *word = *word & !mask | value & mask;
    }
    fn and(registers: &mut Registers, operands: &Operands, mask: u32) {
        apply(registers, operands, mask, |a, b| a & b);
    }
    fn or(registers: &mut Registers, operands: &Operands, mask: u32) {
        apply(registers, operands, mask, |a, b| a | b);
    }
    fn xor(registers: &mut Registers, operands: &Operands, mask: u32) {
        apply(registers, operands, mask, |a, b| a ^ b);
    }
    match op {
        IntBinary::And => Some(and),
        IntBinary::Or => Some(or),
        IntBinary::Xor => Some(xor),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::registers::{FIRST_ROW, LANES, Slot, Width};
    use crate::engine::vector::fast_host;

    /// Every operation of this file, in the version asked for.
    fn all(fast: bool) -> Vec<Compute> {
        use FloatBinary as F;
        use IntBinary as I;
        let plain = FloatMode {
            rounding: Rounding::NearestEven,
            flush: false,
            saturate: false,
            relu: false,
        };
        let modes = [plain, FloatMode { flush: true, ..plain }];
        let types = [
            Type::B32,
            Type::U32,
            Type::S32,
            Type::B64,
            Type::U64,
            Type::S64,
            Type::F16,
            Type::F32,
            Type::F64,
        ];
        let integers = [
            I::Add { saturate: false },
            I::Sub { saturate: false },
            I::MulLow,
            I::MulHigh,
            I::MulWide,
            I::And,
            I::Or,
            I::Xor,
            I::ShiftLeft,
            I::ShiftRight,
            I::Min,
            I::Max,
            I::Div,
            I::Rem,
        ];
        let floats = [
            F::Add,
            F::Sub,
            F::Mul,
            F::Div { approximate: Approximate::No },
            F::Min { nan: false, xorsign_abs: false },
            F::Max { nan: false, xorsign_abs: false },
        ];
        let comparisons = [
            Comparison::Eq,
            Comparison::Ne,
            Comparison::Lt,
            Comparison::Le,
            Comparison::Gt,
            Comparison::Ge,
            Comparison::Equ,
            Comparison::Neu,
            Comparison::Ltu,
            Comparison::Leu,
            Comparison::Gtu,
            Comparison::Geu,
            Comparison::Num,
            Comparison::Nan,
        ];
        let mut found =
            vec![copy(false, fast), copy(true, fast), select(false, fast), select(true, fast)];
        for ty in types {
            found.extend(integers.iter().filter_map(|&op| int_binary(op, ty, fast)));
            found.extend(integers.iter().filter_map(|&op| int_mad(op, ty, fast)));
            found.extend(
                [IntUnary::Not, IntUnary::Neg].iter().filter_map(|&op| int_unary(op, ty, fast)),
            );
            for mode in modes {
                found.extend(floats.iter().filter_map(|&op| float_binary(op, mode, ty, fast)));
                found.extend(fma(mode, ty, fast));
                found.extend(UNARY.iter().filter_map(|&op| float_unary(op, mode, ty, fast)));
                found
                    .extend(comparisons.iter().filter_map(|&op| compare(op, ty, mode.flush, fast)));
            }
            for from in types {
                for rounding in [None, Some(Rounding::NearestEven), Some(Rounding::TowardsZero)] {
                    found.extend(convert((ty, from), rounding, plain, fast));
                }
            }
        }
        found
    }

    const UNARY: [FloatUnary; 10] = [
        FloatUnary::Neg,
        FloatUnary::Abs,
        FloatUnary::Rcp { approximate: true },
        FloatUnary::Rcp { approximate: false },
        FloatUnary::Sqrt { approximate: true },
        FloatUnary::Sqrt { approximate: false },
        FloatUnary::Rsqrt,
        FloatUnary::Lg2,
        FloatUnary::Ex2,
        FloatUnary::Tanh,
    ];

    #[test]
    fn unary_operations_are_those_of_the_general_arithmetic() {
        let mut values: Vec<u32> = (0..64).map(|i: u32| i.wrapping_mul(0x9e37_79b9)).collect();
        values.extend([0, 1, 0x8000_0000, 0x8000_0001, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000]);
        values.extend([
            0xffc0_0001,
            0x0080_0000,
            0x007f_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x7f7f_ffff,
        ]);
        let mut compared = 0;
        for (op, flush) in UNARY.into_iter().flat_map(|op| [(op, false), (op, true)]) {
            let rounding = Rounding::NearestEven;
            let mode = FloatMode { rounding, flush, saturate: false, relu: false };
            let Some(compute) = float_unary(op, mode, Type::F32, false) else { continue };
            for &value in &values {
                let mut registers = Registers::new(FIRST_ROW + 2, 3).unwrap();
                registers.narrow_mut(FIRST_ROW)[0] = value;
                let operands = Operands { d: FIRST_ROW + 1, a: FIRST_ROW, b: 0, c: 0 };
                // SAFETY: this is the portable version.
                unsafe { compute(&mut registers, &operands, 1) };
                let general = crate::arithmetic::float_unary(op, mode, Type::F32, u64::from(value));
                let own = u64::from(registers.narrow(FIRST_ROW + 1)[0]);
                assert_eq!(own, general, "{op:?} {mode:?} of {value:#x}");
                compared += 1;
            }
        }
        assert!(compared > 1000);
    }

    #[test]
    fn both_versions_of_every_operation_give_the_same_bits() {
        let fast = all(fast_host());
        let portable = all(false);
        assert!(fast.len() > 200 && fast.len() == portable.len());
        let special = [
            0u32,
            1,
            31,
            32,
            64,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x3f80_0000,
            0x0000_0001,
            0x007f_ffff,
            0x0080_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7fa0_0001,
        ];
        let mut state = 7u32;
        let mut word = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 30 == 0 { special[(state >> 8) as usize % special.len()] } else { state }
        };
        // Destination, then three operands of two rows each; predicates 3 to 5.
        let rows: [u32; 4] = std::array::from_fn(|index| FIRST_ROW + 2 * index as u32);
        for round in 0..40 {
            let mut registers = Registers::new(FIRST_ROW + 8, 16).unwrap();
            for &index in &rows {
                for lane in 0..LANES {
                    let value = u64::from(word()) | u64::from(word()) << 32;
                    registers.set(Slot { index, width: Width::Wide }, lane, value);
                }
            }
            // As a select takes its predicate from where others have their third operand.
            registers.predicates[rows[3] as usize] = word();
            let mask = if round % 2 == 0 { u32::MAX } else { word() };
            let operands = Operands { d: rows[0], a: rows[1], b: rows[2], c: rows[3] };
            for (index, (fast, portable)) in fast.iter().zip(&portable).enumerate() {
                let (mut one, mut other) = (registers.clone(), registers.clone());
                // SAFETY: the fast ones were made for what `fast_host` found.
                unsafe {
                    fast(&mut one, &operands, mask);
                    portable(&mut other, &operands, mask);
                }
                assert_eq!(one.predicates, other.predicates, "operation {index}");
                assert_eq!(one.wide(rows[0]), other.wide(rows[0]), "operation {index}");
            }
        }
    }
}
