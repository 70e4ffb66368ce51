//! Asynchronous copies, and the barrier objects that track them. A bulk copy, like `cp.async`, is
//! performed at once, and so is its completion on the barrier object; racecheck finds threads that
//! don't wait.

#![allow(unsafe_code, reason = "bytes are copied between checked ranges of device memory")]

use super::access::instruction::Access;
use super::copy_async::{self, CopyAsync};
use super::core::{Core, Outcome, Problem};
use super::objects::{Arrival, Objects, Phase, Status, Wrong};
use super::race::{Copied, Does, Semantics};
use super::registers::{LANES, Slot, lanes};
use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use super::turn::Rules;
use crate::fault::FaultKind;
use crate::memory::words::{self, Word};
use crate::record::AccessKind;

/// A step of an asynchronous copy or a barrier object.
pub(super) enum AsynchronousStep {
    /// `cp.async`
    Copy(CopyAsync),
    Commit {
        bulk: bool,
    },
    /// With the number of groups that may still be in flight; `None` waits for all, including open
    /// groups.
    Wait {
        pending: Option<u32>,
        bulk: bool,
    },
    Bulk(Bulk),
    Object {
        access: Access,
        action: Act,
    },
}

/// The operands of `cp.async.bulk`.
pub(super) struct Bulk {
    pub(super) to: Access,
    pub(super) from: Access,
    pub(super) bytes: Slot,
    /// The barrier object whose transaction count tracks the copy.
    pub(super) object: Option<Access>,
}

/// The operation on a barrier object.
pub(super) enum Act {
    Initialise {
        count: Slot,
    },
    Invalidate,
    Arrive {
        drop: bool,
        incomplete: bool,
        releases: bool,
        count: Option<Slot>,
        expected: Option<Slot>,
        d: Slot,
    },
    /// Transactions are expected, or have completed.
    Transact {
        count: Slot,
        come: bool,
    },
    Test {
        acquires: bool,
        parity: bool,
        phase: Slot,
        d: Slot,
    },
    CopiesArrive {
        counted: bool,
    },
}

impl AsynchronousStep {
    /// The accesses to memory, with their bytes per lane (those of lane `first`) and kind.
    pub(super) fn accesses(
        &self,
        core: &Core<'_>,
        first: usize,
    ) -> Vec<(&Access, u64, AccessKind)> {
        match self {
            Self::Copy(CopyAsync { to, from, copy, .. }) => {
                let bytes = u64::from(*copy);
                vec![(from, bytes, AccessKind::Load), (to, bytes, AccessKind::Store)]
            }
            Self::Bulk(Bulk { to, from, bytes, object }) => {
                let bytes = core.registers.get(*bytes, first) & 0xffff_ffff;
                let copy = [(from, bytes, AccessKind::Load), (to, bytes, AccessKind::Store)];
                let object = object.iter().map(|object| (object, 8, AccessKind::Atomic));
                copy.into_iter().filter(|_| bytes > 0).chain(object).collect()
            }
            Self::Object { access, action } => {
                let tests = matches!(action, Act::Test { .. });
                vec![(access, 8, if tests { AccessKind::Load } else { AccessKind::Atomic })]
            }
            Self::Commit { .. } | Self::Wait { .. } => Vec::new(),
        }
    }

    /// The memory that one lane accesses: source, target, and barrier object. Empty ranges are
    /// omitted.
    pub(super) fn moved(&self, core: &Core<'_>, lane: usize) -> [Option<Moved>; 3] {
        let part = |access: &Access, bytes: u64| {
            (bytes > 0).then(|| (access.room, access.of_lane(core, lane), bytes))
        };
        match self {
            Self::Copy(copy) => {
                let written = part(&copy.to, u64::from(copy.copy));
                [part(&copy.from, copy.wanted(core, lane)), written, None]
            }
            Self::Bulk(Bulk { to, from, bytes, object }) => {
                let bytes = core.registers.get(*bytes, lane) & 0xffff_ffff;
                [part(from, bytes), part(to, bytes), object.as_ref().and_then(|at| part(at, 8))]
            }
            Self::Object { access, .. } => [None, None, part(access, 8)],
            Self::Commit { .. } | Self::Wait { .. } => [None; 3],
        }
    }
}

