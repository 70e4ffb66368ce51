//! Lowering of comparisons and selections.

use super::Lowering;
use crate::arithmetic;
use crate::engine::code::{Action, Operands};
use crate::engine::registers::{NEVER, Registers, Slot, Width};
use crate::engine::simd;
use crate::program::{Combine, IntBinary, Op, Type};

impl Lowering<'_> {
    /// Lowers `setp`, `set`, `selp` and `slct`.
    pub(super) fn comparison(&mut self, op: &Op) {
        match op {
            Op::SetPredicate { comparison, combine, ty, flush, p, q, a, b } => {
                let (comparison, ty, flush) = (*comparison, *ty, *flush);
                let (a, b) = (self.operand(*a, ty), self.operand(*b, ty));
                let d = self.destination(*p, Type::Pred);
                let w = super::slots::width(ty);
                let simple = combine.is_none() && q.is_none();
                let compute =
                    simple.then(|| simd::compare(comparison, ty, flush, self.fast)).flatten();
                if self.fast(compute, &[(d, Width::Predicate), (a, w), (b, w)]) {
                    return;
                }
                if let (Some((how, c)), None) = (combine, q)
                    && let Some(compute) = simd::compare(comparison, ty, flush, self.fast)
                    && (a.width, b.width) == (w, w)
                {
                    // Two steps: the comparison, then one operation on predicates, which are words
                    // of 32 lanes.
                    let c = self.operand(*c, Type::Pred);
                    let holds = self.new_slot(Width::Predicate);
                    self.fast(Some(compute), &[(holds, Width::Predicate), (a, w), (b, w)]);
                    let how = match how {
                        Combine::And => IntBinary::And,
                        Combine::Or => IntBinary::Or,
                        Combine::Xor => IntBinary::Xor,
                    };
                    let operands = Operands { d: d.index, a: holds.index, b: c.index, c: NEVER };
                    if let Some(compute) = simd::predicate(how) {
                        self.emit(Action::Compute(compute, operands));
                    }
                    return;
                }
                let q = self.destination(*q, Type::Pred);
                let combine = self.combining(*combine);
                let pair = matches!(ty, Type::F16x2 | Type::Bf16x2);
                self.each_lane(move |registers, lane| {
                    let (a, b) = (registers.get(a, lane), registers.get(b, lane));
                    let (first, second) = if pair {
                        arithmetic::compare_both(comparison, ty, flush, a, b)
                    } else {
                        let holds = arithmetic::compare(comparison, ty, flush, a, b);
                        (holds, !holds)
                    };
                    let (p, second) = combined(combine, registers, lane, (first, second));
                    registers.set(q, lane, u64::from(second));
                    registers.set(d, lane, u64::from(p));
                });
            }
            Op::Set { comparison, combine, result, ty, flush, d, a, b } => {
                let (comparison, result, ty, flush) = (*comparison, *result, *ty, *flush);
                let (a, b) = (self.operand(*a, ty), self.operand(*b, ty));
                let d = self.destination(*d, result);
                let combine = self.combining(*combine);
                self.each_lane(move |registers, lane| {
                    let (a, b) = (registers.get(a, lane), registers.get(b, lane));
                    let (first, second) = arithmetic::compare_both(comparison, ty, flush, a, b);
                    let outcomes = combined(combine, registers, lane, (first, second));
                    registers.set(d, lane, arithmetic::set_value(result, ty, outcomes));
                });
            }
            Op::Select { ty, d, a, b, c } => {
                let (a, b) = (self.operand(*a, *ty), self.operand(*b, *ty));
                let c = self.operand(*c, Type::Pred);
                let d = self.destination(*d, *ty);
                let w = super::slots::width(*ty);
                let compute = match w {
                    Width::Narrow(_) => Some(simd::select(false, self.fast)),
                    Width::Wide => Some(simd::select(true, self.fast)),
                    _ => None,
                };
                if !self.fast(compute, &[(d, w), (a, w), (b, w), (c, Width::Predicate)]) {
                    self.lanes3(d, (a, b, c), |a, b, c| if c != 0 { a } else { b });
                }
            }
            Op::SelectBySign { ty, sign, flush, d, a, b, c } => {
                let (sign, flush) = (*sign, *flush);
                let (a, b) = (self.operand(*a, *ty), self.operand(*b, *ty));
                let c = self.operand(*c, sign);
                let d = self.destination(*d, *ty);
                self.lanes3(d, (a, b, c), move |a, b, c| {
                    arithmetic::select_by_sign(sign, flush, a, b, c)
                });
            }
            _ => {}
        }
    }
}

/// The two results of a comparison, each combined with a predicate if the instruction has one.
#[inline]
fn combined(
    combine: Option<(Combine, Slot)>,
    registers: &Registers,
    lane: usize,
    (first, second): (bool, bool),
) -> (bool, bool) {
    let Some((combine, c)) = combine else { return (first, second) };
    let c = registers.get(c, lane) != 0;
    (arithmetic::combine(combine, first, c), arithmetic::combine(combine, second, c))
}
