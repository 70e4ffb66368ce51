//! Peephole simplifications, which only look at an operation and its operands.

use super::fold::fold;
use crate::ir::{BinaryOp, Compare, CompareKind, Convert, Function, Op, Ty, UnaryOp, Value};

/// The result of a simplification.
#[derive(Debug)]
enum Simplified {
    /// The operation equals an existing value.
    Value(Value),
    /// The operation equals another operation with these operands.
    Op(Op, Vec<Value>),
    /// The operation can't be simplified.
    Same,
}

/// Simplifies an operation in place, several times if possible. Returns an existing value that
/// equals the operation, if there is one, and whether anything changed.
pub(crate) fn simplify_fully(
    function: &mut Function,
    op: &mut Op,
    ty: Ty,
    args: &mut Vec<Value>,
) -> (Option<Value>, bool) {
    let mut changed = false;
    for _ in 0..8 {
        match simplify(function, op, ty, args) {
            Simplified::Value(value) => return (Some(value), true),
            Simplified::Op(new_op, new_args) => {
                (*op, *args) = (new_op, new_args);
                changed = true;
            }
            Simplified::Same => break,
        }
    }
    (None, changed)
}

/// Simplifies one operation. The bits of the result never change.
fn simplify(function: &mut Function, op: &Op, ty: Ty, args: &[Value]) -> Simplified {
    if args.iter().all(|arg| function.constant_of(*arg).is_some()) {
        let constants: Vec<(Ty, u64)> = args
            .iter()
            .map(|arg| (function.inst(*arg).ty, function.constant_of(*arg).unwrap_or(0)))
            .collect();
        if let Some(bits) = fold(op, ty, &constants) {
            return Simplified::Value(function.constant(ty, bits));
        }
    }
    match op {
        Op::Binary(binary, exact) => simplify_binary(function, *binary, *exact, ty, args),
        Op::PtrAdd => pointer(function, args),
        Op::Select => select(function, ty, args),
        Op::Compare(compare, kind) => comparison(function, *compare, *kind, args),
        Op::Unary(unary) => {
            let inner = function.inst(args[0]);
            match (&inner.op, unary) {
                (Op::Unary(UnaryOp::Neg), UnaryOp::Neg)
                | (Op::Unary(UnaryOp::Not), UnaryOp::Not)
                | (Op::Unary(UnaryOp::FNeg), UnaryOp::FNeg) => Simplified::Value(inner.args[0]),
                (Op::Unary(UnaryOp::FNeg | UnaryOp::FAbs), UnaryOp::FAbs) => {
                    Simplified::Op(op.clone(), vec![inner.args[0]])
                }
                (Op::Compare(compare, kind), UnaryOp::Not) => {
                    let kind = match kind {
                        CompareKind::Ordered => CompareKind::Unordered,
                        CompareKind::Unordered => CompareKind::Ordered,
                        integer => *integer,
                    };
                    Simplified::Op(Op::Compare(compare.negated(), kind), inner.args.clone())
                }
                _ => Simplified::Same,
            }
        }
        Op::Convert(convert) => conversion(function, *convert, ty, args[0]),
        _ => Simplified::Same,
    }
}

pub(super) fn commutes(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, FAdd, FMul, MaxS, MaxU, MinS, MinU, Mul, Or, Xor};
    matches!(op, Add | Mul | And | Or | Xor | MinS | MinU | MaxS | MaxU | FAdd | FMul)
}

