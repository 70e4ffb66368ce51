//! Floating-point arithmetic (PTX ISA, "Floating Point Instructions" and "Half Precision Floating
//! Point Instructions").

use crate::diagnostic::Problem;
use crate::program::{
    Approximate, FloatBinary, FloatMode, FloatProperty, FloatUnary, Op, Rounding, Type,
};

use super::HALVES;
use crate::check::context::Result;
use crate::check::modifiers::ROUNDINGS;
use crate::check::operands::Check;

const FLOATS: [Type; 6] = [Type::F32, Type::F64, Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];

fn is_half(ty: Type) -> bool {
    HALVES.contains(&ty)
}

fn is_bf16(ty: Type) -> bool {
    matches!(ty, Type::Bf16 | Type::Bf16x2)
}

/// The modifiers of add, sub, mul and fma. A half-precision operation rounds to nearest only.
fn mode(check: &mut Check<'_, '_>, ty: Type) -> Result<(FloatMode, bool)> {
    let rounding = if is_half(ty) {
        check.modifiers.pick(&[("rn", Rounding::NearestEven)])
    } else {
        check.modifiers.rounding()
    };
    let flush = matches!(ty, Type::F32 | Type::F16 | Type::F16x2) && check.flushes();
    let saturate = matches!(ty, Type::F32 | Type::F16 | Type::F16x2) && check.modifiers.flag("sat");
    let given = rounding.is_some();
    let rounding = rounding.unwrap_or(Rounding::NearestEven);
    Ok((FloatMode { rounding, flush, saturate, relu: false }, given))
}

pub(super) fn add_or_sub(check: &mut Check<'_, '_>, subtract: bool) -> Result<Op> {
    let op = if subtract { FloatBinary::Sub } else { FloatBinary::Add };
    arithmetic(check, op)
}

pub(super) fn mul(check: &mut Check<'_, '_>) -> Result<Op> {
    arithmetic(check, FloatBinary::Mul)
}

fn arithmetic(check: &mut Check<'_, '_>, op: FloatBinary) -> Result<Op> {
    let ty = check.modifiers.ty(&FLOATS)?;
    let (mode, _) = mode(check, ty)?;
    binary(check, op, mode, ty)
}

fn binary(check: &mut Check<'_, '_>, op: FloatBinary, mode: FloatMode, ty: Type) -> Result<Op> {
    check.shape("d, a, b")?;
    let d = check.destination(0, ty)?;
    Ok(Op::FloatBinary { op, mode, ty, d, a: check.source(1, ty)?, b: check.source(2, ty)? })
}

pub(super) fn fma(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&FLOATS)?;
    fused(check, ty)
}

/// `mad` of floating-point types is `fma`.
pub(super) fn mad(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F64])?;
    fused(check, ty)
}

fn fused(check: &mut Check<'_, '_>, ty: Type) -> Result<Op> {
    let (mut mode, given) = mode(check, ty)?;
    let mad = ty == Type::F32 && check.opcode() == "mad";
    if mad && given && check.context.module.target < 20 {
        return Err(Problem::new(check.name_span(), "`mad.f32` takes no rounding below sm_20")
            .help("remove it, or write .target sm_20 or a later one at the top"));
    }
    // Below sm_20 there was none to choose, and before PTX 3.2 it could be left away: it is fused and
    // rounded to nearest then, as ptxas assembles it for every card there is (PTX ISA, "mad").
    let may_lack =
        mad && (check.context.module.target < 20 || check.context.module.version < (3, 2));
    if !given && !may_lack {
        let names = if is_half(ty) { &ROUNDINGS[..1] } else { &ROUNDINGS[..] };
        check.modifiers.need("a rounding", names)?;
    }
    mode.relu = is_half(ty) && check.modifiers.flag("relu");
    if check.modifiers.has("oob") {
        return Err(super::not_emulated(check));
    }
    if mode.relu && mode.saturate {
        return Err(Problem::new(check.name_span(), "`.relu` and `.sat` exclude each other")
            .help("remove one of them"));
    }
    check.shape("d, a, b, c")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::Fma { mode, ty, d, a, b, c: check.source(3, ty)? })
}

pub(super) fn div(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F64])?;
    let fast = [("approx", Approximate::Approx), ("full", Approximate::Full)];
    let fast = if ty == Type::F32 { check.modifiers.pick(&fast) } else { None };
    let flush = ty == Type::F32 && check.flushes();
    let rounding = match (fast, ty) {
        (Some(_), _) => Rounding::NearestEven,
        (None, Type::F32) => precise(check, &["approx", "full"])?,
        (None, _) => check.modifiers.need("a rounding", &ROUNDINGS)?,
    };
    let mode = FloatMode { rounding, flush, saturate: false, relu: false };
    binary(check, FloatBinary::Div { approximate: fast.unwrap_or(Approximate::No) }, mode, ty)
}

/// The rounding of an IEEE operation that also has fast versions.
fn precise(check: &mut Check<'_, '_>, fast: &[&str]) -> Result<Rounding> {
    if let Some(rounding) = check.modifiers.rounding() {
        return Ok(rounding);
    }
    let opcode = check.opcode();
    let fast: Vec<String> = fast.iter().map(|name| format!(".{name}")).collect();
    Err(Problem::new(check.name_span(), format!("`{}` needs a rounding", check.title())).help(
        format!(
            "write {opcode}.rn for the IEEE result (or .rz, .rm, .rp), or a fast one: {}",
            fast.join(", ")
        ),
    ))
}