/// A range of memory: state space, address and size in bytes.
pub(super) type Moved = (StateSpace, u64, u64);

/// A barrier object: its address in shared memory, its content, and its host address.
#[derive(Clone, Copy)]
struct Named {
    at: u64,
    stored: u64,
    host: *mut u8,
}

/// Runs a step for the active lanes. If a lane has tested a phase that is not complete, returns the
/// address of the barrier object, so that other threads get a turn.
pub(super) fn run(
    core: &mut Core<'_>,
    objects: &mut Objects,
    step: &AsynchronousStep,
    mask: u32,
    rules: Rules,
) -> Result<Option<u64>, Box<Problem>> {
    let warp = core.warp;
    match step {
        AsynchronousStep::Copy(copy) => copy_async::run(core, copy, mask)?,
        AsynchronousStep::Commit { bulk } => {
            if let Some(threads) = &mut core.threads {
                threads.commit(warp, mask, *bulk);
            }
        }
        AsynchronousStep::Wait { pending, bulk } => {
            if let Some(threads) = &mut core.threads {
                threads.wait(warp, mask, *pending, *bulk);
            }
        }
        AsynchronousStep::Bulk(bulk) => {
            for lane in lanes(mask) {
                bulk.run(core, objects, lane)?;
            }
        }
        AsynchronousStep::Object { access, action } => {
            let mut waits = None;
            for lane in lanes(mask) {
                waits = act(core, objects, (access, action), lane, rules)?.or(waits);
            }
            return Ok(waits);
        }
    }
    Ok(None)
}

/// Finds the barrier object that a lane names. `whole` for initialisation and invalidation, which
/// are ordinary writes.
fn named(
    core: &mut Core<'_>,
    access: &Access,
    lane: usize,
    whole: bool,
) -> Result<Named, Box<Problem>> {
    let address = access.of_lane(core, lane);
    let at = match access.room {
        StateSpace::Shared => address,
        _ if in_window(address, SHARED_WINDOW) => address - SHARED_WINDOW,
        _ => {
            let message =
                format!("{address:#x} is not in shared memory, where barrier objects are");
            let problem = Problem::new(FaultKind::IllegalAddress, message);
            return Err(problem.lane(lane).address(address));
        }
    };
    let does = if whole { Does::Write } else { Does::Update };
    let bytes = access.at(address, 8, lane);
    let host = core.resolve(bytes, true)?;
    core.check_written(bytes, does)?;
    let semantics = Semantics { strong: !whole, ..Semantics::default() };
    core.race(access, &[address; LANES], 1 << lane, (8, semantics), does)?;
    // SAFETY: `resolve` has checked eight bytes, and their alignment.
    let stored = unsafe { u64::load(host) };
    Ok(Named { at, stored, host })
}

fn wrong(core: &Core<'_>, wrong: Wrong, at: u64, lane: usize) -> Box<Problem> {
    let problem = Problem::new(FaultKind::InvalidInstruction, wrong).lane(lane).address(at);
    match core.near(StateSpace::Shared, at) {
        Some(near) => problem.note(near),
        None => problem,
    }
}

