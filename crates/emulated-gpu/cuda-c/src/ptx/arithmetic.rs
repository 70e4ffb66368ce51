//! The text of instructions that compute.

use super::instruction::{Names, float, in_register, integer, operand};
use crate::ir::{BinaryOp, Compare, CompareKind, Convert, Function, Inst, Ty, UnaryOp, Value};

pub(super) fn binary(
    function: &Function,
    names: &mut impl Names,
    value: Value,
    inst: &Inst,
    op: BinaryOp,
) -> String {
    let (ty, bits) = (inst.ty, integer(inst.ty));
    let exact = if names.may_contract() { "" } else { ".rn" };
    let name = match op {
        BinaryOp::Add => format!("add.s{bits}"),
        BinaryOp::Sub => format!("sub.s{bits}"),
        BinaryOp::Mul => format!("mul.lo.s{bits}"),
        BinaryOp::DivS => format!("div.s{bits}"),
        BinaryOp::DivU => format!("div.u{bits}"),
        BinaryOp::RemS => format!("rem.s{bits}"),
        BinaryOp::RemU => format!("rem.u{bits}"),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
            let name = match op {
                BinaryOp::And => "and",
                BinaryOp::Or => "or",
                _ => "xor",
            };
            if ty == Ty::Pred { format!("{name}.pred") } else { format!("{name}.b{bits}") }
        }
        BinaryOp::Shl => format!("shl.b{bits}"),
        BinaryOp::ShrS => format!("shr.s{bits}"),
        BinaryOp::ShrU => format!("shr.u{bits}"),
        BinaryOp::MinS => format!("min.s{bits}"),
        BinaryOp::MinU => format!("min.u{bits}"),
        BinaryOp::MaxS => format!("max.s{bits}"),
        BinaryOp::MaxU => format!("max.u{bits}"),
        BinaryOp::FAdd => format!("add{exact}.{}", float(ty)),
        BinaryOp::FSub => format!("sub{exact}.{}", float(ty)),
        BinaryOp::FMul => format!("mul{exact}.{}", float(ty)),
        BinaryOp::FDiv => format!("div.rn.{}", float(ty)),
        BinaryOp::FMin => format!("min.{}", float(ty)),
        BinaryOp::FMax => format!("max.{}", float(ty)),
    };
    let a = operand(function, names, inst.args[0]);
    let b = operand(function, names, inst.args[1]);
    format!("{name} \t{}, {a}, {b};", names.register(value))
}

pub(super) fn unary(
    function: &Function,
    names: &mut impl Names,
    value: Value,
    inst: &Inst,
    op: UnaryOp,
) -> String {
    let bits = integer(inst.ty);
    let name = match op {
        UnaryOp::Neg => format!("neg.s{bits}"),
        UnaryOp::Not if inst.ty == Ty::Pred => "not.pred".to_owned(),
        UnaryOp::Not => format!("not.b{bits}"),
        UnaryOp::FNeg => format!("neg.{}", float(inst.ty)),
        UnaryOp::FAbs => format!("abs.{}", float(inst.ty)),
        UnaryOp::FSqrt => format!("sqrt.rn.{}", float(inst.ty)),
    };
    let a = in_register(function, names, inst.args[0]);
    format!("{name} \t{}, {a};", names.register(value))
}

pub(super) fn comparison(
    function: &Function,
    names: &mut impl Names,
    value: Value,
    inst: &Inst,
    compare: Compare,
    kind: CompareKind,
) -> String {
    let ty = function.inst(inst.args[0]).ty;
    let name = match compare {
        Compare::Eq => "eq",
        Compare::Ne => "ne",
        Compare::Lt => "lt",
        Compare::Le => "le",
        Compare::Gt => "gt",
        Compare::Ge => "ge",
    };
    let suffix = match kind {
        CompareKind::Signed => format!("{name}.s{}", integer(ty)),
        CompareKind::Unsigned => format!("{name}.u{}", integer(ty)),
        CompareKind::Ordered => format!("{name}.{}", float(ty)),
        CompareKind::Unordered => format!("{name}u.{}", float(ty)),
    };
    let a = operand(function, names, inst.args[0]);
    let b = operand(function, names, inst.args[1]);
    format!("setp.{suffix} \t{}, {a}, {b};", names.register(value))
}

pub(super) fn conversion(
    function: &Function,
    names: &mut impl Names,
    value: Value,
    inst: &Inst,
    convert: Convert,
) -> String {
    let from = function.inst(inst.args[0]).ty;
    let a = in_register(function, names, inst.args[0]);
    let to = names.register(value);
    let sign = |signed: bool| if signed { "s" } else { "u" };
    match convert {
        Convert::SignExtend(bits) => format!("cvt.s{}.s{bits} \t{to}, {a};", inst.ty.bits()),
        Convert::ZeroExtend(bits) if inst.ty == Ty::I32 => {
            format!("and.b32 \t{to}, {a}, {};", (1u64 << bits) - 1)
        }
        Convert::ZeroExtend(bits) => format!("cvt.u{}.u{bits} \t{to}, {a};", inst.ty.bits()),
        Convert::Truncate => format!("cvt.u32.u64 \t{to}, {a};"),
        Convert::ToFloat { signed } => {
            format!("cvt.rn.{}.{}{} \t{to}, {a};", float(inst.ty), sign(signed), from.bits())
        }
        Convert::ToInteger { signed } => {
            format!("cvt.rzi.{}{}.{} \t{to}, {a};", sign(signed), inst.ty.bits(), float(from))
        }
        Convert::Float if inst.ty == Ty::F64 => format!("cvt.f64.f32 \t{to}, {a};"),
        Convert::Float => format!("cvt.rn.f32.f64 \t{to}, {a};"),
        Convert::Bits => format!("mov.b{} \t{to}, {a};", inst.ty.bits()),
        Convert::FromBool => format!("selp.u32 \t{to}, 1, 0, {a};"),
    }
}
