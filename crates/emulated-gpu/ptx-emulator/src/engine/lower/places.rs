//! Placement of a function's registers and variables.

use super::locals::aligned;
use super::{Lowering, slots};
use crate::engine::image::{FunctionLayout, ParameterLayout, VariablePlace};
use crate::engine::registers::Width;
use crate::program::{Function, FunctionId, LocalId, Op, Parameter, Space, Symbol};

impl Lowering<'_> {
    /// The shared variables of known size, for reports.
    pub(super) fn shared_variables(&self) -> Vec<(String, u64, u64)> {
        let of_functions = self
            .layouts
            .iter()
            .flat_map(|(&id, plan)| plan.homes.iter().zip(&self.function(id).variables));
        let of_module = self
            .module_shared
            .iter()
            .map(|(id, home)| (home, &self.module.variables[id.0 as usize]));
        let mut list: Vec<(String, u64, u64)> = of_functions
            .chain(of_module)
            .filter_map(|(home, variable)| match home {
                VariablePlace::Shared(at) => Some((variable.name.clone(), *at, variable.size)),
                _ => None,
            })
            .collect();
        list.sort_by_key(|&(_, at, _)| at);
        list
    }

    pub(super) fn parameter_layout(&self, function: &Function) -> Vec<ParameterLayout> {
        let mut end = 0u64;
        let mut layout = Vec::new();
        for parameter in &function.parameters {
            let Parameter::Variable(local) = parameter else { continue };
            let variable = &function.variables[local.0 as usize];
            let offset = aligned(end, variable.align);
            end = offset.saturating_add(variable.size);
            layout.push(ParameterLayout {
                // Too large values are rejected later, by the limit on parameters.
                offset: u32::try_from(offset).unwrap_or(u32::MAX),
                size: u32::try_from(variable.size).unwrap_or(u32::MAX),
                align: variable.align as u32,
                element: variable.element,
            });
        }
        layout
    }

    /// Assigns slots to a function's registers, and places to its variables. If the function is
    /// recursive, its variables are on the stack: each call needs separate variables, whose
    /// addresses may be passed on.
    pub(super) fn plan(&mut self, id: FunctionId, cycle: u32, again: bool) {
        let function = self.function(id);
        let registers = function
            .registers
            .iter()
            .map(|register| {
                if !register.shared {
                    return self.new_slot(slots::width(register.ty));
                }
                if let Some(&slot) = self.shared_registers.get(&register.name) {
                    return slot;
                }
                let slot = self.new_slot(slots::width(register.ty));
                self.shared_registers.insert(register.name.clone(), slot);
                slot
            })
            .collect();
        let mut homes = vec![VariablePlace::Nowhere; function.variables.len()];
        if function.entry {
            let layout = self.parameter_layout(function);
            let locals = function.parameters.iter().filter_map(|parameter| match parameter {
                Parameter::Variable(local) => Some(*local),
                Parameter::Register(_) => None,
            });
            for (LocalId(local), place) in locals.zip(layout) {
                homes[local as usize] = VariablePlace::Parameter(u64::from(place.offset));
            }
        }
        let mut stacked = 0_u64;
        for (index, variable) in function.variables.iter().enumerate() {
            if !matches!(homes[index], VariablePlace::Nowhere) {
                continue;
            }
            let align = variable.align;
            homes[index] = match variable.space {
                Space::Local if again => {
                    let at = aligned(stacked, variable.align);
                    stacked = at.saturating_add(variable.size);
                    VariablePlace::Stack(at)
                }
                Space::Local => VariablePlace::Local(self.locals.place(&mut self.local, variable)),
                Space::Param => {
                    let at = aligned(self.local, align);
                    self.local = at.saturating_add(variable.size);
                    VariablePlace::Local(at)
                }
                Space::Shared if variable.size == 0 => VariablePlace::DynamicShared,
                Space::Shared => {
                    let at = aligned(self.shared, align);
                    self.shared = at.saturating_add(variable.size);
                    VariablePlace::Shared(at)
                }
                _ => {
                    let message = format!("`{}` belongs outside of the function", variable.name);
                    self.problem(variable.span, message);
                    VariablePlace::Nowhere
                }
            };
        }
        let stacked = (stacked > 0).then(|| (self.new_slot(Width::Wide), stacked));
        let uses_stack = stacked.is_some()
            || function.body.iter().flatten().any(|instruction| {
                matches!(
                    instruction.op,
                    Op::StackAllocate { .. } | Op::StackSave { .. } | Op::StackRestore { .. }
                )
            });
        let saved_stack = uses_stack.then(|| {
            self.need_stack();
            self.new_slot(Width::Wide)
        });
        let starts = Vec::new();
        self.layouts.insert(
            id,
            FunctionLayout {
                registers,
                homes,
                starts,
                saved_stack,
                stack_frame: stacked,
                entry: None,
                cycle,
            },
        );
    }

    pub(super) fn need_stack(&mut self) {
        if self.stack_pointer.is_none() {
            self.stack_pointer = Some(self.new_slot(Width::Wide));
        }
    }

    /// The place of a variable.
    pub(super) fn home(&mut self, symbol: Symbol) -> VariablePlace {
        match symbol {
            Symbol::Local(local) => self
                .layouts
                .get(&self.current)
                .and_then(|plan| plan.homes.get(local.0 as usize))
                .copied()
                .unwrap_or(VariablePlace::Nowhere),
            Symbol::Module(id) => {
                if let Some(&home) = self.module_shared.get(&id) {
                    return home;
                }
                let variable = &self.module.variables[id.0 as usize];
                let home = if variable.space == Space::Local {
                    VariablePlace::Local(self.locals.place(&mut self.local, variable))
                } else if variable.size == 0 {
                    VariablePlace::DynamicShared
                } else {
                    let at = aligned(self.shared, variable.align);
                    self.shared = at.saturating_add(variable.size);
                    VariablePlace::Shared(at)
                };
                self.module_shared.insert(id, home);
                home
            }
        }
    }
}
