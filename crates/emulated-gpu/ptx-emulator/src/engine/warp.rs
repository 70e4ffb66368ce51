//! A warp and its splits. Lanes that diverge form splits ("warp-splits" in Meng, Tarjan and Skadron,
//! "Dynamic Warp Subdivision for Integrated Branch and Memory Divergence Tolerance", ISCA 2010), each
//! with a program counter, a mask and a call stack. The split that is deepest in calls, and of those the
//! one that stands first in the program, runs; splits that come to the same place join. That is
//! reconvergence without a stack of masks (Collange, "Stack-less SIMT reconvergence at low cost", 2011).

use std::rc::Rc;

use super::core::Bytes;
use super::registers::Registers;

/// Where a call returns to.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) return_to: u32,
    pub(super) parent: Frames,
    depth: u32,
}

/// A call stack, shared between splits that have the same one.
pub(super) type Frames = Option<Rc<Frame>>;

/// Enters a function.
pub(super) fn push(parent: Frames, return_to: u32) -> Frames {
    let depth = depth(&parent) + 1;
    Some(Rc::new(Frame { return_to, parent, depth }))
}

fn depth(frames: &Frames) -> u32 {
    frames.as_ref().map_or(0, |frame| frame.depth)
}

fn same(a: &Frames, b: &Frames) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            Rc::ptr_eq(a, b) || a.return_to == b.return_to && same(&a.parent, &b.parent)
        }
        _ => false,
    }
}

/// What a split is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Ready,
    /// A barrier of the block.
    AtBarrier(u8),
    /// The other members of a collective instruction.
    AtCollective,
}

/// Lanes that are at the same place, and run together.
#[derive(Clone, Debug)]
pub(super) struct WarpSplit {
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) frames: Frames,
    pub(super) state: State,
}

/// A warp between two turns.
#[derive(Default)]
pub(crate) struct Warp {
    pub(super) registers: Registers,
    pub(super) local: Bytes,
    pub(super) splits: Vec<WarpSplit>,
    /// Lanes that have not exited.
    pub(super) alive: u32,
    /// Its number in the block.
    pub(super) index: u32,
    /// Its last turn ended because it ran for long: another split is to go first.
    pub(super) rotate: bool,
    pub(super) executed: u64,
    /// A barrier that lanes wait at, these lanes, and those that had gone by it when they came.
    pub(super) missing: Option<(u32, u32, u32)>,
    /// Splits that have tested a phase of a barrier object which is not over.
    pub(super) polls: Vec<Poll>,
}

/// Failed tests that are remembered of a warp: two for each lane.
const MOST_POLLS: usize = 64;

/// A test that failed, as it was the last time.
pub(super) struct Poll {
    /// Behind it.
    pc: u32,
    mask: u32,
    /// The place of the object.
    object: u64,
    /// What the warp's registers held, what it had seen of others, what had been done to barriers.
    registers: u64,
    seen: u64,
    events: u64,
    /// All of that was the same the time before: so it goes on, as long as no thread does anything.
    again: bool,
}

impl Warp {
    /// Puts all lanes of `mask` at the beginning of the program.
    pub(super) fn start(&mut self, mask: u32) {
        self.splits.clear();
        self.splits.push(WarpSplit { pc: 0, mask, frames: None, state: State::Ready });
        self.alive = mask;
        self.rotate = false;
        self.executed = 0;
        self.missing = None;
        self.polls.clear();
    }

    /// Whether a turn would do something.
    pub(super) fn ready(&self) -> bool {
        self.splits.iter().any(|split| split.state == State::Ready)
    }

    /// A split, which stands behind a test, found a phase of an object that is not over. `registers` is
    /// a digest of what they hold, but for what depends on a clock.
    pub(super) fn poll(
        &mut self,
        registers: u64,
        (split, object): (&WarpSplit, u64),
        (seen, events): (u64, u64),
    ) {
        let WarpSplit { pc, mask, .. } = *split;
        let now = Poll { pc, mask, object, registers, seen, events, again: false };
        let same = |old: &&mut Poll| (old.pc, old.mask) == (pc, mask);
        match self.polls.iter_mut().find(same) {
            Some(old) => {
                let state = |poll: &Poll| (poll.object, poll.registers, poll.seen, poll.events);
                let again = state(old) == state(&now);
                *old = Poll { again, ..now };
            }
            None => {
                // Splits come and go.
                self.polls.truncate(MOST_POLLS - 1);
                self.polls.push(now);
            }
        }
    }

    /// The object at which a split tests the same again and again, and nothing has changed since.
    pub(super) fn polled(&self, split: &WarpSplit, seen: u64, events: u64) -> Option<u64> {
        let found =
            self.polls.iter().find(|poll| (poll.pc, poll.mask) == (split.pc, split.mask))?;
        (found.again && (found.seen, found.events) == (seen, events)).then_some(found.object)
    }

    /// Whether all that run do nothing but test phases that are not over.
    pub(super) fn spins(&self, seen: u64, events: u64) -> bool {
        let mut ready = self.splits.iter().filter(|split| split.state == State::Ready);
        ready.all(|split| self.polled(split, seen, events).is_some())
    }

    // ANCHOR: pick
    /// Takes the split that is to run next, joined with those at the same place, and the place
    /// at which it meets the next one.
    pub(super) fn pick(&mut self) -> Option<(WarpSplit, u32)> {
        if let [only] = &self.splits[..] {
            // Nothing to choose, and no other lanes to meet.
            return (only.state == State::Ready)
                .then(|| self.splits.pop())
                .flatten()
                .map(|split| (split, u32::MAX));
        }
        let rotate = std::mem::take(&mut self.rotate);
        let ready = self.splits.iter().enumerate().filter(|(_, f)| f.state == State::Ready);
        let chosen = if rotate {
            ready.map(|(index, _)| index).next()
        } else {
            ready.min_by_key(|(_, f)| (u32::MAX - depth(&f.frames), f.pc)).map(|(index, _)| index)
        }?;
        // `remove`, not `swap_remove`: the order is that of the last turns.
        let mut split = self.splits.remove(chosen);
        let mut stop = u32::MAX;
        self.splits.retain(|other| {
            let meets = other.state == State::Ready && same(&other.frames, &split.frames);
            if meets && other.pc == split.pc {
                split.mask |= other.mask;
                return false;
            }
            if meets && other.pc > split.pc {
                stop = stop.min(other.pc);
            }
            true
        });
        Some((split, stop))
    }
    // ANCHOR_END: pick
}
