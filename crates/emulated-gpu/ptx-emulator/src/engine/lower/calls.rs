//! Lowering of calls: arguments are copied to the function's parameters, results to where the
//! caller expects them. An indirect call becomes a choice between all possible functions.

use super::Lowering;
use super::recursion::ValuePlace;
use super::slots::{function_address, sink, width};
use crate::diagnostic::Problem;
use crate::engine::access::choose::transfer;
use crate::engine::access::instruction::{Access, PatternReuse};
use crate::engine::code::{Action, Argument, Builtin, BuiltinArguments};
use crate::engine::defined::Uses;
use crate::engine::image::VariablePlace;
use crate::engine::race::Semantics;
use crate::engine::registers::{Slot, Width, lanes};
use crate::engine::state_space::StateSpace;
use crate::program::{CallArgument, FunctionId, LocalId, Operand, Parameter, Symbol, Type};

impl Lowering<'_> {
    fn builtin(&self, id: FunctionId) -> Option<Builtin> {
        let function = self.function(id);
        function.body.is_none().then(|| Builtin::from_name(&function.name)).flatten()
    }

    pub(super) fn call(
        &mut self,
        callee: Operand,
        prototype: Option<u32>,
        results: &[CallArgument],
        arguments: &[CallArgument],
    ) {
        match callee {
            Operand::Function(id) => match self.builtin(id) {
                Some(builtin) => self.call_builtin(builtin, id, results, arguments),
                None => self.call_direct(id, results, arguments, None),
            },
            callee => self.call_through(callee, prototype, results, arguments),
        }
    }

    /// `kept` is a slot, in addition to the registers, that is needed after the call.
    fn call_direct(
        &mut self,
        id: FunctionId,
        results: &[CallArgument],
        arguments: &[CallArgument],
        kept: Option<Slot>,
    ) {
        let function = self.function(id);
        if function.body.is_none() {
            let problem = Problem::new(
                self.place.span,
                format!(
                    "`{}` is only declared, and is not a function of this device",
                    function.name
                ),
            );
            self.problems.push(problem.help(
                "define it in this file; the built-in functions are vprintf, __assertfail, malloc, \
                 free and cudaGraphSetConditional",
            ));
            return;
        }
        if self.may_recurse(id) {
            self.call_recursive(id, results, arguments, kept);
            return;
        }
        for (&argument, &parameter) in arguments.iter().zip(&function.parameters) {
            let from = self.argument_place(id, argument, parameter);
            let to = self.parameter_place(id, parameter);
            self.note_written(to);
            self.copy_value(from, to);
        }
        self.emit(Action::Call(id.0));
        for (&result, &parameter) in results.iter().zip(&function.results) {
            let from = self.parameter_place(id, parameter);
            let to = self.argument_place(id, result, parameter);
            self.copy_value(from, to);
        }
    }

    /// The place of a parameter or result of a function.
    pub(super) fn parameter_place(&self, id: FunctionId, parameter: Parameter) -> ValuePlace {
        let plan = self.layouts.get(&id);
        match parameter {
            Parameter::Register(register) => {
                let slot = plan.and_then(|plan| plan.registers.get(register.0 as usize)).copied();
                let ty = self.parameter_type(id, parameter);
                ValuePlace::Register(slot.unwrap_or(sink(width(ty))), ty)
            }
            Parameter::Variable(local) => {
                let home = plan.and_then(|plan| plan.homes.get(local.0 as usize)).copied();
                ValuePlace::Memory(
                    local_offset(home),
                    self.function(id).variables[local.0 as usize].size,
                )
            }
        }
    }

    /// Marks the target of an implicit copy as initialised, if initcheck is enabled.
    pub(super) fn note_written(&mut self, to: ValuePlace) {
        if let (ValuePlace::Register(slot, _), true) = (to, self.loading.checks.initialisation) {
            self.emit(Action::Uses(Box::new(Uses::writes(slot))));
        }
    }

    /// Copies an argument or result from one place to another.
    pub(super) fn copy_value(&mut self, from: ValuePlace, to: ValuePlace) {
        match (from, to) {
            (ValuePlace::Memory(from, size), ValuePlace::Memory(to, capacity)) => {
                self.emit(Action::CopyLocal { to, from, bytes: size.min(capacity) });
            }
            (ValuePlace::Register(from, _), ValuePlace::Register(to, _)) => self.copy(to, from),
            (ValuePlace::Register(slot, ty), ValuePlace::Memory(at, _)) => {
                self.local_access(slot, ty, at, true);
            }
            (ValuePlace::Memory(at, _), ValuePlace::Register(slot, ty)) => {
                self.local_access(slot, ty, at, false);
            }
        }
    }

    fn place_of(&mut self, local: LocalId) -> (u64, u64) {
        let home = self.home(Symbol::Local(local));
        let size = self.function(self.current).variables[local.0 as usize].size;
        (local_offset(Some(home)), size)
    }

    pub(super) fn parameter_type(&self, id: FunctionId, parameter: Parameter) -> Type {
        let function = self.function(id);
        match parameter {
            Parameter::Register(register) => function.registers[register.0 as usize].ty,
            Parameter::Variable(local) => function.variables[local.0 as usize].element,
        }
    }

    /// Stores a register to local memory, or loads it.
    fn local_access(&mut self, slot: Slot, ty: Type, at: u64, store: bool) {
        let access = Access {
            state_space: StateSpace::Local,
            address: self.constant(at, Width::Wide),
            offset: 0,
            bytes: ty.bytes(),
            values: vec![slot],
            signed: false,
            site: 0,
            fence: false,
            strong: false,
            semantics: Semantics::default(),
            is_guess: false,
            passes_on: false,
            constant: false,
            pattern: PatternReuse::Unshared,
        };
        let function = transfer(&access, store, self.host());
        self.emit(Action::Transfer(function, Box::new(access)));
    }

    fn call_builtin(
        &mut self,
        builtin: Builtin,
        id: FunctionId,
        results: &[CallArgument],
        arguments: &[CallArgument],
    ) {
        let function = self.function(id);
        let mut convert =
            |argument: &CallArgument, parameters: &[Parameter], index: usize| match *argument {
                CallArgument::Variable(local) => {
                    let (offset, bytes) = self.place_of(local);
                    Argument::Memory { offset, bytes: bytes.clamp(1, 8).next_power_of_two() }
                }
                CallArgument::Operand(operand) => {
                    let ty = parameters
                        .get(index)
                        .map_or(Type::B64, |&parameter| self.parameter_type(id, parameter));
                    Argument::Register(self.operand(operand, ty))
                }
            };
        let list = arguments
            .iter()
            .enumerate()
            .map(|(index, argument)| convert(argument, &function.parameters, index))
            .collect();
        let result = results.first().map(|argument| convert(argument, &function.results, 0));
        let arguments = BuiltinArguments { arguments: list, result };
        self.emit(Action::Builtin(builtin, Box::new(arguments)));
    }

    fn call_through(
        &mut self,
        callee: Operand,
        prototype: Option<u32>,
        results: &[CallArgument],
        arguments: &[CallArgument],
    ) {
        let callee = self.operand(callee, Type::B64);
        let outer = self.guard;
        // The lanes whose function has not been found yet.
        let left = self.new_slot(Width::Predicate);
        let always = self.constant(1, Width::Predicate);
        let never = self.constant(0, Width::Predicate);
        let unguarded = |lowering: &mut Self, action| lowering.emit_always(action);
        self.guard = (crate::engine::registers::ALWAYS, 0);
        self.copy(left, never);
        self.guard = outer;
        self.copy(left, always);
        let candidates = prototype.map_or_else(Vec::new, |prototype| self.candidates(prototype));
        for id in candidates {
            let chosen = self.new_slot(Width::Predicate);
            let address = function_address(id);
            unguarded(
                self,
                Action::General(Box::new(move |registers, mask| {
                    for lane in lanes(mask) {
                        let own = registers.get(left, lane) == 1
                            && registers.get(callee, lane) == address;
                        registers.set(chosen, lane, u64::from(own));
                        if own {
                            registers.set(left, lane, 0);
                        }
                    }
                })),
            );
            self.guard = (chosen.index, 0);
            self.call_direct(id, results, arguments, Some(left));
        }
        self.guard = (left.index, 0);
        self.emit(Action::NoFunction(callee));
        self.guard = outer;
    }
}

pub(super) fn local_offset(home: Option<VariablePlace>) -> u64 {
    match home {
        Some(VariablePlace::Local(at)) => at,
        _ => 0,
    }
}
