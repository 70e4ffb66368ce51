//! Vectorised comparisons, and operations on predicates.

use super::ftz;
use crate::engine::code::{Compute, Operands};
use crate::engine::registers::Registers;
use crate::engine::vector::{Comparator, LaneValue, compile_comparison};
use crate::program::{Comparison, IntBinary, Type};

/// A comparison, by its index in the list in [`compare`].
#[inline(always)]
#[expect(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::eq_op,
    reason = "NaN makes the difference"
)]
fn holds<const OP: u8, T: PartialOrd + Copy>(a: T, b: T) -> bool {
    match OP {
        0 => a == b,
        1 => a < b || a > b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        6 => !(a < b || a > b),
        7 => a != b,
        8 => !(a >= b),
        9 => !(a > b),
        10 => !(a <= b),
        11 => !(a < b),
        12 => a == a && b == b,
        _ => a != a || b != b,
    }
}

/// `setp` without `combine`, and with one destination.
pub(in crate::engine) fn compare(
    op: Comparison,
    ty: Type,
    flush: bool,
    fast: bool,
) -> Option<Compute> {
    macro_rules! by_op {
        (|$x:ident: $value:ty| $view:expr) => {{
            struct Compared<const OP: u8>;
            impl<const OP: u8> Comparator for Compared<OP> {
                type A = <$value as LaneValue>::Lane;
                #[inline(always)]
                fn apply(a: Self::A, b: Self::A) -> bool {
                    #[inline(always)]
                    fn view($x: $value) -> $value {
                        $view
                    }
                    holds::<OP, _>(view(<$value>::from_lane(a)), view(<$value>::from_lane(b)))
                }
            }
            match op {
                Comparison::Eq => compile_comparison::<Compared<0>>(fast),
                Comparison::Ne => compile_comparison::<Compared<1>>(fast),
                Comparison::Lt => compile_comparison::<Compared<2>>(fast),
                Comparison::Le => compile_comparison::<Compared<3>>(fast),
                Comparison::Gt => compile_comparison::<Compared<4>>(fast),
                Comparison::Ge => compile_comparison::<Compared<5>>(fast),
                Comparison::Equ => compile_comparison::<Compared<6>>(fast),
                Comparison::Neu => compile_comparison::<Compared<7>>(fast),
                Comparison::Ltu => compile_comparison::<Compared<8>>(fast),
                Comparison::Leu => compile_comparison::<Compared<9>>(fast),
                Comparison::Gtu => compile_comparison::<Compared<10>>(fast),
                Comparison::Geu => compile_comparison::<Compared<11>>(fast),
                Comparison::Num => compile_comparison::<Compared<12>>(fast),
                Comparison::Nan => compile_comparison::<Compared<13>>(fast),
            }
        }};
    }
    Some(match ty {
        Type::U32 | Type::B32 => by_op!(|x: u32| x),
        Type::S32 => by_op!(|x: i32| x),
        Type::F32 if flush => by_op!(|x: f32| ftz(x)),
        Type::F32 => by_op!(|x: f32| x),
        Type::U64 | Type::B64 => by_op!(|x: u64| x),
        Type::S64 => by_op!(|x: i64| x),
        Type::F64 => by_op!(|x: f64| x),
        _ => return None,
    })
}

/// `and`, `or`, `xor`, `not` and `mov` of predicates: operations on one word.
pub(in crate::engine) fn predicate(op: IntBinary) -> Option<Compute> {
    fn apply(registers: &mut Registers, operands: &Operands, mask: u32, f: fn(u32, u32) -> u32) {
        let predicates = &mut registers.predicates;
        let value = f(predicates[operands.a as usize], predicates[operands.b as usize]);
        let word = &mut predicates[operands.d as usize];
        *word = *word & !mask | value & mask;
    }
    fn and(registers: &mut Registers, operands: &Operands, mask: u32) {
        apply(registers, operands, mask, |a, b| a & b);
    }
    fn or(registers: &mut Registers, operands: &Operands, mask: u32) {
        apply(registers, operands, mask, |a, b| a | b);
    }
    fn xor(registers: &mut Registers, operands: &Operands, mask: u32) {
        apply(registers, operands, mask, |a, b| a ^ b);
    }
    match op {
        IntBinary::And => Some(and),
        IntBinary::Or => Some(or),
        IntBinary::Xor => Some(xor),
        _ => None,
    }
}
