//! The part of the interpreter's loop that nearly all of the time goes into: instructions that compute, or
//! access memory, and branches that all lanes take or none. A function of its own, so that what it needs
//! stays in the host's registers.

#![allow(
    unsafe_code,
    reason = "operations compiled for AVX2 and FMA are called, where the host has been asked"
)]

use super::code::{Action, Step};
use super::core::Core;
use super::turn::Stopped;

/// An atomic or volatile access costs as much of a turn as so many iterations of a loop: it may be a spin.
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
    let Progress { mut pc, mut fuel, mut executed } = *progress;
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
                Action::Transfer(transfer, access) => {
                    core.step = pc;
                    if access.strong {
                        fuel -= SPIN;
                    }
                    // SAFETY: as above.
                    if let Err(problem) = unsafe { transfer(core, access, active) } {
                        return Err(Stopped { problem, pc, mask: active });
                    }
                }
                Action::Branch(target) if active == mask => {
                    executed += u64::from(step.weight);
                    let backward = *target <= pc;
                    pc = *target;
                    if backward && !tick(&mut fuel, executed, deadline) {
                        break true;
                    }
                    continue;
                }
                _ => break false,
            }
        }
        executed += u64::from(step.weight);
        pc += 1;
    };
    *progress = Progress { pc, fuel, executed };
    Ok(over)
}
