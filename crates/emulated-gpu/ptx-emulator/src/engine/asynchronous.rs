//! Asynchronous copies, and the barrier objects that track them. A bulk copy, like `cp.async`, is
//! performed at once, and completes at once on the barrier object; racecheck finds threads that
//! don't wait.

#![allow(unsafe_code, reason = "bytes are copied between checked ranges of device memory")]

use super::access::instruction::Access;
use super::copy_async::{self, CopyAsync};
use super::core::{Core, Outcome, Problem};
use super::objects::{Arrival, ObjectError, ObjectState, Objects, Phase};
use super::race::{AsyncCopy, Effect, Semantics};
use super::registers::{LANES, Slot, lanes};
use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use super::turn::TurnRules;
use crate::fault::FaultKind;
use crate::memory::words::{self, Word};
use crate::record::AccessKind;

/// A step of an asynchronous copy or a barrier object.
pub(super) enum AsynchronousStep {
    /// `cp.async`
    Copy(CopyAsync),
    /// Closes the open group of copies.
    Commit { bulk: bool },
    /// Waits until at most `pending` groups are in flight; with `None`, waits for all groups,
    /// including open groups.
    Wait { pending: Option<u32>, bulk: bool },
    /// `cp.async.bulk`
    Bulk(Bulk),
    /// An operation on a barrier object.
    Object { access: Access, action: ObjectOperation },
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
pub(super) enum ObjectOperation {
    /// `mbarrier.init`
    Initialise { count: Slot },
    /// `mbarrier.inval`
    Invalidate,
    /// `mbarrier.arrive` and its variants.
    Arrive {
        drop: bool,
        incomplete: bool,
        releases: bool,
        count: Option<Slot>,
        expected: Option<Slot>,
        d: Slot,
    },
    /// Transactions are expected, or have completed.
    Transact { count: Slot, completed: bool },
    /// `mbarrier.test_wait` and `try_wait`
    Test { acquires: bool, parity: bool, phase: Slot, d: Slot },
    /// `cp.async.mbarrier.arrive`
    CopiesArrive { counted: bool },
}

impl AsynchronousStep {
    /// The accesses to memory, with the kind of access and the bytes per lane (the bytes of lane
    /// `first`).
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
                let tests = matches!(action, ObjectOperation::Test { .. });
                vec![(access, 8, if tests { AccessKind::Load } else { AccessKind::Atomic })]
            }
            Self::Commit { .. } | Self::Wait { .. } => Vec::new(),
        }
    }

    /// The memory that one lane accesses: source, target, and barrier object. Empty ranges are
    /// omitted.
    pub(super) fn memory_ranges(&self, core: &Core<'_>, lane: usize) -> [Option<MemoryRange>; 3] {
        let part = |access: &Access, bytes: u64| {
            (bytes > 0).then(|| (access.state_space, access.lane_address(core, lane), bytes))
        };
        match self {
            Self::Copy(copy) => {
                let written = part(&copy.to, u64::from(copy.copy));
                [part(&copy.from, copy.bytes_to_read(core, lane)), written, None]
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
pub(super) type MemoryRange = (StateSpace, u64, u64);

/// A barrier object: its address in shared memory, its content, and its host address.
#[derive(Clone, Copy)]
struct NamedObject {
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
    rules: TurnRules,
) -> Outcome<Option<u64>> {
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
                threads.wait_for_groups(warp, mask, *pending, *bulk);
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
                waits = perform(core, objects, (access, action), lane, rules)?.or(waits);
            }
            return Ok(waits);
        }
    }
    Ok(None)
}

/// Finds the barrier object that a lane names. `whole` is set for initialisation and invalidation:
/// they replace the whole object, and are checked as ordinary writes.
fn find_object(
    core: &mut Core<'_>,
    access: &Access,
    lane: usize,
    whole: bool,
) -> Outcome<NamedObject> {
    let address = access.lane_address(core, lane);
    let at = match access.state_space {
        StateSpace::Shared => address,
        _ if in_window(address, SHARED_WINDOW) => address - SHARED_WINDOW,
        _ => {
            let message =
                format!("{address:#x} is not in shared memory, where barrier objects are");
            let problem = Problem::new(FaultKind::IllegalAddress, message);
            return Err(problem.lane(lane).address(address));
        }
    };
    let effect = if whole { Effect::Write } else { Effect::Update };
    let bytes = access.lane_access(address, 8, lane);
    let host = core.resolve(bytes, true)?;
    core.check_written(bytes, effect)?;
    let semantics = Semantics { strong: !whole, ..Semantics::default() };
    core.race(access, &[address; LANES], 1 << lane, (8, semantics), effect)?;
    // SAFETY: `resolve` has checked eight bytes, and their alignment.
    let stored = unsafe { u64::load(host) };
    Ok(NamedObject { at, stored, host })
}

fn object_problem(core: &Core<'_>, error: ObjectError, at: u64, lane: usize) -> Box<Problem> {
    let problem = Problem::new(FaultKind::InvalidInstruction, error).lane(lane).address(at);
    match core.describe_address(StateSpace::Shared, at) {
        Some(near) => problem.note(near),
        None => problem,
    }
}

