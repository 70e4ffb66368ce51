//! Copies: `cp.async`, and copies of call parameters. `cp.async` copies at once, so that every
//! group is complete when a thread waits for it; racecheck finds threads that don't wait.

#![allow(unsafe_code, reason = "bytes are copied between checked ranges of device memory")]

use super::access::instruction::Access;
use super::core::{Core, Outcome, Problem};
use super::race::{AsyncCopy, Effect, Semantics};
use super::registers::{LANES, Slot, lanes};
use super::space::LaneAccess;
use super::state_space::StateSpace;
use crate::fault::FaultKind;
use crate::memory::words;

/// The operands of `cp.async`.
pub(super) struct CopyAsync {
    pub(super) to: Access,
    pub(super) from: Access,
    pub(super) copy: u32,
    pub(super) source: Option<Slot>,
    pub(super) ignore: Option<(Slot, bool)>,
}

impl CopyAsync {
    /// The bytes that a lane reads; the rest of its target becomes 0.
    pub(super) fn bytes_to_read(&self, core: &Core<'_>, lane: usize) -> u64 {
        let bytes = u64::from(self.copy);
        let ignored = self
            .ignore
            .is_some_and(|(slot, negated)| (core.registers.get(slot, lane) != 0) != negated);
        match self.source {
            _ if ignored => 0,
            Some(slot) => (core.registers.get(slot, lane) & 0xffff_ffff).min(bytes),
            None => bytes,
        }
    }
}

/// Copies for the active lanes; bytes beyond the source's size become 0.
pub(super) fn run(core: &mut Core<'_>, copy: &CopyAsync, mask: u32) -> Outcome {
    let bytes = u64::from(copy.copy);
    for lane in lanes(mask) {
        let (to, from) = (copy.to.lane_address(core, lane), copy.from.lane_address(core, lane));
        let wanted = copy.bytes_to_read(core, lane);
        if from & (bytes - 1) != 0 {
            let message = format!(
                "cp.async of {bytes} bytes from {from:#x}, which is not a multiple of {bytes}"
            );
            return Err(Problem::new(FaultKind::Misaligned, message).lane(lane).address(from));
        }
        let mut buffer = [0u8; 16];
        if wanted > 0 {
            let at = copy.from.lane_access(from, wanted, lane);
            let host = core.resolve_bytes(at, false)?;
            core.check_written(at, Effect::Read)?;
            let read = (wanted, Semantics::default());
            core.race(&copy.from, &[from; LANES], 1 << lane, read, Effect::Read)?;
            // SAFETY: `wanted` bytes at `host` have been checked; the buffer holds 16.
            unsafe { words::read(host, &mut buffer[..wanted.min(16) as usize]) };
        }
        let at = copy.to.lane_access(to, bytes, lane);
        let host = core.resolve(at, true)?;
        core.check_written(at, Effect::Write)?;
        let semantics = Semantics { asynchronous: true, ..Semantics::default() };
        core.race(&copy.to, &[to; LANES], 1 << lane, (bytes, semantics), Effect::Write)?;
        if let Some(threads) = &mut core.threads {
            let thread = core.warp * LANES as u32 + lane as u32;
            threads.record_copy(AsyncCopy { thread, address: to, bytes }, false);
        }
        // SAFETY: `bytes` (4, 8 or 16) bytes at `host` have been checked.
        unsafe { words::write(host, &buffer[..bytes.min(16) as usize]) };
    }
    Ok(())
}

/// Copies within one thread's local memory.
pub(super) fn local(core: &mut Core<'_>, to: u64, from: u64, bytes: u64, lane: usize) -> Outcome {
    let at = |address| LaneAccess::uncached(StateSpace::Local, address, bytes, lane);
    let source = core.resolve_bytes(at(from), false)?;
    let target = core.resolve_bytes(at(to), true)?;
    core.copy_written(to, from, bytes, lane);
    // SAFETY: `bytes` bytes at both have been checked.
    unsafe { words::copy(target, source, bytes as usize) };
    Ok(())
}
