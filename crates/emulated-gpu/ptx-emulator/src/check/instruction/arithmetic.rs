//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision
//! Arithmetic Instructions"), and the opcodes that it shares with floating point.

use crate::diagnostic::Problem;
use crate::program::{IntBinary, IntUnary, Op, Operand, Type};

use super::{INTEGERS, float, is_float_form};
use crate::check::context::Result;
use crate::check::operands::Check;

const CARRIED: [Type; 4] = [Type::U32, Type::S32, Type::U64, Type::S64];
const SIGNED: [Type; 3] = [Type::S16, Type::S32, Type::S64];
const PACKED: [Type; 8] =
    [Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64, Type::U16x2, Type::S16x2];

pub(super) fn add(check: &mut Check<'_, '_>) -> Result<Op> {
    add_or_sub(check, false)
}

pub(super) fn sub(check: &mut Check<'_, '_>) -> Result<Op> {
    add_or_sub(check, true)
}

fn add_or_sub(check: &mut Check<'_, '_>, subtract: bool) -> Result<Op> {
    if is_float_form(check) {
        return float::add_or_sub(check, subtract);
    }
    if check.modifiers.has("cc") {
        return carry(check, subtract, false);
    }
    let saturate = check.modifiers.flag("sat");
    let allowed = if subtract { &INTEGERS[..] } else { &PACKED[..] };
    let ty =
        if saturate { check.modifiers.ty(&[Type::S32])? } else { check.modifiers.ty(allowed)? };
    let op = if subtract { IntBinary::Sub { saturate } } else { IntBinary::Add { saturate } };
    binary(check, op, ty)
}

fn binary(check: &mut Check<'_, '_>, op: IntBinary, ty: Type) -> Result<Op> {
    check.shape("d, a, b")?;
    let to = if op == IntBinary::MulWide { ty.doubled() } else { ty };
    let d = check.destination(0, to)?;
    Ok(Op::IntBinary { op, ty, d, a: check.source(1, ty)?, b: check.source(2, ty)? })
}

pub(super) fn addc(check: &mut Check<'_, '_>) -> Result<Op> {
    carry(check, false, true)
}

pub(super) fn subc(check: &mut Check<'_, '_>) -> Result<Op> {
    carry(check, true, true)
}

fn carry(check: &mut Check<'_, '_>, subtract: bool, carry_in: bool) -> Result<Op> {
    let carry_out = check.modifiers.flag("cc");
    let ty = check.modifiers.ty(&CARRIED)?;
    check.shape("d, a, b")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::Carry { subtract, product: None, carry_in, carry_out, ty, d, a, b, c: None })
}

/// `.lo`, `.hi`, `.wide`: which part of the product.
fn product(check: &mut Check<'_, '_>) -> Result<IntBinary> {
    let parts =
        [("lo", IntBinary::MulLow), ("hi", IntBinary::MulHigh), ("wide", IntBinary::MulWide)];
    check.modifiers.need("to know which part of the product it keeps", &parts)
}

pub(super) fn mul(check: &mut Check<'_, '_>) -> Result<Op> {
    if is_float_form(check) {
        return float::mul(check);
    }
    let op = product(check)?;
    let ty = factor(check, op)?;
    binary(check, op, ty)
}

/// The type of the factors: a wide product is at most 64 bits wide.
fn factor(check: &mut Check<'_, '_>, product: IntBinary) -> Result<Type> {
    let narrow = [Type::U16, Type::U32, Type::S16, Type::S32];
    check.modifiers.ty(if product == IntBinary::MulWide { &narrow } else { &INTEGERS })
}

pub(super) fn mad(check: &mut Check<'_, '_>) -> Result<Op> {
    if is_float_form(check) {
        return float::mad(check);
    }
    if check.modifiers.has("cc") {
        return mad_carry(check, false);
    }
    let saturate = check.modifiers.flag("sat");
    let product = product(check)?;
    let ty = if saturate {
        if product != IntBinary::MulHigh {
            return Err(Problem::new(check.name_span(), "`.sat` goes with `mad.hi.s32` only")
                .help("write mad.hi.sat.s32, or leave .sat away"));
        }
        check.modifiers.ty(&[Type::S32])?
    } else {
        factor(check, product)?
    };
    integer_mad(check, product, saturate, ty)
}

fn integer_mad(
    check: &mut Check<'_, '_>,
    product: IntBinary,
    saturate: bool,
    ty: Type,
) -> Result<Op> {
    check.shape("d, a, b, c")?;
    let to = if product == IntBinary::MulWide { ty.doubled() } else { ty };
    let d = check.destination(0, to)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::IntMad { product, saturate, ty, d, a, b, c: check.source(3, to)? })
}

