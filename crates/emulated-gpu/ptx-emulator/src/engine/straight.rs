//! The part of the interpreter's loop that nearly all of the time goes into: instructions that compute, or
//! access memory, what initcheck asks before them, and branches that all lanes take or none. A function of
//! its own, so that what it needs stays in the host's registers.

#![allow(
    unsafe_code,
    reason = "operations compiled for AVX2 and FMA are called, where the host has been asked"
)]

use super::code::{Action, Step};
use super::core::Core;
use super::turn::Stopped;

/// An atomic or volatile access costs as much of a turn as this many iterations of a loop: it may be a spin.
pub(super) const SPIN: i64 = 1 << 10;

/// How far a split has come.
pub(super) struct Progress {
    /// The step that is next.
    pub(super) pc: u32,
    /// Iterations that are left of the turn.
    pub(super) fuel: i64,
    /// Instructions that have been executed.
    pub(super) executed: u64,
}

/// Whether there is fuel for one more iteration, and none too many has been executed.
#[inline(always)]
pub(super) fn tick(fuel: &mut i64, executed: u64, deadline: u64) -> bool {
    *fuel -= 1;
    *fuel > 0 && executed <= deadline
}

/// Goes on as far as that is: to `stop`, or to a step of another kind. True where the turn is over.
#[inline(never)]
pub(super) fn straight(
    core: &mut Core<'_>,
    code: &[Step],
    progress: &mut Progress,
    (mask, stop): (u32, u32),
    deadline: u64,
) -> Result<bool, Stopped> {
    let Progress { mut pc, mut fuel, executed } = *progress;
    // What is executed, less what stands before the step that is next: it stays as it is until a branch.
    let ahead = |executed: u64, pc: u32| executed.wrapping_sub(u64::from(code[pc as usize].before));
    let mut apart = ahead(executed, pc);
    let over = loop {
        if pc >= stop {
            break false;
        }
        let step = &code[pc as usize];
        let active = mask & (core.registers.predicates[step.guard as usize] ^ step.flip);
        if active != 0 {
            match &step.action {
                Action::Compute(compute, operands) => {
                    // SAFETY: the lowering chose a version for this host's features.
                    unsafe { compute(&mut core.registers, operands, active) };
                }
                // One that is strong costs more of a turn, and is left to the loop outside.
                Action::Transfer(transfer, access) if !access.strong => {
                    core.step = pc;
                    // SAFETY: as above.
                    if let Err(problem) = unsafe { transfer(core, access, active) } {
                        return Err(Stopped { problem, pc, mask: active });
                    }
                }
                // It stands before nearly every instruction where initcheck is on.
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
    *progress = Progress { pc, fuel, executed };
    Ok(over)
}