/// Performs the action of one lane. Returns the address of an object that the lane has to wait for.
fn act(
    core: &mut Core<'_>,
    objects: &mut Objects,
    (access, action): (&Access, &Act),
    lane: usize,
    rules: Rules,
) -> Result<Option<u64>, Box<Problem>> {
    let whole = matches!(action, Act::Initialise { .. } | Act::Invalidate);
    let object = named(core, access, lane, whole)?;
    let Named { at, stored, host } = object;
    let thread = core.warp * LANES as u32 + lane as u32;
    let narrow = |slot: Slot, core: &Core<'_>| core.registers.get(slot, lane) & 0xffff_ffff;
    let new = match action {
        Act::Initialise { count } => {
            let strict = rules.check_synchronisation;
            objects.initialise(at, stored, narrow(*count, core), strict)
        }
        Act::Invalidate => objects.invalidate(at, stored),
        Act::Arrive { drop, incomplete, releases, count, expected, d } => {
            let arrival = Arrival {
                count: count.map_or(1, |count| narrow(count, core)),
                expected: expected.map_or(0, |count| narrow(count, core) as i64),
                drop: *drop,
                incomplete: *incomplete,
            };
            let known = core
                .threads
                .as_mut()
                .and_then(|threads| threads.publishes(thread, false, *releases));
            core.registers.set(*d, lane, stored);
            objects.arrive((at, stored), arrival, known)
        }
        Act::Transact { count, come } => {
            objects.transact((at, stored), narrow(*count, core), *come)
        }
        Act::Test { acquires, parity, phase, d } => {
            let phase = match parity {
                true => Phase::Parity(narrow(*phase, core)),
                false => Phase::State(core.registers.get(*phase, lane)),
            };
            let over = objects.test((at, stored), phase, core.threads.as_deref_mut());
            let over = over.map_err(|problem| wrong(core, problem, at, lane))?;
            core.registers.set(*d, lane, u64::from(over.is_some()));
            if let (Some(Some(known)), Some(threads)) = (&over, &mut core.threads) {
                threads.found(thread, known, false, *acquires);
            }
            return Ok(if over.is_none() { Some(at) } else { None });
        }
        Act::CopiesArrive { counted } => {
            let copies =
                core.threads.as_ref().map_or_else(Vec::new, |threads| threads.under_way(thread));
            let carried = objects.carry((at, stored), copies);
            // Without `.noinc` this both adds an expected arrival and performs it.
            let once = Arrival { count: 1, expected: 0, drop: false, incomplete: false };
            carried.and_then(|()| match counted {
                true => objects.arrive((at, stored), once, None),
                false => Ok(stored),
            })
        }
    };
    let new = new.map_err(|problem| wrong(core, problem, at, lane))?;
    // SAFETY: `named` has checked eight bytes, and their alignment.
    unsafe { new.store(host) };
    Ok(None)
}

/// `mbarrier.pending_count`: the pending count in the state that an arrival returned.
pub(super) fn pending_count(state: u64) -> u64 {
    Status::of(state).map_or(0, |status| status.pending as u64)
}

impl Bulk {
    fn run(&self, core: &mut Core<'_>, objects: &mut Objects, lane: usize) -> Outcome {
        let bytes = core.registers.get(self.bytes, lane) & 0xffff_ffff;
        let (to, from) = (self.to.of_lane(core, lane), self.from.of_lane(core, lane));
        for (what, number) in [("size", bytes), ("target", to), ("source", from)] {
            if !number.is_multiple_of(16) {
                let message =
                    format!("cp.async.bulk: the {what} {number:#x} is not a multiple of 16");
                return Err(Problem::new(FaultKind::Misaligned, message)
                    .lane(lane)
                    .address(number));
            }
        }
        let thread = core.warp * LANES as u32 + lane as u32;
        if bytes > 0 {
            // A copy from shared memory may still read it after the thread has continued.
            let away = self.object.is_none();
            let source = part(core, &self.from, (from, bytes, lane), away, Does::Read)?;
            let target = part(core, &self.to, (to, bytes, lane), !away, Does::Write)?;
            // SAFETY: `bytes` bytes at both have been checked.
            unsafe { words::copy(target, source, bytes as usize) };
        }
        let Some(access) = &self.object else {
            if let Some(threads) = &mut core.threads {
                threads.copies(Copied { thread, address: from, bytes }, true);
            }
            return Ok(());
        };
        let Named { at, stored, host } = named(core, access, lane, false)?;
        let copies = core.threads.is_some().then_some(Copied { thread, address: to, bytes });
        let carried = objects.carry((at, stored), copies);
        let new = carried.and_then(|()| objects.transact((at, stored), bytes, true));
        let new = new.map_err(|problem| wrong(core, problem, at, lane))?;
        // SAFETY: `named` has checked eight bytes, and their alignment.
        unsafe { new.store(host) };
        Ok(())
    }
}

/// Checks the source or target of a bulk copy, and returns its host address.
fn part(
    core: &mut Core<'_>,
    access: &Access,
    (address, bytes, lane): (u64, u64, usize),
    asynchronous: bool,
    does: Does,
) -> Result<*mut u8, Box<Problem>> {
    let at = access.at(address, bytes, lane);
    let host = core.resolve_bytes(at, does == Does::Write)?;
    core.check_written(at, does)?;
    let semantics = Semantics { asynchronous, ..Semantics::default() };
    core.race(access, &[address; LANES], 1 << lane, (bytes, semantics), does)?;
    Ok(host)
}