pub(super) fn madc(check: &mut Check<'_, '_>) -> Result<Op> {
    mad_carry(check, true)
}

fn mad_carry(check: &mut Check<'_, '_>, carry_in: bool) -> Result<Op> {
    let carry_out = check.modifiers.flag("cc");
    let parts = [("lo", IntBinary::MulLow), ("hi", IntBinary::MulHigh)];
    let product = check.modifiers.need("to know which part of the product it keeps", &parts)?;
    let ty = check.modifiers.ty(&CARRIED)?;
    check.shape("d, a, b, c")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    let c = Some(check.source(3, ty)?);
    let product = Some(product);
    Ok(Op::Carry { subtract: false, product, carry_in, carry_out, ty, d, a, b, c })
}

fn product24(check: &mut Check<'_, '_>) -> Result<IntBinary> {
    let parts = [("lo", IntBinary::Mul24Low), ("hi", IntBinary::Mul24High)];
    check.modifiers.need("to know which part of the product it keeps", &parts)
}

pub(super) fn mul24(check: &mut Check<'_, '_>) -> Result<Op> {
    let op = product24(check)?;
    let ty = check.modifiers.ty(&[Type::U32, Type::S32])?;
    binary(check, op, ty)
}

pub(super) fn mad24(check: &mut Check<'_, '_>) -> Result<Op> {
    let saturate = check.modifiers.flag("sat");
    let product = product24(check)?;
    if saturate && product != IntBinary::Mul24High {
        return Err(Problem::new(check.name_span(), "`.sat` goes with `mad24.hi.s32` only")
            .help("write mad24.hi.sat.s32, or leave .sat away"));
    }
    let types: &[Type] = if saturate { &[Type::S32] } else { &[Type::U32, Type::S32] };
    let ty = check.modifiers.ty(types)?;
    integer_mad(check, product, saturate, ty)
}

pub(super) fn div(check: &mut Check<'_, '_>) -> Result<Op> {
    if is_float_form(check) {
        return float::div(check);
    }
    let ty = check.modifiers.ty(&INTEGERS)?;
    binary(check, IntBinary::Div, ty)
}

pub(super) fn rem(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&INTEGERS)?;
    binary(check, IntBinary::Rem, ty)
}

pub(super) fn sad(check: &mut Check<'_, '_>) -> Result<Op> {
    let ty = check.modifiers.ty(&INTEGERS)?;
    check.shape("d, a, b, c")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    Ok(Op::Sad { ty, d, a, b, c: check.source(3, ty)? })
}

pub(super) fn min(check: &mut Check<'_, '_>) -> Result<Op> {
    extreme(check, false)
}

pub(super) fn max(check: &mut Check<'_, '_>) -> Result<Op> {
    extreme(check, true)
}

fn extreme(check: &mut Check<'_, '_>, max: bool) -> Result<Op> {
    if is_float_form(check) {
        return float::extreme(check, max);
    }
    let op = if max { IntBinary::Max } else { IntBinary::Min };
    if !check.modifiers.flag("relu") {
        let ty = check.modifiers.ty(&PACKED)?;
        return binary(check, op, ty);
    }
    // Clamped at 0: the greater of 0 and that.
    let ty = check.modifiers.ty(&[Type::S32, Type::S16x2])?;
    check.shape("d, a, b")?;
    let d = check.destination(0, ty)?;
    let (a, b) = (check.source(1, ty)?, check.source(2, ty)?);
    let between = check.body.register("", Type::B32, check.written.span);
    check.before.push(Op::IntBinary { op, ty, d: Some(between), a, b });
    let (a, b) = (Operand::Register(between), Operand::Immediate(0));
    Ok(Op::IntBinary { op: IntBinary::Max, ty, d, a, b })
}

pub(super) fn neg(check: &mut Check<'_, '_>) -> Result<Op> {
    if is_float_form(check) { float::neg(check) } else { unary(check, IntUnary::Neg) }
}

pub(super) fn abs(check: &mut Check<'_, '_>) -> Result<Op> {
    if is_float_form(check) { float::abs(check) } else { unary(check, IntUnary::Abs) }
}

fn unary(check: &mut Check<'_, '_>, op: IntUnary) -> Result<Op> {
    let ty = check.modifiers.ty(&SIGNED)?;
    check.shape("d, a")?;
    let d = check.destination(0, ty)?;
    Ok(Op::IntUnary { op, ty, d, a: check.source(1, ty)? })
}
