//! Special rules for floating-point arithmetic whose modifiers depend on each other (PTX ISA, "Floating Point
//! Instructions" and "Half Precision Floating Point Instructions").

use super::form::Form;
use crate::check::context::Result;
use crate::check::modifiers::ROUNDINGS;
use crate::check::operands::Check;
use crate::program::{Approximate, FloatBinary, FloatUnary, Op, Type};

/// `fma`, and `mad` of floating-point types.
pub(super) fn fused(check: &mut Check<'_, '_>) -> Result<Op> {
    let mad = check.opcode() == "mad";
    let single = ".f32|f64; {rn|rz|rm|rp}; {ftz @f32}; {sat @f32}";
    let mut form = check.take(if mad { single } else { super::rows::FLOAT })?;
    let given = form.choice(&ROUNDINGS).is_some();
    let mad = mad && form.ty == Type::F32;
    let (target, version) = (check.context.module.target, check.context.module.version);
    if mad && given && target < 20 {
        let help = "remove it, or write .target sm_20 or a later one at the top";
        return Err(check.error("`mad.f32` takes no rounding below sm_20", help));
    }
    // Below sm_20 `mad.f32` had no rounding, and before PTX 3.2 it was optional. Without a rounding, the operation is
    // fused and rounded to nearest, as ptxas assembles it for all current cards (PTX ISA, "mad").
    let may_lack = mad && (target < 20 || version < (3, 2));
    if !given && !may_lack {
        check.take_more(&mut form, "rn @half = a rounding; rn|rz|rm|rp @f32|f64")?;
    }
    check.take_more(&mut form, "{relu @half}")?;
    if check.modifiers.has("oob") {
        return Err(super::not_emulated(check));
    }
    if form.mode.relu && form.mode.saturate {
        return Err(check.error("`.relu` and `.sat` exclude each other", "remove one of them"));
    }
    check.operands(&mut form, "d, a, b, c")?;
    let (mode, ty, d, a, b, c) = (form.mode, form.ty, form.d, form.a, form.b, form.c);
    Ok(Op::Fma { mode, ty, d, a, b, c })
}

pub(super) fn div(check: &mut Check<'_, '_>) -> Result<Op> {
    let mut form = check.take(".f32|f64; {approx|full @f32}; {ftz @f32}")?;
    let fast = form.choice(&[("approx", Approximate::Approx), ("full", Approximate::Full)]);
    if fast.is_none() {
        ieee_rounding(check, &mut form, ".approx, .full")?;
    }
    check.operands(&mut form, "d, a, b")?;
    Ok(form.float_binary(FloatBinary::Div { approximate: fast.unwrap_or(Approximate::No) }))
}

/// Takes the rounding of an IEEE operation. `fast` lists the approximate versions in single precision, for the
/// help text.
fn ieee_rounding(check: &mut Check<'_, '_>, form: &mut Form, fast: &str) -> Result<()> {
    check.take_more(form, "{rn|rz|rm|rp @f32}; rn|rz|rm|rp @f64")?;
    if form.choice(&ROUNDINGS).is_some() {
        return Ok(());
    }
    let opcode = check.opcode();
    Err(check.error(
        format!("`{}` needs a rounding", check.title()),
        format!("write {opcode}.rn for the IEEE result (or .rz, .rm, .rp), or a fast one: {fast}"),
    ))
}

/// `min` and `max`.
pub(super) fn extreme(check: &mut Check<'_, '_>) -> Result<Op> {
    let mut form = check.take(".float; {ftz @flushed}; {NaN @!f64}")?;
    let xorsign = "{xorsign @!f64}; abs @xorsign = `.abs` together with `.xorsign`";
    let split = check.modifiers.has("xorsign");
    check.take_more(&mut form, if split { xorsign } else { "{xorsign.abs @!f64}" })?;
    if check.count() == 4 {
        // Three operands need sm_100.
        return Err(super::not_emulated(check));
    }
    check.operands(&mut form, "d, a, b")?;
    let (nan, xorsign_abs) = (form.has("NaN"), form.has("abs") || form.has("xorsign.abs"));
    Ok(form.float_binary(match check.opcode() {
        "max" => FloatBinary::Max { nan, xorsign_abs },
        _ => FloatBinary::Min { nan, xorsign_abs },
    }))
}

/// `rcp` and `sqrt`. With 64 bits only `rcp` has an approximation, and that needs `.ftz`.
pub(super) fn reciprocal_or_root(check: &mut Check<'_, '_>) -> Result<Op> {
    let rcp = check.opcode() == "rcp";
    let mut form =
        check.take(if rcp { ".f32|f64; {approx}" } else { ".f32|f64; {approx @f32}" })?;
    let approximate = form.has("approx");
    let double = "ftz @approx = `.ftz`: the fast version flushes";
    let flush = if form.ty == Type::F32 { "{ftz}" } else { double };
    check.take_more(&mut form, flush)?;
    if !approximate {
        ieee_rounding(check, &mut form, ".approx")?;
    }
    check.operands(&mut form, "d, a")?;
    let op = if rcp { FloatUnary::Rcp { approximate } } else { FloatUnary::Sqrt { approximate } };
    Ok(form.float_unary(op))
}
