//! Special rules for integer arithmetic: instructions that expand to several steps, or whose modifiers depend
//! on each other (PTX ISA, "Integer Arithmetic Instructions").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{IntBinary, Op, Operand, Type};

/// `mad` and `mad24`; `.sat` is only valid for the upper half of the product.
pub(super) fn mad(check: &mut Check<'_, '_>) -> Result<Op> {
    let opcode = check.opcode();
    let short = opcode == "mad24";
    let mut form = check.take(if short { "{sat}; lo|hi" } else { "{sat}; lo|hi|wide" })?;
    if form.has("sat") && !form.has("hi") {
        let help = format!("write {opcode}.hi.sat.s32, or remove .sat");
        return Err(check.error(format!("`.sat` goes with `{opcode}.hi.s32` only"), help));
    }
    let types = ".s32 @sat; .u16|u32|s16|s32 @wide; .int @!sat|wide";
    check.take_more(&mut form, if short { ".s32 @sat; .u32|s32 @!sat" } else { types })?;
    check.operands(&mut form, "d:wide, a, b, c:wide")?;
    Ok(form.mad(if short { form.product24() } else { form.product() }))
}

/// `min.relu` and `max.relu`: the result is clamped at 0, so a `max` with 0 follows.
pub(super) fn relu(check: &mut Check<'_, '_>) -> Result<Op> {
    let op = if check.opcode() == "max" { IntBinary::Max } else { IntBinary::Min };
    let form = check.form("{relu}; .s32|s16x2", "d, a, b")?;
    let between = check.body.register("", Type::B32, check.written.span);
    let (ty, d, a, b) = (form.ty, form.d, form.a, form.b);
    check.before.push(Op::IntBinary { op, ty, d: Some(between), a, b });
    let (a, b) = (Operand::Register(between), Operand::Immediate(0));
    Ok(Op::IntBinary { op: IntBinary::Max, ty, d, a, b })
}
