//! The functions that a kernel may call, and recursion. For a call that may be recursive, the
//! caller's registers and parameters are saved on the thread's stack and restored afterwards.
//! Variables of a recursive function are always on the stack, because their addresses may have been
//! passed on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Lowering;
use super::slots::width;
use crate::engine::code::Action;
use crate::engine::image::VariablePlace;
use crate::engine::recursion::Frame;
use crate::engine::registers::{ALWAYS, Slot, Width};
use crate::program::{
    Addressed, CallArgument, FunctionId, Module, Op, Operand, Parameter, Symbol, Type,
};

/// The functions that a kernel may call.
pub(super) struct Reachable {
    /// Each function once, starting with the kernel.
    pub(super) functions: Vec<FunctionId>,
    /// The recursion cycle of each function.
    pub(super) cycles: Vec<u32>,
    /// Whether each function may be recursive.
    pub(super) recursive: Vec<bool>,
}

/// The functions whose address is taken by an instruction or an initial value.
pub(super) fn address_taken(module: &Module) -> HashSet<FunctionId> {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_deref());
    let moved = bodies.flatten().filter_map(|instruction| match instruction.op {
        Op::Mov { a: Operand::Function(id), .. } => Some(id),
        _ => None,
    });
    let initial = module.variables.iter().filter_map(|variable| variable.initial.as_ref());
    let held = initial.flat_map(|initial| &initial.addresses).filter_map(|part| match part.of {
        Addressed::Function(id) => Some(id),
        Addressed::Variable(_) => None,
    });
    moved.chain(held).collect()
}

/// The place of an argument or result.
#[derive(Clone, Copy)]
pub(super) enum ValuePlace {
    Register(Slot, Type),
    /// The value is in local memory, at this offset and with this size in bytes.
    Memory(u64, u64),
}

