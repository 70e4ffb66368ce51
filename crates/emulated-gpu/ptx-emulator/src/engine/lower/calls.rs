//! Calls: arguments are copied to where the function expects them, results to where the caller
//! does. A call through a register is a choice between the functions that it may mean.

use super::slots::{bits, function_address};
use super::{Home, Lowering};
use crate::diagnostic::Problem;
use crate::engine::access::{Access, transfer};
use crate::engine::code::{Action, Argument, Builtin, BuiltinArguments};
use crate::engine::defined::Uses;
use crate::engine::race::Manner;
use crate::engine::registers::{Slot, Width, lanes};
use crate::engine::space::Room;
use crate::program::{CallArgument, FunctionId, LocalId, Operand, Parameter, Symbol, Type};

impl Lowering<'_> {
    pub(super) fn call(
        &mut self,
        callee: Operand,
        results: &[CallArgument],
        arguments: &[CallArgument],
    ) {
        match callee {
            Operand::Function(id) => match self.builtin(id) {
                Some(builtin) => self.call_builtin(builtin, id, results, arguments),
                None => self.call_direct(id, results, arguments),
            },
            callee => self.call_through(callee, results, arguments),
        }
    }

    fn call_direct(
        &mut self,
        id: FunctionId,
        results: &[CallArgument],
        arguments: &[CallArgument],
    ) {
        let function = self.function(id);
        if function.body.is_none() {
            let problem = Problem::new(
                self.place.span,
                format!(
                    "`{}` is only declared, and this device has no such function",
                    function.name
                ),
            );
            self.problems.push(problem.help(
                "define it in this file; built in are vprintf, __assertfail, malloc and free",
            ));
            return;
        }
        for (&argument, &parameter) in arguments.iter().zip(&function.parameters) {
            self.pass(id, argument, parameter, true);
        }
        self.emit(Action::Call(id.0));
        for (&result, &parameter) in results.iter().zip(&function.results) {
            self.pass(id, result, parameter, false);
        }
    }

    /// Copies a value between the caller's argument and the function's parameter.
    fn pass(&mut self, id: FunctionId, argument: CallArgument, parameter: Parameter, inward: bool) {
        let caller = match argument {
            CallArgument::Variable(local) => Err(self.place_of(local)),
            CallArgument::Operand(operand) => {
                let ty = self.parameter_type(id, parameter);
                Ok((self.operand(operand, ty), ty))
            }
        };
        let callee = match parameter {
            Parameter::Register(register) => {
                let plan = self.plans.get(&id);
                plan.and_then(|plan| plan.registers.get(register.0 as usize)).copied().ok_or((0, 0))
            }
            Parameter::Variable(local) => {
                let home = self.plans.get(&id).and_then(|p| p.homes.get(local.0 as usize)).copied();
                let size = self.function(id).variables[local.0 as usize].size;
                Err((local_offset(home), size))
            }
        };
        match (caller, callee, inward) {
            (Err((at, size)), Err((parameter, room)), true) => {
                self.emit(Action::CopyLocal { to: parameter, from: at, bytes: size.min(room) });
            }
            (Err((at, size)), Err((parameter, room)), false) => {
                self.emit(Action::CopyLocal { to: at, from: parameter, bytes: size.min(room) });
            }
            (Ok((slot, _)), Ok(register), true) => {
                if self.loading.checks.initialisation {
                    self.emit(Action::Uses(Box::new(Uses::writes(register))));
                }
                self.copy(register, slot);
            }
            (Ok((slot, _)), Ok(register), false) => self.copy(slot, register),
            (Ok((slot, ty)), Err((at, _)), inward) => self.local_access(slot, ty, at, inward),
            (Err((at, size)), Ok(register), inward) => {
                let ty = match size {
                    1 => Type::B8,
                    2 => Type::B16,
                    4 => Type::B32,
                    _ => Type::B64,
                };
                self.local_access(register, ty, at, !inward);
            }
        }
    }

    fn place_of(&mut self, local: LocalId) -> (u64, u64) {
        let home = self.home(Symbol::Local(local));
        let size = self.function(self.current).variables[local.0 as usize].size;
        (local_offset(Some(home)), size)
    }

    fn parameter_type(&self, id: FunctionId, parameter: Parameter) -> Type {
        let function = self.function(id);
        match parameter {
            Parameter::Register(register) => function.registers[register.0 as usize].ty,
            Parameter::Variable(local) => function.variables[local.0 as usize].element,
        }
    }

    /// Stores a register to, or loads it from, the thread's own memory.
    fn local_access(&mut self, slot: Slot, ty: Type, at: u64, store: bool) {
        let access = Access {
            room: Room::Local,
            address: self.constant(at, Width::Wide),
            offset: 0,
            bytes: u64::from(bits(ty)).div_ceil(8),
            values: vec![slot],
            signed: false,
            site: 0,
            fence: false,
            strong: false,
            manner: Manner::default(),
            constant: false,
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
        results: &[CallArgument],
        arguments: &[CallArgument],
    ) {
        let callee = self.operand(callee, Type::B64);
        let outer = self.guard;
        // The lanes that have not found their function yet.
        let left = self.new_slot(Width::Predicate);
        let always = self.constant(1, Width::Predicate);
        let never = self.constant(0, Width::Predicate);
        let unguarded = |lowering: &mut Self, action| lowering.emit_always(action);
        self.guard = (crate::engine::registers::ALWAYS, 0);
        self.copy(left, never);
        self.guard = outer;
        self.copy(left, always);
        for id in self.candidates(results.len(), arguments.len()) {
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
            self.call_direct(id, results, arguments);
        }
        self.guard = (left.index, 0);
        self.emit(Action::NoFunction);
        self.guard = outer;
    }
}

fn local_offset(home: Option<Home>) -> u64 {
    match home {
        Some(Home::Local(at)) => at,
        _ => 0,
    }
}
