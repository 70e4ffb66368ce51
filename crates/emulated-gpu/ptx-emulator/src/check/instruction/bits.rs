//! Bits: logic, shifts, fields, counts, bytes (PTX ISA, "Logic and Shift Instructions" and the
//! bit-wise part of "Integer Arithmetic Instructions").

use crate::diagnostic::Problem;
use crate::program::{Combine, IntBinary, IntUnary, Op, Operand, Permute, Type};

use crate::check::context::Result;
use crate::check::operands::Check;

const WORDS: [Type; 3] = [Type::B16, Type::B32, Type::B64];
const LOGIC: [Type; 4] = [Type::Pred, Type::B16, Type::B32, Type::B64];
const FIELDS: [Type; 4] = [Type::U32, Type::U64, Type::S32, Type::S64];
const LONG: [Type; 2] = [Type::B32, Type::B64];

pub(super) fn and(check: &mut Check<'_, '_>) -> Result<Op> {
    logic(check, IntBinary::And)
}

pub(super) fn or(check: &mut Check<'_, '_>) -> Result<Op> {
    logic(check, IntBinary::Or)
}

pub(super) fn xor(check: &mut Check<'_, '_>) -> Result<Op> {
    logic(check, IntBinary::Xor)
}

fn logic(check: &mut Check<'_, '_>, op: IntBinary) -> Result<Op> {
    let ty = check.modifiers.ty(&LOGIC)?;
    check.shape("d, a, b")?;
    let d = check.destination(0, ty)?;
    let (a, b) = if ty == Type::Pred {
        (check.predicate(1)?, check.predicate(2)?)
    } else {
        (check.source(1, ty)?, check.source(2, ty)?)
    };
    Ok(Op::IntBinary { op, ty, d, a, b })
}

pub(super) fn not(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&LOGIC)?;
    check.shape("d, a")?;
    let d = check.destination(0, ty)?;
    let a = if ty == Type::Pred { check.predicate(1)? } else { check.source(1, ty)? };
    Ok(Op::IntUnary { op: IntUnary::Not, ty, d, a })
}

pub(super) fn cnot(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&WORDS)?;
    check.shape("d, a")?;
    let d = check.destination(0, ty)?;
    Ok(Op::IntUnary { op: IntUnary::CNot, ty, d, a: check.source(1, ty)? })
}

pub(super) fn shl(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&WORDS)?;
    shift(check, IntBinary::ShiftLeft, ty)
}

pub(super) fn shr(check: &mut Check<'_, '_>) -> Result<Op> {
    let types = [
        Type::B16,
        Type::B32,
        Type::B64,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::S16,
        Type::S32,
        Type::S64,
    ];
    let ty = check.modifiers.ty(&types)?;
    shift(check, IntBinary::ShiftRight, ty)
}

/// The amount has 32 bits, whatever is shifted.
fn shift(check: &mut Check<'_, '_>, op: IntBinary, ty: Type) -> Result<Op> {
    check.shape("d, a, b")?;
    let d = check.destination(0, ty)?;
    Ok(Op::IntBinary { op, ty, d, a: check.source(1, ty)?, b: check.source(2, Type::U32)? })
}

pub(super) fn shf(check: &mut Check<'_, '_>) -> Result<Op> {
    let right = check.modifiers.need("a direction", &[("l", false), ("r", true)])?;
    let wrap = check.modifiers.need("a mode", &[("clamp", false), ("wrap", true)])?;
    let ty = check.modifiers.ty(&[Type::B32])?;
    check.shape("d, a, b, c")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::FunnelShift { right, wrap, d, a, b, c: check.source(3, Type::U32)? })
}

pub(super) fn popc(check: &mut Check<'_, '_>) -> Result<Op> {
    count(check, IntUnary::PopC)
}

pub(super) fn clz(check: &mut Check<'_, '_>) -> Result<Op> {
    count(check, IntUnary::Clz)
}

/// The result has 32 bits, whatever is counted.
fn count(check: &mut Check<'_, '_>, op: IntUnary) -> Result<Op> {
    let ty = check.modifiers.ty(&LONG)?;
    check.shape("d, a")?;
    let d = check.destination(0, Type::U32)?;
    Ok(Op::IntUnary { op, ty, d, a: check.source(1, ty)? })
}

pub(super) fn bfind(check: &mut Check<'_, '_>) -> Result<Op> {
    let shift_amount = check.modifiers.flag("shiftamt");
    let ty = check.modifiers.ty(&FIELDS)?;
    check.shape("d, a")?;
    let d = check.destination(0, Type::U32)?;
    Ok(Op::IntUnary { op: IntUnary::BFind { shift_amount }, ty, d, a: check.source(1, ty)? })
}

pub(super) fn brev(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&LONG)?;
    check.shape("d, a")?;
    let d = check.destination(0, ty)?;
    Ok(Op::IntUnary { op: IntUnary::Brev, ty, d, a: check.source(1, ty)? })
}

pub(super) fn bfe(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&FIELDS)?;
    check.shape("d, a, b, c")?;
    let d = check.destination(0, ty)?;
    let (a, position) = (check.source(1, ty)?, check.source(2, Type::U32)?);
    Ok(Op::BitExtract { ty, d, a, position, length: check.source(3, Type::U32)? })
}

