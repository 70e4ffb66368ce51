//! Fields of bits, tables of bits, and sums of bytes (PTX ISA, "Logic and Shift Instructions" and the bit-wise
//! part of "Integer Arithmetic Instructions").

use super::compare::COMBINES;
use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{IntBinary, Op, Operand, Type};

/// `bmsk`: ones in a field, which is `bfi` of ones into zeros.
pub(super) fn bmsk(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.form("clamp|wrap; .b32", "d:u32, a:u32, b:u32")?;
    let wrap = form.has("wrap");
    let (position, length) = (amount(check, wrap, form.a), amount(check, wrap, form.b));
    let (a, b) = (Operand::Immediate(0xffff_ffff), Operand::Immediate(0));
    Ok(Op::BitInsert { ty: form.ty, d: form.d, a, b, position, length })
}

/// `szext`: the sign, or zeros, from a bit on, which is `bfe` from bit 0 on.
pub(super) fn szext(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.form("clamp|wrap; .u32|s32", "d, a, b:u32")?;
    let length = amount(check, form.has("wrap"), form.b);
    let position = Operand::Immediate(0);
    Ok(Op::BitExtract { ty: form.ty, d: form.d, a: form.a, position, length })
}

/// A position or a length modulo 32, or clamped to what `bfe` and `bfi` can be told: they look at 8
/// bits of it, and 32 is as good as any more.
fn amount(check: &mut Check<'_, '_>, wrap: bool, a: Operand) -> Operand {
    let (op, ty, most) =
        if wrap { (IntBinary::And, Type::B32, 31) } else { (IntBinary::Min, Type::U32, 255) };
    let d = check.body.register("", Type::B32, check.written.span);
    check.before.push(Op::IntBinary { op, ty, d: Some(d), a, b: Operand::Immediate(most) });
    Operand::Register(d)
}

pub(super) fn lop3(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.take("{or|and}; .b32")?;
    let combine = form.one(&COMBINES);
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
        let help = "it has 8 bits: what the operation makes of 0xF0, 0xCC and 0xAA";
        return Err(check.wrong_at(4, format!("{table} is no table of three bits"), help));
    };
    let predicate = match (combine, p) {
        (None, _) => None,
        (Some(combine), Some(p)) => Some((combine, p, check.predicate(5)?)),
        (Some(_), None) => {
            let help = "write d|p: the result, and where the predicate goes";
            return Err(check.wrong_at(0, "a predicate is missing", help));
        }
    };
    Ok(Op::Lop3 { table, d, a, b, c, predicate })
}

/// `dp4a` and `dp2a`, whose sum is signed if one of the factors is.
pub(super) fn dot(check: &mut Check<'_, '_>) -> Result<Op> {
    let two = check.opcode() == "dp2a";
    let types = ".u32|s32; .u32|s32";
    let halves = "lo|hi = `.lo` or `.hi`; .u32|s32; .u32|s32";
    let mut form = check.take(if two { halves } else { types })?;
    let (a_signed, b_signed) = (form.ty == Type::S32, form.second == Type::S32);
    let signed = a_signed || b_signed;
    let shapes = ["d:u32, a, b:2, c:u32", "d:s32, a, b:2, c:s32"];
    check.operands(&mut form, shapes[usize::from(signed)])?;
    let high = two.then(|| form.has("hi"));
    Ok(Op::DotProduct { high, a_signed, b_signed, d: form.d, a: form.a, b: form.b, c: form.c })
}
