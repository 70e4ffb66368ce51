//! The sixteen barriers of a block, and the barrier objects in its shared memory.

use super::code::{Action, BarrierKind, Step};
use super::objects::Objects;
use super::race::ThreadClocks;
use super::registers::{LANES, lanes};
use super::warp::{SplitState, Warp};
use crate::limits::BARRIERS;
use crate::program::Atomic;

/// The state of one barrier.
#[derive(Clone, Copy, Default)]
pub(super) struct BarrierState {
    /// The number of threads that have arrived.
    arrived: u32,
    /// The number of threads that have to arrive; `None` for all of the block.
    expected: Option<u32>,
    /// The number of threads whose predicate was true.
    votes: u32,
    /// The number of threads that contributed a predicate.
    voters: u32,
}

/// All barriers of a block.
#[derive(Clone, Default)]
pub(super) struct Barriers {
    states: [BarrierState; BARRIERS],
    /// One bit per barrier at which threads have arrived.
    used: u32,
    /// The number of arrivals at these barriers so far.
    arrivals: u64,
    /// Barrier objects in shared memory.
    pub(super) objects: Objects,
}

impl Barriers {
    /// Records the arrival of lanes at a barrier.
    pub(super) fn arrive(&mut self, index: u8, threads: u32, expected: Option<u32>) {
        let state = &mut self.states[usize::from(index)];
        state.arrived += threads;
        state.expected = expected;
        self.used |= 1 << index;
        self.arrivals += 1;
    }

    /// The number of operations on barriers of either kind so far.
    pub(super) fn events(&self) -> u64 {
        self.arrivals + self.objects.events
    }

    /// Records the predicates of arriving lanes.
    pub(super) fn vote(&mut self, index: u8, voters: u32, votes: u32) {
        let state = &mut self.states[usize::from(index)];
        state.voters += voters;
        state.votes += votes;
    }

    /// Releases the waiting threads of each barrier at which all expected threads have arrived.
    pub(super) fn release(
        &mut self,
        code: &[Step],
        warps: &mut [Warp],
        mut threads: Option<&mut ThreadClocks>,
    ) {
        for index in lanes(self.used) {
            let state = self.states[index];
            let alive = || warps.iter().map(|warp| warp.alive.count_ones()).sum();
            if state.arrived < state.expected.unwrap_or_else(alive) {
                continue;
            }
            if let Some(threads) = threads.as_deref_mut() {
                threads.release(index as u8, state.expected.is_some());
            }
            self.states[index] = BarrierState::default();
            self.used &= !(1 << index);
            for warp in warps.iter_mut() {
                warp.missing = None;
                for split in &mut warp.splits {
                    if split.state != SplitState::AtBarrier(index as u8) {
                        continue;
                    }
                    if let Action::Barrier(barrier) = &code[split.pc as usize].action
                        && let BarrierKind::Reduce { operation, d, .. } = barrier.action
                    {
                        let result = match operation {
                            Atomic::And => u64::from(state.votes == state.voters),
                            Atomic::Or => u64::from(state.votes != 0),
                            _ => u64::from(state.votes),
                        };
                        for lane in lanes(split.mask) {
                            warp.registers.set(d, lane, result);
                        }
                    }
                    split.state = SplitState::Ready;
                    split.pc += 1;
                }
            }
        }
    }

    /// How many threads a part of a warp counts as at a barrier. If the barrier has a thread count,
    /// that count is a multiple of 32, so a whole warp counts as 32 even if lanes have exited.
    pub(super) fn weight(mask: u32, alive: u32, counted: bool) -> u32 {
        if counted && mask == alive { LANES as u32 } else { mask.count_ones() }
    }
}