pub(super) fn extreme(check: &mut Check<'_, '_>, max: bool) -> Result<Op> {
    let ty = check.modifiers.ty(&FLOATS)?;
    let flush = matches!(ty, Type::F32 | Type::F16 | Type::F16x2) && check.flushes();
    let nan = ty != Type::F64 && check.modifiers.flag("NaN");
    let xorsign_abs = if ty != Type::F64 && check.modifiers.has("xorsign") {
        check.modifiers.flag("xorsign");
        check.modifiers.need("`.abs` beside `.xorsign`", &[("abs", true)])?
    } else {
        ty != Type::F64 && check.modifiers.flag("xorsign.abs")
    };
    if check.count() == 4 {
        // Three operands came with sm_100.
        return Err(super::not_emulated(check));
    }
    let op = if max {
        FloatBinary::Max { nan, xorsign_abs }
    } else {
        FloatBinary::Min { nan, xorsign_abs }
    };
    let mode = FloatMode { rounding: Rounding::NearestEven, flush, saturate: false, relu: false };
    binary(check, op, mode, ty)
}

pub(super) fn copysign(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F64])?;
    binary(check, FloatBinary::CopySign, PLAIN, ty)
}

/// No modifiers at all.
const PLAIN: FloatMode =
    FloatMode { rounding: Rounding::NearestEven, flush: false, saturate: false, relu: false };

fn unary(check: &mut Check<'_, '_>, op: FloatUnary, mode: FloatMode, ty: Type) -> Result<Op> {
    check.shape("d, a")?;
    let d = check.destination(0, ty)?;
    Ok(Op::FloatUnary { op, mode, ty, d, a: check.source(1, ty)? })
}

pub(super) fn neg(check: &mut Check<'_, '_>) -> Result<Op> {
    sign(check, FloatUnary::Neg)
}

pub(super) fn abs(check: &mut Check<'_, '_>) -> Result<Op> {
    sign(check, FloatUnary::Abs)
}

fn sign(check: &mut Check<'_, '_>, op: FloatUnary) -> Result<Op> {
    let ty = check.modifiers.ty(&FLOATS)?;
    let flush = matches!(ty, Type::F32 | Type::F16 | Type::F16x2) && check.flushes();
    unary(check, op, FloatMode { flush, ..PLAIN }, ty)
}

pub(super) fn rcp(check: &mut Check<'_, '_>) -> Result<Op> {
    root(check, |approximate| FloatUnary::Rcp { approximate })
}

pub(super) fn sqrt(check: &mut Check<'_, '_>) -> Result<Op> {
    root(check, |approximate| FloatUnary::Sqrt { approximate })
}

fn root(check: &mut Check<'_, '_>, op: fn(bool) -> FloatUnary) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F64])?;
    let wide = ty == Type::F64;
    let approximate = if wide && !matches!(op(true), FloatUnary::Rcp { .. }) {
        false
    } else {
        check.modifiers.flag("approx")
    };
    let flush = if wide && approximate {
        // rcp.approx.f64 exists only with .ftz.
        check.modifiers.need("`.ftz`: the fast version flushes", &[("ftz", true)])?
    } else {
        !wide && check.flushes()
    };
    let rounding = match (approximate, wide) {
        (true, _) => Rounding::NearestEven,
        (false, false) => precise(check, &["approx"])?,
        (false, true) => check.modifiers.need("a rounding", &ROUNDINGS)?,
    };
    unary(check, op(approximate), FloatMode { rounding, flush, ..PLAIN }, ty)
}

pub(super) fn rsqrt(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F64])?;
    approximate(check, FloatUnary::Rsqrt, ty, true)
}

pub(super) fn sin(check: &mut Check<'_, '_>) -> Result<Op> {
    fast(check, FloatUnary::Sin)
}

pub(super) fn cos(check: &mut Check<'_, '_>) -> Result<Op> {
    fast(check, FloatUnary::Cos)
}

pub(super) fn lg2(check: &mut Check<'_, '_>) -> Result<Op> {
    fast(check, FloatUnary::Lg2)
}

fn fast(check: &mut Check<'_, '_>, op: FloatUnary) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32])?;
    approximate(check, op, ty, true)
}

pub(super) fn ex2(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2])?;
    if is_bf16(ty) {
        check.modifiers.need("`.approx`", &[("approx", ())])?;
        check.modifiers.need("`.ftz`", &[("ftz", ())])?;
        return unary(check, FloatUnary::Ex2, FloatMode { flush: true, ..PLAIN }, ty);
    }
    approximate(check, FloatUnary::Ex2, ty, ty == Type::F32)
}

pub(super) fn tanh(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::F32, Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2])?;
    approximate(check, FloatUnary::Tanh, ty, false)
}

/// What exists only as an approximation says so.
fn approximate(check: &mut Check<'_, '_>, op: FloatUnary, ty: Type, flushes: bool) -> Result<Op> {
    check.modifiers.need("`.approx`: it is an approximation", &[("approx", ())])?;
    let flush = flushes && check.flushes();
    unary(check, op, FloatMode { flush, ..PLAIN }, ty)
}

pub(super) fn testp(check: &mut Check<'_, '_>) -> Result<Op> {
    let properties = [
        ("finite", FloatProperty::Finite),
        ("infinite", FloatProperty::Infinite),
        ("number", FloatProperty::Number),
        ("notanumber", FloatProperty::NotANumber),
        ("normal", FloatProperty::Normal),
        ("subnormal", FloatProperty::Subnormal),
    ];
    let property = check.modifiers.need("a property", &properties)?;
    let ty = check.modifiers.ty(&[Type::F32, Type::F64])?;
    check.shape("p, a")?;
    let d = check.destination(0, Type::Pred)?;
    Ok(Op::TestProperty { property, ty, d, a: check.source(1, ty)? })
}
