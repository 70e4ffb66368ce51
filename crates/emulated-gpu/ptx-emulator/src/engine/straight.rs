//! The hot part of the interpreter's loop: computations, memory accesses, initcheck's checks before
//! them, and uniform branches. It is a separate function so that its variables stay in host
//! registers.

#![allow(unsafe_code, reason = "AVX2 and FMA code is called once the host was checked for it")]

use super::code::{Action, Step};
use super::core::Core;
use super::turn::Stopped;

/// The cost of an atomic or volatile access, in loop iterations of a turn: it may be polling.
pub(super) const POLL_COST: i64 = 1 << 10;

/// The progress of a split.
pub(super) struct Progress {
    /// The next step.
    pub(super) pc: u32,
    /// The remaining loop iterations of the turn.
    pub(super) remaining_iterations: i64,
    /// The number of executed instructions.
    pub(super) executed: u64,
}

/// Counts a loop iteration. Returns false if the turn is over or the limit has been exceeded.
#[inline(always)]
pub(super) fn tick(fuel: &mut i64, executed: u64, deadline: u64) -> bool {
    *fuel -= 1;
    *fuel > 0 && executed <= deadline
}

/// Runs until `stop`, or a step of another kind. Returns true if the turn is over.
#[inline(never)]
pub(super) fn run_straight(
    core: &mut Core<'_>,
    code: &[Step],
    progress: &mut Progress,
    (mask, stop): (u32, u32),
    deadline: u64,
) -> Result<bool, Stopped> {
    let Progress { mut pc, remaining_iterations: mut fuel, executed } = *progress;
    // The executed instructions minus the weights of all steps before the next one. This difference
    // only changes at branches.
    let ahead = |executed: u64, pc: u32| executed.wrapping_sub(u64::from(code[pc as usize].before));
    let mut apart = ahead(executed, pc);
    let over = loop {
        if pc >= stop {
            break false;
        }
        let step = &code[pc as usize];
        let active = mask & (core.registers.predicates[step.guard as usize] ^ step.negation_mask);
        if active != 0 {
            match &step.action {
                Action::Compute(compute, operands) => {
                    // SAFETY: the lowering chose a version for this host's features.
                    unsafe { compute(&mut core.registers, operands, active) };
                }
                // Strong accesses cost more of a turn, and are handled by the outer loop.
                Action::Transfer(transfer, access) if !access.strong => {
                    core.step = pc;
                    // SAFETY: as above.
                    if let Err(problem) = unsafe { transfer(core, access, active) } {
                        return Err(Stopped { problem, pc, mask: active });
                    }
                }
                // With initcheck, this step precedes nearly every instruction.
                Action::Uses(uses) => {
                    if let Err(problem) = uses.run(&mut core.registers, active) {
                        return Err(Stopped { problem, pc, mask: active });
                    }
                }
                Action::Branch(target) if active == mask => {
                    let executed = apart.wrapping_add(u64::from(step.before + step.weight));
                    let backward = *target <= pc;
                    pc = *target;
                    apart = ahead(executed, pc);
                    if backward && !tick(&mut fuel, executed, deadline) {
                        break true;
                    }
                    continue;
                }
                _ => break false,
            }
        }
        pc += 1;
    };
    let executed = apart.wrapping_add(u64::from(code[pc as usize].before));
    *progress = Progress { pc, remaining_iterations: fuel, executed };
    Ok(over)
}
