//! Constant folding: evaluates operations as the GPU would.

use std::ops::{Add, Div, Mul, Sub};

use crate::ir::{BinaryOp, Compare, CompareKind, Convert, Op, Ty, UnaryOp};

/// The bits of the result; `None` if the operation isn't folded, such as a division by 0.
pub(crate) fn fold(op: &Op, ty: Ty, args: &[(Ty, u64)]) -> Option<u64> {
    match op {
        Op::Binary(op, _) => match ty {
            Ty::F32 => fold_f32(*op, args[0].1, args[1].1),
            Ty::F64 => fold_f64(*op, args[0].1, args[1].1),
            _ => fold_integer(*op, ty, args[0].1, args[1].1),
        },
        Op::Unary(op) => fold_unary(*op, ty, args[0].1),
        Op::Compare(compare, kind) => {
            fold_compare(*compare, *kind, args[0].0, args[0].1, args[1].1)
        }
        Op::Convert(convert) => fold_convert(*convert, ty, args[0].0, args[0].1),
        Op::Select => Some(if args[0].1 != 0 { args[1].1 } else { args[2].1 }),
        Op::PtrAdd => Some(args[0].1.wrapping_add(args[1].1)),
        Op::Fma if ty == Ty::F32 => {
            let [a, b, c] = [0, 1, 2].map(|index: usize| f32::from_bits(args[index].1 as u32));
            number_f32(a.mul_add(b, c))
        }
        Op::Fma => {
            let [a, b, c] = [0, 1, 2].map(|index: usize| f64::from_bits(args[index].1));
            number_f64(a.mul_add(b, c))
        }
        _ => None,
    }
}

/// The bits of a number; `None` for NaN, whose bits depend on the GPU.
fn number_f32(value: f32) -> Option<u64> {
    (!value.is_nan()).then(|| u64::from(value.to_bits()))
}

fn number_f64(value: f64) -> Option<u64> {
    (!value.is_nan()).then(|| value.to_bits())
}

fn signed(ty: Ty, bits: u64) -> i64 {
    if ty == Ty::I32 { i64::from(bits as u32 as i32) } else { bits as i64 }
}

fn fold_integer(op: BinaryOp, ty: Ty, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (signed(ty, a), signed(ty, b));
    let width = u64::from(ty.bits());
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::DivS if y != 0 => x.wrapping_div(y) as u64,
        BinaryOp::RemS if y != 0 => x.wrapping_rem(y) as u64,
        BinaryOp::DivU => a.checked_div(b)?,
        BinaryOp::RemU => a.checked_rem(b)?,
        BinaryOp::Shl if b < width => a << b,
        BinaryOp::ShrU if b < width => a >> b,
        BinaryOp::ShrS if b < width => (x >> b) as u64,
        BinaryOp::MinS => x.min(y) as u64,
        BinaryOp::MaxS => x.max(y) as u64,
        BinaryOp::MinU => a.min(b),
        BinaryOp::MaxU => a.max(b),
        _ => return None,
    })
}

fn fold_f32(op: BinaryOp, a: u64, b: u64) -> Option<u64> {
    let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    number_f32(fold_number(op, a, b, [f32::min, f32::max])?)
}

fn fold_f64(op: BinaryOp, a: u64, b: u64) -> Option<u64> {
    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
    number_f64(fold_number(op, a, b, [f64::min, f64::max])?)
}

/// Folds a floating-point operation. The last argument has the minimum and the maximum function.
fn fold_number<T>(op: BinaryOp, a: T, b: T, [min, max]: [fn(T, T) -> T; 2]) -> Option<T>
where
    T: PartialEq + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    Some(match op {
        BinaryOp::FAdd => a + b,
        BinaryOp::FSub => a - b,
        BinaryOp::FMul => a * b,
        BinaryOp::FDiv => a / b,
        BinaryOp::FMin if a != b => min(a, b),
        BinaryOp::FMax if a != b => max(a, b),
        _ => return None,
    })
}

fn fold_unary(op: UnaryOp, ty: Ty, a: u64) -> Option<u64> {
    match (op, ty) {
        (UnaryOp::Neg, _) => Some(a.wrapping_neg()),
        (UnaryOp::Not, Ty::Pred) => Some(u64::from(a == 0)),
        (UnaryOp::Not, _) => Some(!a),
        (UnaryOp::FNeg, Ty::F32) => Some(a ^ 0x8000_0000),
        (UnaryOp::FNeg, _) => Some(a ^ 1 << 63),
        (UnaryOp::FAbs, Ty::F32) => Some(a & 0x7fff_ffff),
        (UnaryOp::FAbs, _) => Some(a & !(1 << 63)),
        (UnaryOp::FSqrt, Ty::F32) => number_f32(f32::from_bits(a as u32).sqrt()),
        (UnaryOp::FSqrt, _) => number_f64(f64::from_bits(a).sqrt()),
    }
}

fn fold_compare(compare: Compare, kind: CompareKind, ty: Ty, a: u64, b: u64) -> Option<u64> {
    let ordering = match (kind, ty) {
        (CompareKind::Signed, Ty::I32 | Ty::I64) => Some(signed(ty, a).cmp(&signed(ty, b))),
        (CompareKind::Signed | CompareKind::Unsigned, _) => Some(a.cmp(&b)),
        (_, Ty::F32) => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        _ => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
    };
    let holds = match ordering {
        Some(ordering) => compare.holds(ordering),
        None => kind == CompareKind::Unordered,
    };
    Some(u64::from(holds))
}

fn fold_convert(convert: Convert, ty: Ty, from: Ty, a: u64) -> Option<u64> {
    Some(match convert {
        Convert::SignExtend(bits) => {
            let shift = 64 - u32::from(bits);
            ((a << shift) as i64 >> shift) as u64
        }
        Convert::ZeroExtend(64) | Convert::Truncate | Convert::FromBool => a,
        Convert::ZeroExtend(bits) => a & ((1 << bits) - 1),
        Convert::Bits => a,
        Convert::ToFloat { signed: is_signed } => {
            let number = signed(from, a);
            match (ty, is_signed) {
                (Ty::F32, true) => u64::from((number as f32).to_bits()),
                (Ty::F32, false) => u64::from((a as f32).to_bits()),
                (_, true) => (number as f64).to_bits(),
                (_, false) => (a as f64).to_bits(),
            }
        }
        Convert::ToInteger { signed: is_signed } => {
            let number = if from == Ty::F32 {
                f64::from(f32::from_bits(a as u32))
            } else {
                f64::from_bits(a)
            };
            if number.is_nan() {
                return None;
            }
            match (ty, is_signed) {
                (Ty::I32, true) => number as i32 as u32 as u64,
                (Ty::I32, false) => u64::from(number as u32),
                (_, true) => number as i64 as u64,
                (_, false) => number as u64,
            }
        }
        Convert::Float => match (from, ty) {
            (Ty::F32, Ty::F64) => return number_f64(f64::from(f32::from_bits(a as u32))),
            (Ty::F64, Ty::F32) => return number_f32(f64::from_bits(a) as f32),
            _ => return None,
        },
    })
}