/// Performs the action of one lane. Returns the address of an object that the lane has to wait for.
fn perform(
    core: &mut Core<'_>,
    objects: &mut Objects,
    (access, action): (&Access, &ObjectOperation),
    lane: usize,
    rules: TurnRules,
) -> Outcome<Option<u64>> {
    let whole = matches!(action, ObjectOperation::Initialise { .. } | ObjectOperation::Invalidate);
    let object = find_object(core, access, lane, whole)?;
    let NamedObject { at, stored, host } = object;
    let thread = core.warp * LANES as u32 + lane as u32;
    let narrow = |slot: Slot, core: &Core<'_>| core.registers.get(slot, lane) & 0xffff_ffff;
    let new = match action {
        ObjectOperation::Initialise { count } => {
            let strict = rules.check_synchronisation;
            objects.initialise(at, stored, narrow(*count, core), strict)
        }
        ObjectOperation::Invalidate => objects.invalidate(at, stored),
        ObjectOperation::Arrive { drop, incomplete, releases, count, expected, d } => {
            let arrival = Arrival {
                count: count.map_or(1, |count| narrow(count, core)),
                expected: expected.map_or(0, |count| narrow(count, core) as i64),
                drop: *drop,
                incomplete: *incomplete,
            };
            let known = core
                .threads
                .as_mut()
                .and_then(|threads| threads.clock_to_publish(thread, false, *releases));
            core.registers.set(*d, lane, stored);
            objects.arrive((at, stored), arrival, known)
        }
        ObjectOperation::Transact { count, completed } => {
            objects.change_transactions((at, stored), narrow(*count, core), *completed)
        }
        ObjectOperation::Test { acquires, parity, phase, d } => {
            let phase = match parity {
                true => Phase::Parity(narrow(*phase, core)),
                false => Phase::State(core.registers.get(*phase, lane)),
            };
            let over = objects.test((at, stored), phase, core.threads.as_deref_mut());
            let over = over.map_err(|problem| object_problem(core, problem, at, lane))?;
            core.registers.set(*d, lane, u64::from(over.is_some()));
            if let (Some(Some(known)), Some(threads)) = (&over, &mut core.threads) {
                threads.learn_published_clock(thread, known, false, *acquires);
            }
            return Ok(if over.is_none() { Some(at) } else { None });
        }
        ObjectOperation::CopiesArrive { counted } => {
            let copies =
                core.threads.as_ref().map_or_else(Vec::new, |threads| threads.in_flight(thread));
            let carried = objects.add_copies((at, stored), copies);
            // Without `.noinc` this both adds an expected arrival and performs it.
            let once = Arrival { count: 1, expected: 0, drop: false, incomplete: false };
            carried.and_then(|()| match counted {
                true => objects.arrive((at, stored), once, None),
                false => Ok(stored),
            })
        }
    };
    let new = new.map_err(|problem| object_problem(core, problem, at, lane))?;
    // SAFETY: `find_object` has checked eight bytes, and their alignment.
    unsafe { new.store(host) };
    Ok(None)
}

/// `mbarrier.pending_count`: the pending count in the state that an arrival returned.
pub(super) fn pending_count(state: u64) -> u64 {
    ObjectState::decode(state).map_or(0, |status| status.pending as u64)
}

impl Bulk {
    fn run(&self, core: &mut Core<'_>, objects: &mut Objects, lane: usize) -> Outcome {
        let bytes = core.registers.get(self.bytes, lane) & 0xffff_ffff;
        let (to, from) = (self.to.lane_address(core, lane), self.from.lane_address(core, lane));
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
            let source = check_range(core, &self.from, (from, bytes, lane), away, Effect::Read)?;
            let target = check_range(core, &self.to, (to, bytes, lane), !away, Effect::Write)?;
            // SAFETY: `bytes` bytes at both have been checked.
            unsafe { words::copy(target, source, bytes as usize) };
        }
        let Some(access) = &self.object else {
            if let Some(threads) = &mut core.threads {
                threads.record_copy(AsyncCopy { thread, address: from, bytes }, true);
            }
            return Ok(());
        };
        let NamedObject { at, stored, host } = find_object(core, access, lane, false)?;
        let copies = core.threads.is_some().then_some(AsyncCopy { thread, address: to, bytes });
        let carried = objects.add_copies((at, stored), copies);
        let new = carried.and_then(|()| objects.change_transactions((at, stored), bytes, true));
        let new = new.map_err(|problem| object_problem(core, problem, at, lane))?;
        // SAFETY: `find_object` has checked eight bytes, and their alignment.
        unsafe { new.store(host) };
        Ok(())
    }
}

/// Checks the source or target of a bulk copy, and returns its host address.
fn check_range(
    core: &mut Core<'_>,
    access: &Access,
    (address, bytes, lane): (u64, u64, usize),
    asynchronous: bool,
    effect: Effect,
) -> Outcome<*mut u8> {
    let at = access.lane_access(address, bytes, lane);
    let host = core.resolve_bytes(at, effect == Effect::Write)?;
    core.check_written(at, effect)?;
    let semantics = Semantics { asynchronous, ..Semantics::default() };
    core.race(access, &[address; LANES], 1 << lane, (bytes, semantics), effect)?;
    Ok(host)
}