impl Lowering<'_> {
    /// The kernel and all functions that it may call, directly or indirectly. Functions that may
    /// call each other are in the same recursion cycle (a strongly connected component of the call
    /// graph).
    pub(super) fn reachable(&self, kernel: FunctionId) -> Reachable {
        let mut functions = vec![kernel];
        let mut numbers = HashMap::from([(kernel, 0usize)]);
        let mut calls: Vec<Vec<usize>> = Vec::new();
        while calls.len() < functions.len() {
            let callees = self.callees(functions[calls.len()]);
            let list = callees.into_iter().map(|callee| {
                *numbers.entry(callee).or_insert_with(|| {
                    functions.push(callee);
                    functions.len() - 1
                })
            });
            let list: Vec<usize> = list.collect();
            calls.push(list);
        }
        // Post-order of a depth-first search in the call graph.
        let mut left = Vec::new();
        let mut path = vec![(0, 0)];
        let mut seen = vec![false; functions.len()];
        seen[0] = true;
        while let Some((function, next)) = path.last_mut() {
            match calls[*function].get(*next) {
                None => {
                    left.push(*function);
                    path.pop();
                }
                Some(&callee) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[callee], true) {
                        path.push((callee, 0));
                    }
                }
            }
        }
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
        for (caller, callees) in calls.iter().enumerate() {
            callees.iter().for_each(|&callee| callers[callee].push(caller));
        }
        let mut cycles = vec![u32::MAX; functions.len()];
        let mut recursive = vec![false; functions.len()];
        for (cycle, &root) in left.iter().rev().enumerate() {
            let mut open = vec![root];
            let mut members = Vec::new();
            while let Some(function) = open.pop() {
                if cycles[function] == u32::MAX {
                    cycles[function] = cycle as u32;
                    members.push(function);
                    open.extend(&callers[function]);
                }
            }
            for &function in &members {
                recursive[function] = members.len() > 1 || calls[function].contains(&function);
            }
        }
        Reachable { functions, cycles, recursive }
    }

    /// The functions with a body that a function may call, each once.
    fn callees(&self, id: FunctionId) -> Vec<FunctionId> {
        let body = self.function(id).body.as_deref().unwrap_or(&[]);
        let mut callees = Vec::new();
        let mut known = HashSet::new();
        for instruction in body {
            let Op::Call { callee, prototype, .. } = &instruction.op else { continue };
            let candidates = match (callee, prototype) {
                (Operand::Function(callee), _) => vec![*callee],
                (_, Some(prototype)) => self.candidates(*prototype),
                _ => Vec::new(),
            };
            let bodies = candidates.into_iter().filter(|id| self.function(*id).body.is_some());
            callees.extend(bodies.filter(|id| known.insert(*id)));
        }
        callees
    }

    /// The functions that an indirect call may reach: their address is taken somewhere, and their
    /// signature matches the prototype.
    pub(super) fn candidates(&self, prototype: u32) -> Vec<FunctionId> {
        let meant = self.module.prototypes.get(prototype as usize);
        let meant = meant.into_iter().flatten().copied();
        meant
            .filter(|id| self.address_taken.contains(id) && self.function(*id).body.is_some())
            .collect()
    }

    /// Whether a function may call the current one, so that calling it may be recursive.
    pub(super) fn may_recurse(&self, id: FunctionId) -> bool {
        let cycle = |id| self.layouts.get(&id).map(|plan| plan.cycle);
        cycle(id).is_some() && cycle(id) == cycle(self.current)
    }

    /// A call that may be recursive. `kept` is a slot, in addition to the registers, that is saved
    /// too.
    pub(super) fn call_recursive(
        &mut self,
        id: FunctionId,
        results: &[CallArgument],
        arguments: &[CallArgument],
        kept: Option<Slot>,
    ) {
        let function = self.function(id);
        // The guard's predicate may have changed when the call returns. So the inactive lanes
        // branch around the whole sequence, instead of guarding each step.
        let guard = std::mem::replace(&mut self.guard, (ALWAYS, 0));
        if guard != (ALWAYS, 0) {
            self.guard = (guard.0, !guard.1);
            self.skips.push((self.code.len(), 0));
            self.emit(Action::Nothing);
            self.guard = (ALWAYS, 0);
        }
        let skip = (guard != (ALWAYS, 0)).then(|| self.skips.len() - 1);
        let frame = Arc::new(self.frame(kept));
        self.emit(Action::SaveFrame(Arc::clone(&frame)));
        // The arguments go through temporary places, because the called function may be the caller
        // itself, with the same parameters.
        let way = |lowering: &mut Self, parameter| lowering.temporary_place(id, parameter);
        let inward: Vec<(CallArgument, Parameter, ValuePlace)> = arguments
            .iter()
            .zip(&function.parameters)
            .map(|(&argument, &parameter)| (argument, parameter, way(self, parameter)))
            .collect();
        for &(argument, parameter, temporary) in &inward {
            let from = self.argument_place(id, argument, parameter);
            self.copy_value(from, temporary);
        }
        for &(_, parameter, temporary) in &inward {
            let to = self.parameter_place(id, parameter);
            self.note_written(to);
            self.copy_value(temporary, to);
        }
        self.emit(Action::Call(id.0));
        let outward: Vec<(CallArgument, Parameter, ValuePlace)> = results
            .iter()
            .zip(&function.results)
            .map(|(&result, &parameter)| (result, parameter, way(self, parameter)))
            .collect();
        for &(_, parameter, temporary) in &outward {
            let from = self.parameter_place(id, parameter);
            self.copy_value(from, temporary);
        }
        self.emit(Action::RestoreFrame(frame));
        for &(result, parameter, temporary) in &outward {
            let to = self.argument_place(id, result, parameter);
            self.note_written(to);
            self.copy_value(temporary, to);
        }
        if let Some(skip) = skip {
            self.skips[skip].1 = self.code.len() as u32;
        }
        self.guard = guard;
    }

    /// A temporary place for an argument or result.
    fn temporary_place(&mut self, id: FunctionId, parameter: Parameter) -> ValuePlace {
        let ty = self.parameter_type(id, parameter);
        match parameter {
            Parameter::Register(_) => ValuePlace::Register(self.new_slot(width(ty)), ty),
            Parameter::Variable(local) => {
                let size = self.function(id).variables[local.0 as usize].size;
                let at = super::locals::aligned(self.local, 16);
                self.local = at.saturating_add(size);
                ValuePlace::Memory(at, size)
            }
        }
    }

    /// All slots and memory that a recursive call may change.
    fn frame(&mut self, kept: Option<Slot>) -> Frame {
        let function = self.function(self.current);
        let mut frame = Frame::new(self.stack_pointer.unwrap_or(super::slots::sink(Width::Wide)));
        let Some(plan) = self.layouts.get(&self.current) else { return frame };
        let registers = plan.registers.iter().zip(&function.registers);
        let own = registers.filter(|(_, register)| !register.shared).map(|(slot, _)| *slot);
        let stacked = plan.stack_frame.map(|(start, _)| start);
        for slot in own.chain(plan.saved_stack).chain(stacked).chain(kept) {
            frame.keep(slot);
        }
        for (home, variable) in plan.homes.iter().zip(&function.variables) {
            if let VariablePlace::Local(at) = home {
                frame.keep_memory(*at, variable.size);
            }
        }
        frame
    }

    /// The caller's place of an argument or result.
    pub(super) fn argument_place(
        &mut self,
        id: FunctionId,
        argument: CallArgument,
        parameter: Parameter,
    ) -> ValuePlace {
        match argument {
            CallArgument::Variable(local) => {
                let home = self.home(Symbol::Local(local));
                let size = self.function(self.current).variables[local.0 as usize].size;
                ValuePlace::Memory(super::calls::local_offset(Some(home)), size)
            }
            CallArgument::Operand(operand) => {
                let ty = self.parameter_type(id, parameter);
                ValuePlace::Register(self.operand(operand, ty), ty)
            }
        }
    }
}
