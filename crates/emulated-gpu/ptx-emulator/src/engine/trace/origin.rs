//! The source instruction of each step.

use crate::engine::code::Executable;
use crate::engine::core::Core;
use crate::engine::image::FunctionLayout;
use crate::engine::registers::Slot;
use crate::program::{Function, FunctionId, Instruction, Register};

/// The instruction that a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Origin {
    pub(in crate::engine) function: FunctionId,
    pub(in crate::engine) instruction: u32,
}

impl Origin {
    pub(in crate::engine) fn instruction<'c>(
        self,
        core: &Core<'c>,
    ) -> Option<(&'c Function, &'c Instruction)> {
        let function = core.image.module.functions.get(self.function.0 as usize)?;
        let body = function.body.as_deref()?;
        Some((function, body.get(self.instruction as usize)?))
    }
}

/// The instruction that each step belongs to, if any, and whether it is that instruction's first
/// step.
pub(in crate::engine) fn origins(executable: &Executable) -> Vec<Option<(Origin, bool)>> {
    let mut origins = vec![None; executable.code.len()];
    for (&function, plan) in &executable.layouts {
        let starts = plan.starts.windows(2).enumerate();
        for (instruction, range) in starts {
            let origin = Origin { function, instruction: instruction as u32 };
            for (offset, step) in (range[0]..range[1]).enumerate() {
                if let Some(entry) = origins.get_mut(step as usize) {
                    *entry = Some((origin, offset == 0));
                }
            }
        }
    }
    origins
}

/// The slot of a function's register.
pub(in crate::engine) fn slot_of(
    core: &Core<'_>,
    function: FunctionId,
    register: Register,
) -> Option<Slot> {
    let plan: &FunctionLayout = core.image.layouts.get(&function)?;
    plan.registers.get(register.0 as usize).copied()
}
