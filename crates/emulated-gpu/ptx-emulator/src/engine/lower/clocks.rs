//! Registers that depend on a clock. They change in a loop that polls a barrier object and reads
//! the time, although that loop makes no progress.

use std::collections::HashSet;

use crate::engine::image::FunctionLayout;
use crate::engine::registers::Slot;
use crate::program::{Asynchronous, Function, ObjectAction, Op, Operand, Register};

/// Whether a function tests the phase of a barrier object.
pub(super) fn tests_objects(function: &Function) -> bool {
    let is_test = |op: &Op| match op {
        Op::Asynchronous(asynchronous) => matches!(
            **asynchronous,
            Asynchronous::Barrier { action: ObjectAction::Test { .. }, .. }
        ),
        _ => false,
    };
    function.body.iter().flatten().any(|instruction| is_test(&instruction.op))
}

/// Register slots of a function, excluding those whose value depends on a clock.
pub(super) fn clock_independent(function: &Function, layout: &FunctionLayout) -> Vec<Slot> {
    let mut timed: HashSet<Register> = HashSet::new();
    let depends = |operand: Operand, timed: &HashSet<Register>| match operand {
        Operand::Register(register) | Operand::Not(register) => timed.contains(&register),
        Operand::Special(special) => special.is_clock(),
        _ => false,
    };
    // Repeat until nothing is added: in a loop, a register may be read before it is written.
    loop {
        let before = timed.len();
        for instruction in function.body.iter().flatten() {
            let guarded = instruction.guard.is_some_and(|guard| timed.contains(&guard.register));
            let reads = instruction.op.reads();
            if guarded || reads.iter().any(|&(operand, _)| depends(operand, &timed)) {
                timed.extend(instruction.op.writes().iter().map(|&(register, _)| register));
            }
        }
        if timed.len() == before {
            break;
        }
    }
    let slots = layout.registers.iter().enumerate();
    let slots = slots.filter(|(index, _)| !timed.contains(&Register(*index as u32)));
    slots.map(|(_, &slot)| slot).collect()
}
