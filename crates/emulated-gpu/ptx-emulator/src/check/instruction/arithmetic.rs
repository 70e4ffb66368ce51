//! Integer arithmetic that takes several steps, or has modifiers that depend on each other (PTX ISA,
//! "Integer Arithmetic Instructions").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{IntBinary, Op, Operand, Type};

/// `mad` and `mad24`, of which only the upper half is saturated.
pub(super) fn mad(check: &mut Check<'_, '_>) -> Result<Op> {
    let opcode = check.opcode();
    let short = opcode == "mad24";
    let mut form = check.take(if short { "{sat}; lo|hi" } else { "{sat}; lo|hi|wide" })?;
    if form.has("sat") && !form.has("hi") {
        return Err(check.wrong(
            format!("`.sat` goes with `{opcode}.hi.s32` only"),
            format!("write {opcode}.hi.sat.s32, or leave .sat away"),
        ));
    }
    let types = ".s32 @sat; .u16|u32|s16|s32 @wide; .int @!sat|wide";
    check.take_more(&mut form, if short { ".s32 @sat; .u32|s32 @!sat" } else { types })?;
    check.operands(&mut form, "d:wide, a, b, c:wide")?;
    Ok(form.mad(if short { form.product24() } else { form.product() }))
}

/// `min.relu` and `max.relu`: clamped at 0, which is the greater of 0 and that.
pub(super) fn relu(check: &mut Check<'_, '_>) -> Result<Op> {
    let op = if check.opcode() == "max" { IntBinary::Max } else { IntBinary::Min };
    let form = check.form("{relu}; .s32|s16x2", "d, a, b")?;
    let between = check.body.register("", Type::B32, check.written.span);
    let (ty, d, a, b) = (form.ty, form.d, form.a, form.b);
    check.before.push(Op::IntBinary { op, ty, d: Some(between), a, b });
    let (a, b) = (Operand::Register(between), Operand::Immediate(0));
    Ok(Op::IntBinary { op: IntBinary::Max, ty, d, a, b })
}
