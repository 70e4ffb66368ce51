//! The PTX of arithmetic instructions.

use super::instruction::{Line, Names, float, integer};
use crate::ir::{BinaryOp, Compare, CompareKind, Convert, Ty, UnaryOp};

pub(super) fn binary(line: &mut Line<'_, impl Names>, op: BinaryOp) -> String {
    let (ty, bits) = (line.inst.ty, integer(line.inst.ty));
    let exact = if line.names.may_contract() { "" } else { ".rn" };
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
    line.two_operands(&name)
}

pub(super) fn unary(line: &mut Line<'_, impl Names>, op: UnaryOp) -> String {
    let (ty, bits) = (line.inst.ty, integer(line.inst.ty));
    let name = match op {
        UnaryOp::Neg => format!("neg.s{bits}"),
        UnaryOp::Not if ty == Ty::Pred => "not.pred".to_owned(),
        UnaryOp::Not => format!("not.b{bits}"),
        UnaryOp::FNeg => format!("neg.{}", float(ty)),
        UnaryOp::FAbs => format!("abs.{}", float(ty)),
        UnaryOp::FSqrt => format!("sqrt.rn.{}", float(ty)),
    };
    let a = line.in_register(0);
    format!("{name} \t{}, {a};", line.result_register())
}

pub(super) fn comparison(
    line: &mut Line<'_, impl Names>,
    compare: Compare,
    kind: CompareKind,
) -> String {
    let ty = line.function.inst(line.inst.args[0]).ty;
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
    line.two_operands(&format!("setp.{suffix}"))
}

pub(super) fn conversion(line: &mut Line<'_, impl Names>, convert: Convert) -> String {
    let ty = line.inst.ty;
    let from = line.function.inst(line.inst.args[0]).ty;
    let (a, to) = (line.in_register(0), line.result_register());
    let sign = |signed: bool| if signed { "s" } else { "u" };
    match convert {
        Convert::SignExtend(bits) => format!("cvt.s{}.s{bits} \t{to}, {a};", ty.bits()),
        Convert::ZeroExtend(bits) if ty == Ty::I32 => {
            format!("and.b32 \t{to}, {a}, {};", (1u64 << bits) - 1)
        }
        Convert::ZeroExtend(bits) => format!("cvt.u{}.u{bits} \t{to}, {a};", ty.bits()),
        Convert::Truncate => format!("cvt.u32.u64 \t{to}, {a};"),
        Convert::ToFloat { signed } => {
            format!("cvt.rn.{}.{}{} \t{to}, {a};", float(ty), sign(signed), from.bits())
        }
        Convert::ToInteger { signed } => {
            format!("cvt.rzi.{}{}.{} \t{to}, {a};", sign(signed), ty.bits(), float(from))
        }
        Convert::Float if ty == Ty::F64 => format!("cvt.f64.f32 \t{to}, {a};"),
        Convert::Float => format!("cvt.rn.f32.f64 \t{to}, {a};"),
        Convert::Bits => format!("mov.b{} \t{to}, {a};", ty.bits()),
        Convert::FromBool => format!("selp.u32 \t{to}, 1, 0, {a};"),
    }
}