pub(super) fn bfi(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&LONG)?;
    check.shape("f, a, b, c, d")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    let position = check.source(3, Type::U32)?;
    Ok(Op::BitInsert { ty, d, a, b, position, length: check.source(4, Type::U32)? })
}

/// `bmsk`: ones in a field, which is `bfi` of ones into zeros.
pub(super) fn bmsk(check: &mut Check<'_, '_>) -> Result<Op> {
    let wrap = check.modifiers.need("a mode", &[("clamp", false), ("wrap", true)])?;
    let ty = check.modifiers.ty(&[Type::B32])?;
    check.shape("d, a, b")?;
    let d = check.destination(0, Type::U32)?;
    let (position, length) = (check.source(1, Type::U32)?, check.source(2, Type::U32)?);
    let (position, length) = (amount(check, wrap, position), amount(check, wrap, length));
    let (a, b) = (Operand::Immediate(0xffff_ffff), Operand::Immediate(0));
    Ok(Op::BitInsert { ty, d, a, b, position, length })
}

/// `szext`: the sign, or zeros, from a bit on, which is `bfe` from bit 0 on.
pub(super) fn szext(check: &mut Check<'_, '_>) -> Result<Op> {
    let wrap = check.modifiers.need("a mode", &[("clamp", false), ("wrap", true)])?;
    let ty = check.modifiers.ty(&[Type::U32, Type::S32])?;
    check.shape("d, a, b")?;
    let d = check.destination(0, ty)?;
    let (a, length) = (check.source(1, ty)?, check.source(2, Type::U32)?);
    let length = amount(check, wrap, length);
    Ok(Op::BitExtract { ty, d, a, position: Operand::Immediate(0), length })
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

pub(super) fn fns(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::B32])?;
    check.shape("d, mask, base, offset")?;
    let d = check.destination(0, ty)?;
    let (mask, base) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::FindNthSet { d, mask, base, offset: check.source(3, Type::S32)? })
}

pub(super) fn lop3(check: &mut Check<'_, '_>) -> Result<Op> {
    let combine = check.modifiers.pick(&[("or", Combine::Or), ("and", Combine::And)]);
    let ty = check.modifiers.ty(&[Type::B32])?;
    if combine.is_some() {
        check.shape("d|p, a, b, c, table, q")?;
    } else {
        check.shape("d, a, b, c, table")?;
    }
    let (d, p) = if combine.is_some() {
        check.destination_pair(0, ty)?
    } else {
        (check.destination(0, ty)?, None)
    };
    let (a, b, c) = (check.source(1, ty)?, check.source(2, ty)?, check.source(3, ty)?);
    let table = check.number(4)?;
    let Ok(table) = u8::try_from(table) else {
        return Err(Problem::new(
            check.operand(4)?.span,
            format!("{table} is no table of three bits"),
        )
        .help("it has 8 bits: what the operation makes of 0xF0, 0xCC and 0xAA"));
    };
    let predicate = match (combine, p) {
        (None, _) => None,
        (Some(combine), Some(p)) => Some((combine, p, check.predicate(5)?)),
        (Some(_), None) => {
            return Err(Problem::new(check.operand(0)?.span, "a predicate is missing")
                .help("write d|p: the result, and where the predicate goes"));
        }
    };
    Ok(Op::Lop3 { table, d, a, b, c, predicate })
}

pub(super) fn prmt(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&[Type::B32])?;
    let modes = [
        ("f4e", Permute::F4e),
        ("b4e", Permute::B4e),
        ("rc8", Permute::Rc8),
        ("ecl", Permute::Ecl),
        ("ecr", Permute::Ecr),
        ("rc16", Permute::Rc16),
    ];
    let mode = check.modifiers.pick(&modes).unwrap_or(Permute::Generic);
    check.shape("d, a, b, c")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::Permute { mode, d, a, b, c: check.source(3, ty)? })
}

pub(super) fn dp4a(check: &mut Check<'_, '_>) -> Result<Op> {
    dot(check, None)
}

pub(super) fn dp2a(check: &mut Check<'_, '_>) -> Result<Op> {
    let high = check.modifiers.need("`.lo` or `.hi`", &[("lo", false), ("hi", true)])?;
    dot(check, Some(high))
}

fn dot(check: &mut Check<'_, '_>, high: Option<bool>) -> Result<Op> {
    let types = [Type::U32, Type::S32];
    let (a_type, b_type) = (check.modifiers.ty(&types)?, check.modifiers.ty(&types)?);
    check.shape("d, a, b, c")?;
    let (a_signed, b_signed) = (a_type == Type::S32, b_type == Type::S32);
    let sum = if a_signed || b_signed { Type::S32 } else { Type::U32 };
    let d = check.destination(0, sum)?;
    let (a, b) = (check.source(1, a_type)?, check.source(2, b_type)?);
    Ok(Op::DotProduct { high, a_signed, b_signed, d, a, b, c: check.source(3, sum)? })
}
