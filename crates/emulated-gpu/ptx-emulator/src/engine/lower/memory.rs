//! Lowering of instructions that access memory.

use super::Lowering;
use super::slots::signed;
use crate::engine::access::choose::transfer;
use crate::engine::access::instruction::{Access, PatternReuse};
use crate::engine::atomics::AtomicAccess;
use crate::engine::code::Action;
use crate::engine::image::VariablePlace;
use crate::engine::race::{Semantics, semantics};
use crate::engine::registers::{Slot, Width};
use crate::engine::state_space::StateSpace;
use crate::program::{Address, Atomic, Destination, Operand, Ordering, Scope, Space, Symbol, Type};

impl Lowering<'_> {
    /// Creates an access without values.
    pub(super) fn access(&mut self, space: Space, address: Address, ty: Type) -> Access {
        let (state_space, slot, offset) = match address.base {
            Operand::Address(symbol, extra) => {
                let offset = address.offset.wrapping_add(extra);
                self.symbol_access(symbol, offset)
            }
            Operand::Immediate(value) => {
                let value = value.wrapping_add_signed(address.offset);
                (state_space_of(space), self.constant(value, Width::Wide), 0)
            }
            base => {
                let slot = self.operand(base, Type::B64);
                (state_space_of(space), slot, address.offset)
            }
        };
        let site = self.sites;
        self.sites += 1;
        Access {
            state_space,
            address: slot,
            offset: offset as u64,
            bytes: ty.bytes(),
            values: Vec::new(),
            signed: signed(ty),
            site,
            fence: false,
            strong: false,
            semantics: Semantics::default(),
            is_guess: false,
            passes_on: false,
            constant: space == Space::Const,
            pattern: PatternReuse::Unshared,
        }
    }

    /// The state space, address and offset of a variable that an access names.
    fn symbol_access(&mut self, symbol: Symbol, offset: i64) -> (StateSpace, Slot, i64) {
        let module_global = matches!(symbol, Symbol::Module(_))
            && !matches!(self.variable_space(symbol), Space::Shared | Space::Local);
        if module_global {
            return (StateSpace::Global, self.address_of(symbol, offset, Width::Wide), 0);
        }
        match self.home(symbol) {
            VariablePlace::Parameter(at) => {
                (StateSpace::Param, self.constant(at.wrapping_add_signed(offset), Width::Wide), 0)
            }
            VariablePlace::Local(at) => {
                (StateSpace::Local, self.constant(at.wrapping_add_signed(offset), Width::Wide), 0)
            }
            VariablePlace::Stack(at) => {
                (StateSpace::Local, self.stack_frame(), offset.wrapping_add_unsigned(at))
            }
            _ => (StateSpace::Shared, self.address_of(symbol, offset, Width::Wide), 0),
        }
    }

    pub(super) fn load(
        &mut self,
        (space, ordering, scope): (Space, Ordering, Option<Scope>),
        ty: Type,
        d: &[Destination],
        address: Address,
    ) {
        let mut access = self.access(space, address, ty);
        access.values = d.iter().map(|&d| self.destination(d, ty)).collect();
        access.semantics = semantics(ordering, scope);
        access.semantics.volatile &= !self.polled;
        access.fence = matches!(ordering, Ordering::Acquire | Ordering::AcquireRelease);
        access.strong = !matches!(ordering, Ordering::Weak);
        access.passes_on = self.passes_on;
        access.is_guess = self.is_guess && !access.strong;
        let function = transfer(&access, false, self.host());
        self.emit(Action::Transfer(function, Box::new(access)));
    }

    pub(super) fn store(
        &mut self,
        (space, ordering, scope): (Space, Ordering, Option<Scope>),
        ty: Type,
        address: Address,
        a: &[Operand],
    ) {
        let mut access = self.access(space, address, ty);
        access.values = a.iter().map(|&a| self.operand(a, ty)).collect();
        access.semantics = semantics(ordering, scope);
        access.fence = matches!(ordering, Ordering::Release | Ordering::AcquireRelease);
        access.strong = !matches!(ordering, Ordering::Weak);
        access.passes_on = self.passes_on;
        let function = transfer(&access, true, self.host());
        self.emit(Action::Transfer(function, Box::new(access)));
    }

    pub(super) fn atomic(
        &mut self,
        (op, ty): (Atomic, Type),
        (space, ordering, scope): (Space, Ordering, Scope),
        d: Option<Destination>,
        address: Address,
        (b, c): (Operand, Option<Operand>),
    ) {
        let mut access = self.access(space, address, ty);
        access.values = vec![self.operand(b, ty)];
        access.signed = false;
        access.semantics = Semantics { strong: true, ..semantics(Ordering::Relaxed, Some(scope)) };
        let acquires = matches!(ordering, Ordering::Acquire | Ordering::AcquireRelease);
        let releases = matches!(ordering, Ordering::Release | Ordering::AcquireRelease);
        let compare_with = match (op, c) {
            // `b` is the value that memory is compared with, `c` the new value.
            (Atomic::CompareAndSwap, Some(c)) => Some(self.operand(c, ty)),
            _ => None,
        };
        let d = d.flatten().map(|register| self.register(register));
        let atomic = AtomicAccess { op, ty, access, compare_with, d, acquires, releases };
        self.emit(Action::Atomic(Box::new(atomic)));
    }
}

fn state_space_of(space: Space) -> StateSpace {
    match space {
        Space::Global | Space::Const => StateSpace::Global,
        Space::Shared => StateSpace::Shared,
        Space::Local => StateSpace::Local,
        Space::Param => StateSpace::Param,
        Space::Generic | Space::Register => StateSpace::Generic,
    }
}
