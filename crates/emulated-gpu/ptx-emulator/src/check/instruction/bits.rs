//! Special rules for bit fields, truth tables and dot products of bytes (PTX ISA, "Logic and Shift
//! Instructions" and the bit-wise part of "Integer Arithmetic Instructions").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{Combine, IntBinary, Op, Operand, Type};

/// `bmsk`, a mask of ones: a `bfi` of ones into zeros.
pub(super) fn bmsk(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.form("clamp|wrap; .b32", "d:u32, a:u32, b:u32")?;
    let wrap = form.has("wrap");
    let (position, length) = (amount(check, wrap, form.a), amount(check, wrap, form.b));
    let (a, b) = (Operand::Immediate(0xffff_ffff), Operand::Immediate(0));
    Ok(Op::BitInsert { ty: form.ty, d: form.d, a, b, position, length })
}

/// `szext`, sign or zero extension from a given bit: a `bfe` from bit 0.
pub(super) fn szext(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.form("clamp|wrap; .u32|s32", "d, a, b:u32")?;
    let length = amount(check, form.has("wrap"), form.b);
    let position = Operand::Immediate(0);
    Ok(Op::BitExtract { ty: form.ty, d: form.d, a: form.a, position, length })
}

/// A position or a length, either modulo 32 or clamped. `bfe` and `bfi` read the low 8 bits of such an operand,
/// and treat 255 like any other number from 32 up, so clamping to 255 is enough.
fn amount(check: &mut Check<'_, '_>, wrap: bool, a: Operand) -> Operand {
    let (op, ty, most) =
        if wrap { (IntBinary::And, Type::B32, 31) } else { (IntBinary::Min, Type::U32, 255) };
    let d = check.body.register("", Type::B32, check.written.span);
    check.before.push(Op::IntBinary { op, ty, d: Some(d), a, b: Operand::Immediate(most) });
    Operand::Register(d)
}

pub(super) fn lop3(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.take("{or|and}; .b32")?;
    let combine = form.choice(Combine::NAMED);
    check.shape(match combine {
        Some(_) => "d|p, a, b, c, table, q",
        None => "d, a, b, c, table",
    })?;
    let ty = form.ty;
    let (d, p) = match combine {
        Some(_) => check.destination_pair(0, ty)?,
        None => (check.destination(0, ty)?, None),
    };
    let (a, b, c) = (check.source(1, ty)?, check.source(2, ty)?, check.source(3, ty)?);
    let table = check.number(4)?;
    let Ok(table) = u8::try_from(table) else {
        let help = "a table has 8 bits: the operation applied to 0xF0, 0xCC and 0xAA";
        let message = format!("{table} is not a truth table of three inputs");
        return Err(check.operand_error(4, message, help));
    };
    let predicate = match (combine, p) {
        (None, _) => None,
        (Some(combine), Some(p)) => Some((combine, p, check.predicate(5)?)),
        (Some(_), None) => {
            let help = "write d|p: the result, and where the predicate goes";
            return Err(check.operand_error(0, "a predicate is missing", help));
        }
    };
    Ok(Op::Lop3 { table, d, a, b, c, predicate })
}

/// `dp4a` and `dp2a`. The sum is signed if a factor is signed.
pub(super) fn dot(check: &mut Check<'_, '_>) -> Result<Op> {
    let two = check.opcode() == "dp2a";
    let types = ".u32|s32; .u32|s32";
    let halves = "lo|hi = `.lo` or `.hi`; .u32|s32; .u32|s32";
    let mut form = check.take(if two { halves } else { types })?;
    let (a_signed, b_signed) = (form.ty == Type::S32, form.second_type == Type::S32);
    let signed = a_signed || b_signed;
    let shapes = ["d:u32, a, b:2, c:u32", "d:s32, a, b:2, c:s32"];
    check.operands(&mut form, shapes[usize::from(signed)])?;
    let high = two.then(|| form.has("hi"));
    Ok(Op::DotProduct { high, a_signed, b_signed, d: form.d, a: form.a, b: form.b, c: form.c })
}
