//! Asynchronous copies that have not been waited for (`cp.async`, `cp.async.bulk`).

use std::sync::Arc;

use super::ThreadClocks;
use crate::engine::race::clocks::{BlockClock, VectorClock};
use crate::engine::race::event::Semantics;
use crate::engine::race::shadow::PAGE_WORDS;
use crate::engine::registers::{LANES, lanes};

/// A range of shared memory that is copied asynchronously.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) thread: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// A copy that has not been waited for, and the ordinal of its thread's group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    copy: AsyncCopy,
    group: u32,
    bulk: bool,
}

impl ThreadClocks {
    /// Records a copy that is in flight.
    pub(crate) fn record_copy(&mut self, copy: AsyncCopy, bulk: bool) {
        let group = self.groups[usize::from(bulk)][copy.thread as usize];
        self.copies.push(Pending { copy, group, bulk });
    }

    /// The `cp.async` copies of a thread that are in flight.
    pub(crate) fn in_flight(&self, thread: u32) -> Vec<AsyncCopy> {
        let own = self.copies.iter().filter(|copy| !copy.bulk && copy.copy.thread == thread);
        own.map(|copy| copy.copy).collect()
    }

    /// `cp.async.commit_group` and `cp.async.bulk.commit_group`.
    pub(crate) fn commit(&mut self, warp: u32, mask: u32, bulk: bool) {
        for lane in lanes(mask) {
            self.groups[usize::from(bulk)][warp as usize * LANES + lane] += 1;
        }
    }

    /// `cp.async.wait_group` and `wait_all`: completes all copies except the copies of the last
    /// `pending` groups.
    pub(crate) fn wait_for_groups(
        &mut self,
        warp: u32,
        mask: u32,
        pending: Option<u32>,
        bulk: bool,
    ) {
        let groups = &self.groups[usize::from(bulk)];
        let done = |copy: &Pending| {
            let thread = copy.copy.thread;
            let of_mask = thread / LANES as u32 == warp && mask & 1 << (thread % LANES as u32) != 0;
            // Groups are numbered when they are committed; only `wait_all` waits for an open group.
            let committed = groups[thread as usize];
            copy.bulk == bulk
                && of_mask
                && pending.is_none_or(|pending| copy.group.saturating_add(pending) < committed)
        };
        let (complete, left): (Vec<Pending>, Vec<Pending>) =
            std::mem::take(&mut self.copies).into_iter().partition(done);
        self.copies = left;
        let complete: Vec<AsyncCopy> = complete.into_iter().map(|copy| copy.copy).collect();
        self.complete_copies(&complete);
    }

    /// Completes copies: they become ordinary accesses of their threads. Returns the clock that a
    /// thread learns when it has waited for them.
    pub(crate) fn complete_copies(&mut self, complete: &[AsyncCopy]) -> Option<Arc<VectorClock>> {
        if complete.is_empty() {
            return None;
        }
        let shared = self.shared.take()?;
        for copy in complete {
            let settled = self.current_moment(Semantics::default()).event(copy.thread, 0);
            let last = shared.word(copy.address + copy.bytes.max(1) - 1);
            for word in shared.word(copy.address)..=last {
                if let Some(page) = shared.page(word) {
                    page.cells()[word % PAGE_WORDS].mark_waited_for(settled);
                }
            }
        }
        self.shared = Some(shared);
        let upto = self.current_clock();
        let mut of_block = BlockClock::default();
        for copy in complete {
            of_block.join(&BlockClock { least: 0, threads: vec![(copy.thread, upto)] });
        }
        let mut known = VectorClock::default();
        known.join_block(self.block, &Arc::new(of_block));
        Some(Arc::new(known))
    }
}
