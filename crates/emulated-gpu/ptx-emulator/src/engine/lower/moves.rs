//! Lowering of moves, address conversions, and integer operations with one or two operands.

use super::Lowering;
use super::slots::width;
use crate::arithmetic;
use crate::engine::code::{Action, Operands};
use crate::engine::registers::{ALWAYS, NEVER, Slot};
use crate::engine::simd;
use crate::engine::state_space::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::program::{Destination, IntBinary, IntUnary, Operand, Space, Type};

impl Lowering<'_> {
    pub(super) fn mov(&mut self, ty: Type, d: Destination, a: Operand) {
        let a = self.operand(a, ty);
        let d = self.destination(d, ty);
        self.copy(d, a);
    }

    pub(super) fn pack(&mut self, d: Destination, parts: &[Operand], part: Type) {
        let slots: Vec<Slot> = parts.iter().map(|&operand| self.operand(operand, part)).collect();
        let size = part.bits();
        let whole = match size * slots.len() as u32 {
            128 => Type::B128,
            64 => Type::B64,
            32 => Type::B32,
            _ => Type::B16,
        };
        let d = self.destination(d, whole);
        self.each_lane(move |registers, lane| {
            let mut value = 0u128;
            for (index, &slot) in slots.iter().enumerate() {
                let bits = u128::from(registers.get(slot, lane)) & ((1 << size) - 1);
                value |= bits << (size * index as u32);
            }
            registers.set_whole(d, lane, value);
        });
    }

    pub(super) fn unpack(&mut self, ty: Type, parts: &[Destination], part: Type, a: Operand) {
        let a = self.operand(a, ty);
        let size = part.bits();
        let slots: Vec<Slot> = parts.iter().map(|&d| self.destination(d, part)).collect();
        self.each_lane(move |registers, lane| {
            let value = registers.get_whole(a, lane);
            for (index, &slot) in slots.iter().enumerate() {
                let bits = value >> (size * index as u32) & ((1 << size) - 1);
                registers.set(slot, lane, bits as u64);
            }
        });
    }

    pub(super) fn int_unary(&mut self, op: IntUnary, ty: Type, d: Destination, a: Operand) {
        let result = match op {
            IntUnary::PopC | IntUnary::Clz | IntUnary::BFind { .. } => Type::U32,
            _ => ty,
        };
        let a = self.operand(a, ty);
        let d = self.destination(d, result);
        if ty == Type::Pred {
            if let Some(xor) = simd::predicate(IntBinary::Xor) {
                let operands = Operands { d: d.index, a: a.index, b: ALWAYS, c: 0 };
                self.emit(Action::Compute(xor, operands));
            }
            return;
        }
        let w = width(ty);
        if !self.fast(simd::int_unary(op, ty, self.fast), &[(d, w), (a, w)]) {
            self.lanes1(d, a, move |a| arithmetic::int_unary(op, ty, a));
        }
    }

    pub(super) fn int_binary(
        &mut self,
        op: IntBinary,
        ty: Type,
        d: Destination,
        (a, b): (Operand, Operand),
    ) {
        let shift = matches!(op, IntBinary::ShiftLeft | IntBinary::ShiftRight);
        let second = if shift { Type::U32 } else { ty };
        let result = if op == IntBinary::MulWide { ty.doubled() } else { ty };
        let (a, b) = (self.operand(a, ty), self.operand(b, second));
        let d = self.destination(d, result);
        if ty == Type::Pred {
            if let Some(compute) = simd::predicate(op) {
                let operands = Operands { d: d.index, a: a.index, b: b.index, c: NEVER };
                self.emit(Action::Compute(compute, operands));
            }
            return;
        }
        let [w, t, s] = [result, ty, second].map(width);
        if !self.fast(simd::int_binary(op, ty, self.fast), &[(d, w), (a, t), (b, s)]) {
            self.lanes2(d, (a, b), move |a, b| arithmetic::int_binary(op, ty, a, b));
        }
    }

    /// `cvta`: only shared, local and parameter addresses differ from generic ones.
    pub(super) fn convert_address(
        &mut self,
        space: Space,
        to_space: bool,
        ty: Type,
        d: Destination,
        a: Operand,
    ) {
        // The address of a local variable is an offset; the address of a parameter in local memory
        // is generic.
        let a = self.operand(a, ty);
        let d = self.destination(d, ty);
        let window = match space {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => {
                self.emit(Action::ConvertParameter { to_space, d, a });
                return;
            }
            _ => {
                self.copy(d, a);
                return;
            }
        };
        if to_space {
            self.lanes1(d, a, move |a| a.wrapping_sub(window));
        } else {
            self.lanes1(d, a, move |a| a.wrapping_add(window));
        }
    }
}
