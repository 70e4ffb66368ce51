//! Comparisons into predicates, and operations on predicates.

use super::ftz;
use crate::engine::code::{Compute, Operands};
use crate::engine::registers::Registers;
use crate::engine::vector::{Comparator, compile_comparison};
use crate::program::{Comparison, IntBinary, Type};

macro_rules! comparators {
    ($($name:ident: $lane:ty, |$x:ident| $view:expr;)*) => {
        $(
            struct $name<const OP: u8>;
            impl<const OP: u8> Comparator for $name<OP> {
                type A = $lane;
                #[inline(always)]
                fn apply(a: $lane, b: $lane) -> bool {
                    #[inline(always)]
                    fn view($x: $lane) -> impl PartialOrd + Copy {
                        $view
                    }
                    holds::<OP, _>(view(a), view(b))
                }
            }
        )*
    };
}

comparators! {
    CompareU32: u32, |x| x;
    CompareS32: u32, |x| x as i32;
    CompareF32: u32, |x| f32::from_bits(x);
    CompareFtz: u32, |x| ftz(x);
    CompareU64: u64, |x| x;
    CompareS64: u64, |x| x as i64;
    CompareF64: u64, |x| f64::from_bits(x);
}

/// A comparison by its number: the order in which [`compare`] lists them.
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

/// `setp` without `combine` and with one destination.
pub(in crate::engine) fn compare(
    op: Comparison,
    ty: Type,
    flush: bool,
    fast: bool,
) -> Option<Compute> {
    macro_rules! by_op {
        ($name:ident) => {
            match op {
                Comparison::Eq => compile_comparison::<$name<0>>(fast),
                Comparison::Ne => compile_comparison::<$name<1>>(fast),
                Comparison::Lt => compile_comparison::<$name<2>>(fast),
                Comparison::Le => compile_comparison::<$name<3>>(fast),
                Comparison::Gt => compile_comparison::<$name<4>>(fast),
                Comparison::Ge => compile_comparison::<$name<5>>(fast),
                Comparison::Equ => compile_comparison::<$name<6>>(fast),
                Comparison::Neu => compile_comparison::<$name<7>>(fast),
                Comparison::Ltu => compile_comparison::<$name<8>>(fast),
                Comparison::Leu => compile_comparison::<$name<9>>(fast),
                Comparison::Gtu => compile_comparison::<$name<10>>(fast),
                Comparison::Geu => compile_comparison::<$name<11>>(fast),
                Comparison::Num => compile_comparison::<$name<12>>(fast),
                Comparison::Nan => compile_comparison::<$name<13>>(fast),
            }
        };
    }
    Some(match ty {
        Type::U32 | Type::B32 => by_op!(CompareU32),
        Type::S32 => by_op!(CompareS32),
        Type::F32 if flush => by_op!(CompareFtz),
        Type::F32 => by_op!(CompareF32),
        Type::U64 | Type::B64 => by_op!(CompareU64),
        Type::S64 => by_op!(CompareS64),
        Type::F64 => by_op!(CompareF64),
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
