//! Which functions a kernel may come to, which of them may come to call themselves, and how such a
//! call is made: the caller's registers and parameters go to the thread's stack, and come back. Its variables
//! are there all the time, since others may have their addresses.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Lowering;
use super::slots::width;
use crate::engine::code::Action;
use crate::engine::image::Home;
use crate::engine::recursion::Frame;
use crate::engine::registers::{ALWAYS, Slot, Width};
use crate::program::{
    Addressed, CallArgument, FunctionId, Module, Op, Operand, Parameter, Symbol, Type,
};

/// What a kernel may come to.
pub(super) struct Reachable {
    /// The kernel first; each once.
    pub(super) functions: Vec<FunctionId>,
    /// Of each, the number of the circle of calls that it is part of.
    pub(super) circles: Vec<u32>,
    /// Of each, whether it may come to call itself.
    pub(super) recursive: Vec<bool>,
}

/// The functions whose address is taken by an instruction or an initial value.
pub(super) fn taken(module: &Module) -> HashSet<FunctionId> {
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

/// Where an argument or a result is on its way.
#[derive(Clone, Copy)]
pub(super) enum Spot {
    Register(Slot, Type),
    /// In the thread's own memory: offset and bytes.
    Memory(u64, u64),
}

impl Lowering<'_> {
    /// The kernel and every function that it may come to. Functions that may come to call each other
    /// are in one circle: the strongly connected components of the calls.
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
        // In the order in which a walk along the calls leaves them.
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
        let mut circles = vec![u32::MAX; functions.len()];
        let mut recursive = vec![false; functions.len()];
        for (circle, &root) in left.iter().rev().enumerate() {
            let mut open = vec![root];
            let mut members = Vec::new();
            while let Some(function) = open.pop() {
                if circles[function] == u32::MAX {
                    circles[function] = circle as u32;
                    members.push(function);
                    open.extend(&callers[function]);
                }
            }
            for &function in &members {
                recursive[function] = members.len() > 1 || calls[function].contains(&function);
            }
        }
        Reachable { functions, circles, recursive }
    }

    /// The functions with a body that a function may call, each once.
    fn callees(&self, id: FunctionId) -> Vec<FunctionId> {
        let body = self.function(id).body.as_deref().unwrap_or(&[]);
        let mut found = Vec::new();
        let mut known = HashSet::new();
        for instruction in body {
            let Op::Call { callee, prototype, .. } = &instruction.op else { continue };
            let candidates = match (callee, prototype) {
                (Operand::Function(callee), _) => vec![*callee],
                (_, Some(prototype)) => self.candidates(*prototype),
                _ => Vec::new(),
            };
            let bodies = candidates.into_iter().filter(|id| self.function(*id).body.is_some());
            found.extend(bodies.filter(|id| known.insert(*id)));
        }
        found
    }

    /// Functions that a call through a register may reach: their address is taken somewhere, and
    /// they take and give what the prototype says.
    pub(super) fn candidates(&self, prototype: u32) -> Vec<FunctionId> {
        let meant = self.module.prototypes.get(prototype as usize);
        let meant = meant.into_iter().flatten().copied();
        meant.filter(|id| self.taken.contains(id) && self.function(*id).body.is_some()).collect()
    }

    /// Whether a call of a function from the one that is being lowered may lead back to it.
    pub(super) fn leads_back(&self, id: FunctionId) -> bool {
        let circle = |id| self.plans.get(&id).map(|plan| plan.circle);
        circle(id).is_some() && circle(id) == circle(self.current)
    }

    /// A call that may lead back to its caller. `kept` are slots of its own, beside the registers.
    pub(super) fn call_again(
        &mut self,
        id: FunctionId,
        results: &[CallArgument],
        arguments: &[CallArgument],
        kept: Option<Slot>,
    ) {
        let function = self.function(id);
        // The predicate may have changed by the return: those who don't call go around everything.
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
        // Through places of their own: the function's may be the caller's.
        let way = |lowering: &mut Self, parameter| lowering.on_the_way(id, parameter);
        let inward: Vec<(CallArgument, Parameter, Spot)> = arguments
            .iter()
            .zip(&function.parameters)
            .map(|(&argument, &parameter)| (argument, parameter, way(self, parameter)))
            .collect();
        for &(argument, parameter, spot) in &inward {
            let from = self.spot_of(id, argument, parameter);
            self.carry_over(from, spot);
        }
        for &(_, parameter, spot) in &inward {
            let to = self.parameter_spot(id, parameter);
            self.note_written(to);
            self.carry_over(spot, to);
        }
        self.emit(Action::Call(id.0));
        let outward: Vec<(CallArgument, Parameter, Spot)> = results
            .iter()
            .zip(&function.results)
            .map(|(&result, &parameter)| (result, parameter, way(self, parameter)))
            .collect();
        for &(_, parameter, spot) in &outward {
            let from = self.parameter_spot(id, parameter);
            self.carry_over(from, spot);
        }
        self.emit(Action::RestoreFrame(frame));
        for &(result, parameter, spot) in &outward {
            let to = self.spot_of(id, result, parameter);
            self.note_written(to);
            self.carry_over(spot, to);
        }
        if let Some(skip) = skip {
            self.skips[skip].1 = self.code.len() as u32;
        }
        self.guard = guard;
    }

    /// A place for a value of a parameter between caller and function.
    fn on_the_way(&mut self, id: FunctionId, parameter: Parameter) -> Spot {
        let ty = self.parameter_type(id, parameter);
        match parameter {
            Parameter::Register(_) => Spot::Register(self.new_slot(width(ty)), ty),
            Parameter::Variable(local) => {
                let size = self.function(id).variables[local.0 as usize].size;
                let at = super::locals::aligned(self.local, 16);
                self.local = at.saturating_add(size);
                Spot::Memory(at, size)
            }
        }
    }

    /// Everything that a call back would change.
    fn frame(&mut self, kept: Option<Slot>) -> Frame {
        let function = self.function(self.current);
        let mut frame = Frame::new(self.stack_pointer.unwrap_or(super::slots::sink(Width::Wide)));
        let Some(plan) = self.plans.get(&self.current) else { return frame };
        let registers = plan.registers.iter().zip(&function.registers);
        let own = registers.filter(|(_, register)| !register.shared).map(|(slot, _)| *slot);
        let stacked = plan.stacked.map(|(start, _)| start);
        for slot in own.chain(plan.saved_stack).chain(stacked).chain(kept) {
            frame.keep(slot);
        }
        for (home, variable) in plan.homes.iter().zip(&function.variables) {
            if let Home::Local(at) = home {
                frame.keep_memory(*at, variable.size);
            }
        }
        frame
    }

    /// Where the caller has an argument, or wants a result.
    pub(super) fn spot_of(
        &mut self,
        id: FunctionId,
        argument: CallArgument,
        parameter: Parameter,
    ) -> Spot {
        match argument {
            CallArgument::Variable(local) => {
                let home = self.home(Symbol::Local(local));
                let size = self.function(self.current).variables[local.0 as usize].size;
                Spot::Memory(super::calls::local_offset(Some(home)), size)
            }
            CallArgument::Operand(operand) => {
                let ty = self.parameter_type(id, parameter);
                Spot::Register(self.operand(operand, ty), ty)
            }
        }
    }
}