fn simplify_binary(
    function: &mut Function,
    op: BinaryOp,
    exact: bool,
    ty: Ty,
    args: &[Value],
) -> Simplified {
    use BinaryOp::{
        Add, And, DivS, DivU, FAdd, FMul, FSub, MaxS, MaxU, MinS, MinU, Mul, Or, RemU, Shl, ShrS,
        ShrU, Sub, Xor,
    };
    let (a, b) = (args[0], args[1]);
    let (left, right) = (function.constant_of(a), function.constant_of(b));
    // Constants are moved to the right. The order of other operands stays.
    if commutes(op) && left.is_some() && right.is_none() {
        return Simplified::Op(Op::Binary(op, exact), vec![b, a]);
    }
    let ones = if ty.bits() == 64 { u64::MAX } else { (1u64 << ty.bits().max(1)) - 1 };
    if a == b {
        match op {
            Sub | Xor => return Simplified::Value(function.constant(ty, 0)),
            And | Or | MinS | MinU | MaxS | MaxU => return Simplified::Value(a),
            _ => {}
        }
    }
    let Some(c) = right else { return Simplified::Same };
    match (op, c) {
        (Add | Sub | Or | Xor | Shl | ShrS | ShrU, 0) => return Simplified::Value(a),
        (Mul | And, 0) => return Simplified::Value(b),
        (Mul | DivS | DivU, 1) => return Simplified::Value(a),
        (And, c) if c == ones => return Simplified::Value(a),
        (Or, c) if c == ones => return Simplified::Value(b),
        (Xor, c) if c == ones => return Simplified::Op(Op::Unary(UnaryOp::Not), vec![a]),
        (RemU, 1) => return Simplified::Value(function.constant(ty, 0)),
        (Mul, c) if c.is_power_of_two() => {
            let shift = function.constant(Ty::I32, u64::from(c.trailing_zeros()));
            return Simplified::Op(Op::Binary(Shl, exact), vec![a, shift]);
        }
        (DivU, c) if c.is_power_of_two() => {
            let shift = function.constant(Ty::I32, u64::from(c.trailing_zeros()));
            return Simplified::Op(Op::binary(ShrU), vec![a, shift]);
        }
        (RemU, c) if c.is_power_of_two() => {
            let mask = function.constant(ty, c - 1);
            return Simplified::Op(Op::binary(And), vec![a, mask]);
        }
        (Sub, c) => {
            let negative = function.constant(ty, c.wrapping_neg());
            return Simplified::Op(Op::Binary(Add, exact), vec![a, negative]);
        }
        // x · 1 = x and x − 0 = x, but x + 0 isn't x for −0.
        (FMul, bits) if bits_of_one(ty) == Some(bits) => return Simplified::Value(a),
        (FSub, 0) => return Simplified::Value(a),
        (FSub, bits) => {
            let sign = if ty == Ty::F32 { 1 << 31 } else { 1 << 63 };
            let negative = function.constant(ty, bits ^ sign);
            return Simplified::Op(Op::binary(FAdd), vec![a, negative]);
        }
        _ => {}
    }
    // (x + c) + d = x + (c + d), also for other operators.
    let inner = function.inst(a).clone();
    if let Op::Binary(inner_op, inner_exact) = inner.op {
        if inner_op == op
            && matches!(op, Add | And | Or | Xor | Mul)
            && let Some(d) = function.constant_of(inner.args[1])
        {
            let both = match op {
                Add => c.wrapping_add(d),
                Mul => c.wrapping_mul(d),
                And => c & d,
                Or => c | d,
                _ => c ^ d,
            };
            let both = function.constant(ty, both);
            return Simplified::Op(
                Op::Binary(op, exact && inner_exact && op == Add),
                vec![inner.args[0], both],
            );
        }
        if inner_op == Shl
            && op == Shl
            && let Some(d) = function.constant_of(inner.args[1])
            && c + d < u64::from(ty.bits())
        {
            let both = function.constant(Ty::I32, c + d);
            return Simplified::Op(
                Op::Binary(Shl, exact && inner_exact),
                vec![inner.args[0], both],
            );
        }
    }
    Simplified::Same
}

fn bits_of_one(ty: Ty) -> Option<u64> {
    match ty {
        Ty::F32 => Some(u64::from(1.0f32.to_bits())),
        Ty::F64 => Some(1.0f64.to_bits()),
        _ => None,
    }
}

fn pointer(function: &mut Function, args: &[Value]) -> Simplified {
    let Some(offset) = function.constant_of(args[1]) else { return Simplified::Same };
    if offset == 0 {
        return Simplified::Value(args[0]);
    }
    let base = function.inst(args[0]).clone();
    if base.op == Op::PtrAdd
        && let Some(inner) = function.constant_of(base.args[1])
    {
        let both = function.constant(Ty::I64, inner.wrapping_add(offset));
        return Simplified::Op(Op::PtrAdd, vec![base.args[0], both]);
    }
    Simplified::Same
}

fn select(function: &mut Function, ty: Ty, args: &[Value]) -> Simplified {
    let (condition, yes, no) = (args[0], args[1], args[2]);
    if yes == no {
        return Simplified::Value(yes);
    }
    match function.constant_of(condition) {
        Some(0) => return Simplified::Value(no),
        Some(_) => return Simplified::Value(yes),
        None => {}
    }
    if ty == Ty::Pred {
        return match (function.constant_of(yes), function.constant_of(no)) {
            (Some(1), Some(0)) => Simplified::Value(condition),
            (Some(0), Some(1)) => Simplified::Op(Op::Unary(UnaryOp::Not), vec![condition]),
            (Some(1), None) => Simplified::Op(Op::binary(BinaryOp::Or), vec![condition, no]),
            (None, Some(0)) => Simplified::Op(Op::binary(BinaryOp::And), vec![condition, yes]),
            _ => Simplified::Same,
        };
    }
    if ty == Ty::I32 && function.constant_of(yes) == Some(1) && function.constant_of(no) == Some(0)
    {
        return Simplified::Op(Op::Convert(Convert::FromBool), vec![condition]);
    }
    Simplified::Same
}

