//! Frames: the registers that a recursive function saves on the thread's stack during a call. Also
//! the report of an invalid indirect call.

use super::copy_async;
use super::core::{Core, Outcome, Problem};
use super::registers::{Slot, Width, lanes};
use super::state_space::FUNCTION_WINDOW;
use crate::fault::FaultKind;

/// The alignment of frames.
const ALIGN: u64 = 16;

/// The layout of a function's frame.
#[derive(Debug)]
pub(super) struct Frame {
    /// The stack pointer.
    pointer: Slot,
    /// The saved registers, and their offsets in the frame.
    registers: Vec<(Slot, u64)>,
    /// The saved variables: address, offset in the frame, and size.
    memory: Vec<(u64, u64, u64)>,
    bytes: u64,
}

impl Frame {
    pub(super) fn new(pointer: Slot) -> Self {
        // Frames are never empty, so that infinite recursion runs out of stack.
        Self { pointer, registers: Vec::new(), memory: Vec::new(), bytes: ALIGN }
    }

    pub(super) fn keep(&mut self, slot: Slot) {
        self.registers.push((slot, self.bytes));
        self.bytes += width(slot);
    }

    pub(super) fn keep_memory(&mut self, at: u64, bytes: u64) {
        self.memory.push((at, self.bytes, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn size(&self) -> u64 {
        self.bytes.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX)
    }

    /// Saves the frame of the active lanes.
    pub(super) fn save(&self, core: &mut Core<'_>, mask: u32) -> Outcome {
        let limit = core.thread_local_bytes();
        for lane in lanes(mask) {
            let base = core.registers.get(self.pointer, lane);
            let end = base.checked_add(self.size()).filter(|&end| end <= limit);
            let Some(end) = end else {
                let message = format!(
                    "a call needs {} bytes of the thread's stack, but only {} are left",
                    self.size(),
                    limit.saturating_sub(base)
                );
                return Err(Problem::new(FaultKind::IllegalAddress, message)
                    .lane(lane)
                    .note("the recursion is too deep: does it end?"));
            };
            for &(slot, offset) in &self.registers {
                self.write(core, slot, base + offset, lane);
            }
            for &(at, offset, bytes) in &self.memory {
                copy_async::local(core, base + offset, at, bytes, lane)?;
            }
            core.registers.set(self.pointer, lane, end);
        }
        Ok(())
    }

    /// Restores the frame of the active lanes.
    pub(super) fn restore(&self, core: &mut Core<'_>, mask: u32) -> Outcome {
        for lane in lanes(mask) {
            let end = core.registers.get(self.pointer, lane);
            let base = end.wrapping_sub(self.size());
            for &(slot, offset) in &self.registers {
                self.read(core, slot, base + offset, lane);
            }
            for &(at, offset, bytes) in &self.memory {
                copy_async::local(core, at, base + offset, bytes, lane)?;
            }
            core.registers.set(self.pointer, lane, base);
        }
        Ok(())
    }

    fn write(&self, core: &mut Core<'_>, slot: Slot, at: u64, lane: usize) {
        let known = core.registers.defined(slot) >> lane & 1;
        let range = range(core, at, width(slot), lane);
        let value = core.registers.get_whole(slot, lane);
        if let Some(to) = core.local.as_mut_slice().get_mut(range.clone()) {
            to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
        }
        if let Some(shadow) = core.local.shadow() {
            shadow.set(range.start, range.len(), known != 0);
        }
    }

    fn read(&self, core: &mut Core<'_>, slot: Slot, at: u64, lane: usize) {
        let range = range(core, at, width(slot), lane);
        let mut value = [0; 16];
        if let Some(from) = core.local.as_slice().get(range.clone()) {
            value[..from.len()].copy_from_slice(from);
        }
        core.registers.set_whole(slot, lane, u128::from_le_bytes(value));
        if let Some(shadow) = core.local.shadow() {
            let known = shadow.are_initialised(range.start, range.len());
            core.registers.define(slot, 1 << lane, u32::from(known) << lane);
        }
    }
}

/// The bytes of a register in a frame.
fn width(slot: Slot) -> u64 {
    match slot.width {
        Width::Predicate | Width::Narrow(_) => 4,
        Width::Wide => 8,
        Width::Quad => 16,
    }
}

/// The range of a lane's local memory in the warp's.
fn range(core: &Core<'_>, at: u64, bytes: u64, lane: usize) -> std::ops::Range<usize> {
    let start = core.thread_local_bytes() * lane as u64 + at;
    start as usize..(start + bytes) as usize
}

/// The problem of an indirect call whose register doesn't hold a function that matches the
/// prototype.
pub(super) fn invalid_callee(core: &Core<'_>, callee: Slot, mask: u32) -> Box<Problem> {
    let lane = mask.trailing_zeros() as usize;
    let address = core.registers.get(callee, lane);
    let number = address.wrapping_sub(FUNCTION_WINDOW);
    let function = usize::try_from(number / 16).ok().filter(|_| number.is_multiple_of(16));
    let function = function.and_then(|number| core.image.module.functions.get(number));
    let (message, note) = match function {
        Some(function) if function.body.is_some() => (
            format!(
                "call of `{}`, whose parameters or results differ from the prototype",
                function.name
            ),
            "the prototype of a call has to match the called functions",
        ),
        Some(function) => (
            format!("call of `{}`, which is only declared", function.name),
            "define it in this file: nothing is linked",
        ),
        None => (
            format!("call through a register that holds {address:#x}, which is not a function"),
            "take the address of a function with mov, or in an initial value",
        ),
    };
    Problem::new(FaultKind::InvalidInstruction, message).lane(lane).address(address).note(note)
}
