//! Assignment of slots to registers, constants and special registers.

use super::Lowering;
use crate::engine::code::{Action, Operands};
use crate::engine::image::VariablePlace;
use crate::engine::registers::{ALWAYS, NEVER, SINK, SINK_PREDICATE, Slot, Width};
use crate::engine::simd;
use crate::engine::state_space::{FUNCTION_WINDOW, LOCAL_WINDOW};
use crate::limits::RESERVED_SHARED;
use crate::program::{
    Destination, FunctionId, IntBinary, Operand, Register, Space, Special, Symbol, Type,
};

/// The width of a register of a type.
pub(super) fn width(ty: Type) -> Width {
    match ty.bits() {
        1 => Width::Predicate,
        64 => Width::Wide,
        128 => Width::Quad,
        narrow => Width::Narrow(narrow as u8),
    }
}

/// Whether a type is a signed integer.
pub(super) fn signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}

/// The value of a function's address in a register.
pub(crate) fn function_address(id: FunctionId) -> u64 {
    FUNCTION_WINDOW + u64::from(id.0) * 16
}

impl Lowering<'_> {
    pub(super) fn new_slot(&mut self, width: Width) -> Slot {
        let (counter, size) = match width {
            Width::Predicate => (&mut self.predicates, 1),
            Width::Narrow(_) => (&mut self.rows, 1),
            Width::Wide => (&mut self.rows, 2),
            Width::Quad => (&mut self.rows, 4),
        };
        let index = *counter;
        *counter += size;
        Slot { index, width }
    }

    pub(super) fn register(&self, register: Register) -> Slot {
        let plan = self.layouts.get(&self.current);
        plan.and_then(|plan| plan.registers.get(register.0 as usize))
            .copied()
            .unwrap_or(Slot { index: SINK_PREDICATE, width: Width::Predicate })
    }

    /// The slot of a result; without a destination, a slot that is never read.
    pub(super) fn destination(&self, d: Destination, ty: Type) -> Slot {
        d.map_or_else(|| sink(width(ty)), |register| self.register(register))
    }

    /// A slot that holds a constant in every lane.
    pub(super) fn constant(&mut self, value: u64, width: Width) -> Slot {
        let value = match width {
            Width::Predicate => {
                let index = if value & 1 == 1 { ALWAYS } else { NEVER };
                return Slot { index, width };
            }
            Width::Narrow(bits) if bits < 64 => value & ((1 << bits) - 1),
            _ => value,
        };
        if let Some(&slot) = self.constants.get(&(value, width)) {
            return slot;
        }
        let slot = self.new_slot(width);
        self.constants.insert((value, width), slot);
        slot
    }

    /// A slot that holds the operand when the next emitted step runs.
    pub(super) fn operand(&mut self, operand: Operand, ty: Type) -> Slot {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Not(register) => {
                let a = self.register(register);
                let d = self.new_slot(Width::Predicate);
                if let Some(xor) = simd::predicate(IntBinary::Xor) {
                    let operands = Operands { d: d.index, a: a.index, b: ALWAYS, c: 0 };
                    self.emit_always(Action::Compute(xor, operands));
                }
                d
            }
            Operand::Immediate(value) => self.constant(value, width(ty)),
            Operand::Special(special) => self.special(special),
            Operand::Address(symbol, offset) => self.address_of(symbol, offset, width(ty)),
            Operand::Function(id) => self.constant(function_address(id), width(ty)),
        }
    }

    fn special(&mut self, special: Special) -> Slot {
        if let Special::ReservedShared(offset) = special {
            let start = self.reserved.unwrap_or_else(|| self.shared.next_multiple_of(128));
            self.reserved = Some(start);
            self.shared = self.shared.max(start + u64::from(RESERVED_SHARED));
            return self.constant(start + u64::from(offset), Width::Narrow(32));
        }
        if special == Special::ReservedSharedSize {
            return self.constant(u64::from(RESERVED_SHARED), Width::Narrow(32));
        }
        let width = match special {
            Special::Clock64 | Special::GlobalTimer | Special::GridId => Width::Wide,
            _ => Width::Narrow(32),
        };
        if special.is_clock() {
            let d = self.new_slot(width);
            self.emit_always(Action::ReadClock { d, which: special });
            return d;
        }
        if let Some(&slot) = self.specials.get(&special) {
            return slot;
        }
        let slot = self.new_slot(width);
        self.specials.insert(special, slot);
        slot
    }

    /// The address of a variable in its own state space.
    pub(super) fn address_of(&mut self, symbol: Symbol, offset: i64, width: Width) -> Slot {
        if let Symbol::Module(id) = symbol
            && !matches!(self.module.variables[id.0 as usize].space, Space::Shared | Space::Local)
        {
            let base = self.loading.addresses.get(&id).copied().unwrap_or(0);
            return self.constant(base.wrapping_add_signed(offset), width);
        }
        match self.home(symbol) {
            VariablePlace::DynamicShared => {
                if let Some(&slot) = self.dynamic_shared.get(&(offset, width)) {
                    return slot;
                }
                let slot = self.new_slot(width);
                self.dynamic_shared.insert((offset, width), slot);
                slot
            }
            VariablePlace::Shared(at) | VariablePlace::Parameter(at) => {
                self.constant(at.wrapping_add_signed(offset), width)
            }
            VariablePlace::Local(at) => {
                let at = at.wrapping_add_signed(offset);
                // `ld.param` distinguishes a function's parameters from a kernel's parameters by
                // the window.
                let window =
                    if self.variable_space(symbol) == Space::Param { LOCAL_WINDOW } else { 0 };
                self.constant(at.wrapping_add(window), width)
            }
            VariablePlace::Stack(at) => {
                let d = self.new_slot(width);
                let at = self.constant(at.wrapping_add_signed(offset), Width::Wide);
                self.lanes2(d, (self.stack_frame(), at), u64::wrapping_add);
                d
            }
            VariablePlace::Nowhere => self.constant(0, width),
        }
    }

    /// The slot with the start of the current function's stack frame.
    pub(super) fn stack_frame(&self) -> Slot {
        let stacked = self.layouts.get(&self.current).and_then(|plan| plan.stack_frame);
        stacked.map_or(sink(Width::Wide), |(start, _)| start)
    }

    /// The state space in which a variable is declared.
    pub(super) fn variable_space(&self, symbol: Symbol) -> Space {
        match symbol {
            Symbol::Module(id) => self.module.variables[id.0 as usize].space,
            Symbol::Local(id) => self.function(self.current).variables[id.0 as usize].space,
        }
    }

    /// Copies a register to another register of the same width.
    pub(super) fn copy(&mut self, d: Slot, a: Slot) {
        let operands = Operands { d: d.index, a: a.index, b: NEVER, c: 0 };
        match (d.width, a.width) {
            (Width::Predicate, Width::Predicate) => {
                if let Some(or) = simd::predicate(IntBinary::Or) {
                    self.emit(Action::Compute(or, operands));
                }
            }
            (Width::Narrow(to), Width::Narrow(from)) if from <= to => {
                self.emit(Action::Compute(simd::copy(false, self.fast), operands));
            }
            (Width::Wide, Width::Wide) => {
                self.emit(Action::Compute(simd::copy(true, self.fast), operands));
            }
            (Width::Quad, Width::Quad) => {
                let ((dl, dh), (al, ah)) = (d.halves(), a.halves());
                self.copy(dl, al);
                self.copy(dh, ah);
            }
            _ => self.lanes1(d, a, |a| a),
        }
    }
}

pub(super) fn sink(width: Width) -> Slot {
    let index = if width == Width::Predicate { SINK_PREDICATE } else { SINK };
    Slot { index, width }
}