fn comparison(
    function: &mut Function,
    compare: Compare,
    kind: CompareKind,
    args: &[Value],
) -> Simplified {
    let (a, b) = (args[0], args[1]);
    let integer = matches!(kind, CompareKind::Signed | CompareKind::Unsigned);
    if integer && a == b {
        let holds = compare.holds(std::cmp::Ordering::Equal);
        return Simplified::Value(function.constant(Ty::Pred, u64::from(holds)));
    }
    if function.constant_of(a).is_some() && function.constant_of(b).is_none() {
        return Simplified::Op(Op::Compare(compare.swapped(), kind), vec![b, a]);
    }
    let left = function.inst(a).clone();
    let Some(c) = function.constant_of(b) else { return Simplified::Same };
    // The comparison of a converted predicate with 0 is the predicate itself, or its negation.
    if integer && c == 0 && matches!(compare, Compare::Eq | Compare::Ne) {
        let predicate = match () {
            () if left.op == Op::Convert(Convert::FromBool) => Some(left.args[0]),
            () => (left.ty == Ty::Pred).then_some(a),
        };
        match predicate {
            Some(predicate) if compare == Compare::Ne => return Simplified::Value(predicate),
            Some(predicate) => {
                return Simplified::Op(Op::Unary(UnaryOp::Not), vec![predicate]);
            }
            None => {}
        }
    }
    if kind == CompareKind::Unsigned {
        let zero = function.constant(left.ty, 0);
        match (compare, c) {
            (Compare::Lt, 0) => return Simplified::Value(function.constant(Ty::Pred, 0)),
            (Compare::Ge, 0) => return Simplified::Value(function.constant(Ty::Pred, 1)),
            (Compare::Gt, 0) | (Compare::Ge, 1) => {
                return Simplified::Op(Op::Compare(Compare::Ne, kind), vec![a, zero]);
            }
            (Compare::Le, 0) | (Compare::Lt, 1) => {
                return Simplified::Op(Op::Compare(Compare::Eq, kind), vec![a, zero]);
            }
            _ => {}
        }
    }
    // Equality doesn't depend on signedness.
    if kind == CompareKind::Unsigned && matches!(compare, Compare::Eq | Compare::Ne) {
        return Simplified::Op(Op::Compare(compare, CompareKind::Signed), vec![a, b]);
    }
    Simplified::Same
}

fn conversion(function: &mut Function, convert: Convert, ty: Ty, value: Value) -> Simplified {
    let inner = function.inst(value).clone();
    match convert {
        Convert::Truncate => {
            if let Op::Convert(Convert::SignExtend(32) | Convert::ZeroExtend(32)) = inner.op
                && function.inst(inner.args[0]).ty == ty
            {
                return Simplified::Value(inner.args[0]);
            }
        }
        Convert::Bits => {
            if inner.ty == ty {
                return Simplified::Value(value);
            }
            if inner.op == Op::Convert(Convert::Bits) {
                return if function.inst(inner.args[0]).ty == ty {
                    Simplified::Value(inner.args[0])
                } else {
                    Simplified::Op(Op::Convert(Convert::Bits), inner.args)
                };
            }
        }
        Convert::SignExtend(bits) | Convert::ZeroExtend(bits) => {
            if inner.ty == ty && u32::from(bits) >= ty.bits() {
                return Simplified::Value(value);
            }
            if ty != inner.ty {
                return Simplified::Same;
            }
            // A value that was loaded or extended from a narrow type needs no extension.
            let known = match inner.op {
                Op::Load(access) => match access.memory {
                    crate::ir::Memory::U8 => Some((8, false)),
                    crate::ir::Memory::S8 => Some((8, true)),
                    crate::ir::Memory::U16 => Some((16, false)),
                    crate::ir::Memory::S16 => Some((16, true)),
                    _ => None,
                },
                Op::Convert(Convert::SignExtend(own)) if u32::from(own) < ty.bits() => {
                    Some((own, true))
                }
                Op::Convert(Convert::ZeroExtend(own)) if u32::from(own) < ty.bits() => {
                    Some((own, false))
                }
                Op::Convert(Convert::FromBool) => Some((1, false)),
                _ => None,
            };
            let signed = matches!(convert, Convert::SignExtend(_));
            if let Some((own, own_signed)) = known
                && (own_signed == signed && own <= bits || !own_signed && own < bits)
            {
                return Simplified::Value(value);
            }
        }
        _ => {}
    }
    Simplified::Same
}
