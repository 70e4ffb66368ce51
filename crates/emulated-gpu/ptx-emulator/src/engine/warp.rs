//! A warp and its splits. Lanes that diverge form splits ("warp-splits" in Meng, Tarjan and
//! Skadron, "Dynamic Warp Subdivision for Integrated Branch and Memory Divergence Tolerance", ISCA
//! 2010), each with a program counter, a mask and a call stack. The split with the deepest call
//! stack runs first, and if several have the deepest stack, the split that is earliest in the
//! program; splits at the same place merge. This reconverges lanes without a stack of masks
//! (Collange, "Stack-less SIMT reconvergence at low cost", 2011).

use std::rc::Rc;

use super::core::Bytes;
use super::registers::Registers;

/// A stack frame of a call.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) return_to: u32,
    pub(super) parent: Frames,
    depth: u32,
}

/// A call stack, shared between splits whose stacks are equal.
pub(super) type Frames = Option<Rc<Frame>>;

/// Pushes a frame for a call.
pub(super) fn push_frame(parent: Frames, return_to: u32) -> Frames {
    let depth = depth(&parent) + 1;
    Some(Rc::new(Frame { return_to, parent, depth }))
}

fn depth(frames: &Frames) -> u32 {
    frames.as_ref().map_or(0, |frame| frame.depth)
}

fn same_stack(a: &Frames, b: &Frames) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            Rc::ptr_eq(a, b) || a.return_to == b.return_to && same_stack(&a.parent, &b.parent)
        }
        _ => false,
    }
}

/// Whether a split can run, or the event for which it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SplitState {
    /// The split can run.
    Ready,
    /// The split waits at the barrier of the block with this number.
    AtBarrier(u8),
    /// The split waits for the other members of a collective operation.
    AtCollective,
}

/// Lanes at the same place, which run together.
#[derive(Clone, Debug)]
pub(super) struct WarpSplit {
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) frames: Frames,
    pub(super) state: SplitState,
}

/// The state of a warp between two turns.
#[derive(Default)]
pub(crate) struct Warp {
    pub(super) registers: Registers,
    pub(super) local: Bytes,
    pub(super) splits: Vec<WarpSplit>,
    /// Lanes that have not exited.
    pub(super) alive: u32,
    /// The warp's index in the block.
    pub(super) index: u32,
    /// Whether the warp used up its last turn, so that another split runs next.
    pub(super) is_turn_used_up: bool,
    pub(super) executed: u64,
    /// A barrier at which lanes wait, these lanes, and the lanes that were already past it when
    /// they arrived.
    pub(super) missing: Option<(u32, u32, u32)>,
    /// Splits that have tested an incomplete phase of a barrier object.
    pub(super) polls: Vec<Poll>,
}

/// The maximum number of recorded polls per warp: two per lane.
const MAX_POLLS: usize = 64;

/// The latest failed test of a split.
pub(super) struct Poll {
    /// The step after the test.
    pc: u32,
    mask: u32,
    /// The address of the barrier object.
    object: u64,
    /// A digest of the warp's registers.
    registers: u64,
    /// The count of polling operations.
    digest: u64,
    /// The count of operations on barriers.
    events: u64,
    /// Whether the object, the registers and both counts were unchanged since the previous test.
    /// Then the split keeps polling as long as no other thread does anything.
    is_repeated: bool,
}

impl Warp {
    /// Starts all lanes of `mask` at the beginning of the program.
    pub(super) fn start(&mut self, mask: u32) {
        self.splits.clear();
        self.splits.push(WarpSplit { pc: 0, mask, frames: None, state: SplitState::Ready });
        self.alive = mask;
        self.is_turn_used_up = false;
        self.executed = 0;
        self.missing = None;
        self.polls.clear();
    }

    /// Whether some split can run.
    pub(super) fn ready(&self) -> bool {
        self.splits.iter().any(|split| split.state == SplitState::Ready)
    }

    /// Records that a split, which is already past the test, found an incomplete phase. `registers`
    /// is a digest of the registers that don't depend on a clock.
    pub(super) fn poll(
        &mut self,
        registers: u64,
        (split, object): (&WarpSplit, u64),
        (seen, events): (u64, u64),
    ) {
        let WarpSplit { pc, mask, .. } = *split;
        let now = Poll { pc, mask, object, registers, digest: seen, events, is_repeated: false };
        let same = |old: &&mut Poll| (old.pc, old.mask) == (pc, mask);
        match self.polls.iter_mut().find(same) {
            Some(old) => {
                let state = |poll: &Poll| (poll.object, poll.registers, poll.digest, poll.events);
                let again = state(old) == state(&now);
                *old = Poll { is_repeated: again, ..now };
            }
            None => {
                // Splits change, so old entries may be obsolete.
                self.polls.truncate(MAX_POLLS - 1);
                self.polls.push(now);
            }
        }
    }

    /// The object that a split polls, if nothing has changed since its last test.
    pub(super) fn polled_object(&self, split: &WarpSplit, seen: u64, events: u64) -> Option<u64> {
        let object =
            self.polls.iter().find(|poll| (poll.pc, poll.mask) == (split.pc, split.mask))?;
        (object.is_repeated && (object.digest, object.events) == (seen, events))
            .then_some(object.object)
    }

    /// Whether every split that is ready to run is just polling an incomplete phase.
    pub(super) fn only_polls(&self, seen: u64, events: u64) -> bool {
        let mut ready = self.splits.iter().filter(|split| split.state == SplitState::Ready);
        ready.all(|split| self.polled_object(split, seen, events).is_some())
    }

    // ANCHOR: pick
    /// Takes the split that runs next, merged with splits at the same place. Also returns the place
    /// where it meets another split.
    pub(super) fn take_next_split(&mut self) -> Option<(WarpSplit, u32)> {
        if let [only] = &self.splits[..] {
            // A single split has no other lanes to meet.
            return (only.state == SplitState::Ready)
                .then(|| self.splits.pop())
                .flatten()
                .map(|split| (split, u32::MAX));
        }
        let rotate = std::mem::take(&mut self.is_turn_used_up);
        let ready = self.splits.iter().enumerate().filter(|(_, f)| f.state == SplitState::Ready);
        let chosen = if rotate {
            ready.map(|(index, _)| index).next()
        } else {
            ready.min_by_key(|(_, f)| (u32::MAX - depth(&f.frames), f.pc)).map(|(index, _)| index)
        }?;
        // Not `swap_remove`, because the splits are in the order of their last turns.
        let mut split = self.splits.remove(chosen);
        let mut stop = u32::MAX;
        self.splits.retain(|other| {
            let meets =
                other.state == SplitState::Ready && same_stack(&other.frames, &split.frames);
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
