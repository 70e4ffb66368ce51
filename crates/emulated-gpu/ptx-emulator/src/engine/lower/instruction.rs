//! Lowering of one instruction: to a vectorised operation if there is one, and otherwise to a
//! general function that runs lane by lane.

use std::sync::Arc;

use super::Lowering;
use super::slots::signed;
use crate::arithmetic::{self, convert::extend_result};
use crate::engine::code::{Action, Barrier, BarrierKind};
use crate::engine::collective::{Collective, CollectiveKind};
use crate::engine::registers::{SINK_PREDICATE, Slot, Width, lanes};
use crate::engine::simd;
use crate::program::{BarrierAction, Instruction, IntBinary, Op, Scope, Space, Type};

pub(super) const UNUSED: Slot = Slot { index: SINK_PREDICATE, width: Width::Predicate };

impl Lowering<'_> {
    /// Emits the steps of an instruction.
    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        match &instruction.op {
            Op::Mov { ty, d, a } => self.mov(*ty, *d, *a),
            Op::Pack { d, parts, part, .. } => self.pack(*d, parts, *part),
            Op::Unpack { ty, parts, part, a } => self.unpack(*ty, parts, *part, *a),
            Op::IntUnary { op, ty, d, a } => self.int_unary(*op, *ty, *d, *a),
            Op::IntBinary { op, ty, d, a, b } => self.int_binary(*op, *ty, *d, (*a, *b)),
            Op::IntMad { product, saturate, ty, d, a, b, c } => {
                let (product, saturate, ty) = (*product, *saturate, *ty);
                let wide = if product == IntBinary::MulWide { ty.doubled() } else { ty };
                let (a, b) = (self.operand(*a, ty), self.operand(*b, ty));
                let c = self.operand(*c, wide);
                let d = self.destination(*d, wide);
                let compute = (!saturate).then(|| simd::int_mad(product, ty, self.fast)).flatten();
                let (w, t) = (super::slots::width(wide), super::slots::width(ty));
                if !self.fast(compute, &[(d, w), (a, t), (b, t), (c, w)]) {
                    self.lanes3(d, (a, b, c), move |a, b, c| {
                        arithmetic::int_mad(product, saturate, ty, a, b, c)
                    });
                }
            }
            Op::Carry { subtract, product, carry_in, carry_out, ty, d, a, b, c } => {
                let c = c.map(|c| self.operand(c, *ty));
                let (a, b) = (self.operand(*a, *ty), self.operand(*b, *ty));
                let d = self.destination(*d, *ty);
                let flag = self.carry.unwrap_or_else(|| self.new_slot(Width::Predicate));
                self.carry = Some(flag);
                let (subtract, product, ty) = (*subtract, *product, *ty);
                let (carry_in, carry_out) = (*carry_in, *carry_out);
                self.each_lane(move |registers, lane| {
                    let operands = (
                        registers.get(a, lane),
                        registers.get(b, lane),
                        c.map_or(0, |c| registers.get(c, lane)),
                    );
                    let carry = carry_in.then(|| registers.get(flag, lane) == 1);
                    let (value, out) = arithmetic::carry(subtract, product, ty, operands, carry);
                    registers.set(d, lane, value);
                    if carry_out {
                        registers.set(flag, lane, u64::from(out));
                    }
                });
            }
            Op::Sad { ty, d, a, b, c } => {
                let (ty, operands) = (*ty, self.three_sources(*ty, (*a, *b, *c)));
                let d = self.destination(*d, ty);
                self.lanes3(d, operands, move |a, b, c| arithmetic::sad(ty, a, b, c));
            }
            Op::BitExtract { ty, d, a, position, length } => {
                let ty = *ty;
                let a = self.operand(*a, ty);
                let position = self.operand(*position, Type::U32);
                let length = self.operand(*length, Type::U32);
                let d = self.destination(*d, ty);
                self.lanes3(d, (a, position, length), move |a, position, length| {
                    arithmetic::bit_extract(ty, a, position as u32, length as u32)
                });
            }
            Op::BitInsert { ty, d, a, b, position, length } => {
                let ty = *ty;
                let (a, b) = (self.operand(*a, ty), self.operand(*b, ty));
                let position = self.operand(*position, Type::U32);
                let length = self.operand(*length, Type::U32);
                let d = self.destination(*d, ty);
                self.each_lane(move |registers, lane| {
                    let get = |slot| registers.get(slot, lane);
                    let (position, length) = (get(position) as u32, get(length) as u32);
                    let value = arithmetic::bit_insert(ty, get(a), get(b), position, length);
                    registers.set(d, lane, value);
                });
            }
            Op::FindNthSet { d, mask, base, offset } => {
                let operands = self.three_sources(Type::B32, (*mask, *base, *offset));
                let d = self.destination(*d, Type::B32);
                self.lanes3(d, operands, |mask, base, offset| {
                    let position =
                        arithmetic::find_nth_set(mask as u32, base as u32, offset as u32 as i32);
                    u64::from(position)
                });
            }
            Op::Lop3 { table, d, a, b, c, predicate } => {
                let (table, operands) = (*table, self.three_sources(Type::B32, (*a, *b, *c)));
                let d = self.destination(*d, Type::B32);
                let predicate = predicate.map(|(combine, p, q)| {
                    (combine, self.register(p), self.operand(q, Type::Pred))
                });
                let (a, b, c) = operands;
                self.each_lane(move |registers, lane| {
                    let get = |slot| registers.get(slot, lane) as u32;
                    let value = arithmetic::lop3(table, get(a), get(b), get(c));
                    if let Some((combine, p, q)) = predicate {
                        let q = get(q) != 0;
                        let p_value = arithmetic::combine(combine, value != 0, q);
                        registers.set(p, lane, u64::from(p_value));
                    }
                    registers.set(d, lane, u64::from(value));
                });
            }
            Op::FunnelShift { right, wrap, d, a, b, c } => {
                let (right, wrap) = (*right, *wrap);
                self.words(*d, (*a, *b, *c), move |a, b, c| {
                    arithmetic::funnel_shift(right, wrap, a, b, c)
                });
            }
            Op::Permute { mode, d, a, b, c } => {
                let mode = *mode;
                self.words(*d, (*a, *b, *c), move |a, b, c| arithmetic::permute(mode, a, b, c));
            }
            Op::Video { form, d, a, b, c } => {
                let form = *form;
                let c = c.unwrap_or(crate::program::Operand::Immediate(0));
                self.words(*d, (*a, *b, c), move |a, b, c| arithmetic::video(&form, a, b, c));
            }
            Op::DotProduct { high, a_signed, b_signed, d, a, b, c } => {
                let (high, signs) = (*high, (*a_signed, *b_signed));
                self.words(*d, (*a, *b, *c), move |a, b, c| {
                    arithmetic::dot_product(high, signs, a, b, c)
                });
            }
            Op::SetPredicate { .. }
            | Op::Set { .. }
            | Op::Select { .. }
            | Op::SelectBySign { .. } => {
                self.comparison(&instruction.op);
            }
            Op::FloatUnary { op, mode, ty, d, a } => {
                let (op, mode, ty) = (*op, *mode, *ty);
                let a = self.operand(*a, ty);
                let d = self.destination(*d, ty);
                let w = super::slots::width(ty);
                let compute = simd::float_unary(op, mode, ty, self.fast);
                if !self.fast(compute, &[(d, w), (a, w)]) {
                    self.lanes1(d, a, move |a| arithmetic::float_unary(op, mode, ty, a));
                }
            }
            Op::FloatBinary { op, mode, ty, d, a, b } => {
                let (op, mode, ty) = (*op, *mode, *ty);
                let (a, b) = (self.operand(*a, ty), self.operand(*b, ty));
                let d = self.destination(*d, ty);
                let w = super::slots::width(ty);
                let compute = simd::float_binary(op, mode, ty, self.fast);
                if !self.fast(compute, &[(d, w), (a, w), (b, w)]) {
                    self.lanes2(d, (a, b), move |a, b| {
                        arithmetic::float_binary(op, mode, ty, a, b)
                    });
                }
            }
            Op::Fma { mode, ty, d, a, b, c } => {
                let (mode, ty) = (*mode, *ty);
                let (a, b, c) = self.three_sources(ty, (*a, *b, *c));
                let d = self.destination(*d, ty);
                let w = super::slots::width(ty);
                let compute = simd::fma(mode, ty, self.fast);
                if !self.fast(compute, &[(d, w), (a, w), (b, w), (c, w)]) {
                    self.lanes3(d, (a, b, c), move |a, b, c| arithmetic::fma(mode, ty, a, b, c));
                }
            }
            Op::TestProperty { property, ty, d, a } => {
                let (property, ty) = (*property, *ty);
                let a = self.operand(*a, ty);
                let d = self.destination(*d, Type::Pred);
                self.lanes1(d, a, move |a| u64::from(arithmetic::test_property(property, ty, a)));
            }
            Op::Convert { to, from, rounding, integer, mode, d, a, b } => {
                let (to, from, rounding, integer, mode) = (*to, *from, *rounding, *integer, *mode);
                let a = self.operand(*a, from);
                let d = self.destination(*d, to);
                let Some(b) = *b else {
                    let compute = simd::convert((to, from), rounding, mode, self.fast)
                        // Rounding a float to an integral float of the same type is a different
                        // operation.
                        .filter(|_| !integer || is_integer(to));
                    let expected = [(d, super::slots::width(to)), (a, super::slots::width(from))];
                    if !self.fast(compute, &expected) {
                        let extend = signed(to) && d.width != super::slots::width(to);
                        self.lanes1(d, a, move |a| {
                            let value =
                                arithmetic::convert(to, from, rounding, integer, mode, a, None);
                            if extend { extend_result(to, value) } else { value }
                        });
                    }
                    return;
                };
                let b = self.operand(b, from);
                let compute = simd::convert_pair(to, rounding, mode, self.fast);
                let w = super::slots::width(from);
                if !self.fast(compute, &[(d, super::slots::width(to)), (a, w), (b, w)]) {
                    self.lanes2(d, (a, b), move |a, b| {
                        arithmetic::convert(to, from, rounding, integer, mode, a, Some(b))
                    });
                }
            }
            Op::ConvertAddress { space, to_space, ty, d, a } => {
                self.convert_address(*space, *to_space, *ty, *d, *a);
            }
            Op::IsSpace { space, d, a } => {
                let a = self.operand(*a, Type::B64);
                let d = self.destination(*d, Type::Pred);
                let constants: Arc<[(u64, u64)]> = self
                    .loading
                    .addresses
                    .iter()
                    .map(|(id, &address)| (address, &self.module.variables[id.0 as usize]))
                    .filter(|(_, variable)| variable.space == Space::Const)
                    .map(|(address, variable)| (address, variable.size))
                    .collect();
                self.emit(Action::IsSpace { space: *space, constants, d, a });
            }
            Op::Load { space, ordering, scope, ty, d, address } => {
                self.load((*space, *ordering, *scope), *ty, d, *address);
            }
            Op::Store { space, ordering, scope, ty, address, a } => {
                self.store((*space, *ordering, *scope), *ty, *address, a);
            }
            Op::Atomic { op, space, ordering, scope, ty, d, address, b, c } => {
                self.atomic((*op, *ty), (*space, *ordering, *scope), *d, *address, (*b, *c));
            }
            Op::Fence { scope } => {
                let wide = matches!(scope, Scope::Gpu | Scope::System);
                self.emit(Action::Fence { wide });
            }
            // Hardware ignores prefetches of invalid addresses.
            Op::Hint { .. } => self.emit(Action::Nothing),
            Op::Asynchronous(asynchronous) => self.asynchronous(asynchronous),
            Op::Texture(texture) => self.texture(texture),
            Op::Branch { target, .. } => self.emit(Action::Branch(target.0)),
            Op::BranchIndexed { index, targets, .. } => {
                let index = self.operand(*index, Type::U32);
                let targets = targets.iter().map(|target| target.0).collect();
                self.emit(Action::BranchIndexed { index, targets });
            }
            Op::Call { callee, prototype, results, arguments, .. } => {
                self.call(*callee, *prototype, results, arguments);
            }
            Op::Return => self.return_from(),
            Op::Exit => self.emit(Action::Exit),
            Op::Trap => self.emit(Action::Trap),
            Op::Nothing => self.emit(Action::Pause),
            Op::Barrier { action, barrier, threads, aligned } => {
                let index = self.operand(*barrier, Type::U32);
                let threads = threads.map(|threads| self.operand(threads, Type::U32));
                let action = match action {
                    BarrierAction::Sync => BarrierKind::Sync,
                    BarrierAction::Arrive => BarrierKind::Arrive,
                    BarrierAction::Reduce { operation, destination, predicate } => {
                        let ty = match operation {
                            crate::program::Atomic::Add => Type::U32,
                            _ => Type::Pred,
                        };
                        BarrierKind::Reduce {
                            operation: *operation,
                            d: self.destination(*destination, ty),
                            predicate: self.operand(*predicate, Type::Pred),
                            negated: false,
                        }
                    }
                };
                let aligned = *aligned;
                self.emit(Action::Barrier(Box::new(Barrier { action, index, threads, aligned })));
            }
            Op::WarpBarrier { mask } => {
                let mask = self.operand(*mask, Type::B32);
                self.collective(CollectiveKind::Barrier, Some(mask), UNUSED, (UNUSED, UNUSED));
            }
            Op::Shuffle { mode, d, p, a, lane, clamp, mask } => {
                let mask = mask.map(|mask| self.operand(mask, Type::B32));
                let a = self.operand(*a, Type::B32);
                let lane = self.operand(*lane, Type::B32);
                let clamp = self.operand(*clamp, Type::B32);
                let d = self.destination(*d, Type::B32);
                let p = self.destination(*p, Type::Pred);
                let kind = CollectiveKind::Shuffle(*mode);
                let collective =
                    Collective { kind, members: mask, a, negated: false, lane, clamp, d, p };
                self.emit(Action::Collective(Box::new(collective)));
            }
            Op::Vote { mode, d, a, mask } => {
                let mask = mask.map(|mask| self.operand(mask, Type::B32));
                let a = self.operand(*a, Type::Pred);
                let ty = match mode {
                    crate::program::Vote::Ballot => Type::B32,
                    _ => Type::Pred,
                };
                let d = self.destination(*d, ty);
                self.collective(CollectiveKind::Vote(*mode), mask, a, (d, UNUSED));
            }
            Op::Match { all, ty, d, p, a, mask } => {
                let mask = self.operand(*mask, Type::B32);
                let a = self.operand(*a, *ty);
                let d = self.destination(*d, Type::B32);
                let p = self.destination(*p, Type::Pred);
                let kind = if *all { CollectiveKind::MatchAll } else { CollectiveKind::MatchAny };
                self.collective(kind, Some(mask), a, (d, p));
            }
            Op::ActiveMask { d } => {
                let d = self.destination(*d, Type::B32);
                self.emit(Action::General(Box::new(move |registers, mask| {
                    lanes(mask).for_each(|lane| registers.set(d, lane, u64::from(mask)));
                })));
            }
            Op::Reduce { op, ty, d, a, mask } => {
                let mask = self.operand(*mask, Type::B32);
                let a = self.operand(*a, *ty);
                let d = self.destination(*d, *ty);
                self.collective(CollectiveKind::Reduce(*op, *ty), Some(mask), a, (d, UNUSED));
            }
            Op::Elect { d, p, mask } => {
                let mask = self.operand(*mask, Type::B32);
                let d = self.destination(*d, Type::B32);
                let p = self.destination(*p, Type::Pred);
                self.collective(CollectiveKind::Elect, Some(mask), UNUSED, (d, p));
            }
            Op::Matrix(matrix) => self.matrix(matrix),
            Op::StackSave { d } => {
                let d = self.destination(*d, Type::U64);
                if let Some(pointer) = self.stack_pointer {
                    self.copy(d, pointer);
                }
            }
            Op::StackRestore { a } => {
                let a = self.operand(*a, Type::U64);
                if let (Some(pointer), Some(start)) = (self.stack_pointer, self.stack_start) {
                    // Below the stack are the thread's variables.
                    self.lanes2(pointer, (a, start), u64::max);
                }
            }
            Op::StackAllocate { d, size, align } => {
                let size = self.operand(*size, Type::B64);
                let d = self.destination(*d, Type::B64);
                if let Some(pointer) = self.stack_pointer {
                    let align = (*align).clamp(1, 1 << 20).next_power_of_two();
                    self.emit(Action::StackAllocate { pointer, d, size, align });
                }
            }
        }
    }

    /// Emits a collective of the lanes in a mask; without one, of the active lanes.
    pub(super) fn collective(
        &mut self,
        kind: CollectiveKind,
        members: Option<Slot>,
        a: Slot,
        (d, p): (Slot, Slot),
    ) {
        let collective =
            Collective { kind, members, a, negated: false, lane: UNUSED, clamp: UNUSED, d, p };
        self.emit(Action::Collective(Box::new(collective)));
    }
}

fn is_integer(ty: Type) -> bool {
    !matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}
