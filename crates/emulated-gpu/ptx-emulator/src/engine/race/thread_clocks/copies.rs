//! Copies that a thread doesn't wait for at once: `cp.async`.

use super::{Pending, ThreadClocks};
use crate::engine::race::event::Semantics;
use crate::engine::race::shadow::PAGE;
use crate::engine::registers::LANES;
use crate::engine::registers::lanes;

impl ThreadClocks {
    /// Remembers a copy that is under way.
    pub(crate) fn copies(&mut self, thread: u32, address: u64, bytes: u64) {
        let group = self.groups[thread as usize];
        self.copies.push(Pending { thread, group, address, bytes });
    }

    /// `cp.async.commit_group`
    pub(crate) fn commit(&mut self, warp: u32, mask: u32) {
        for lane in lanes(mask) {
            self.groups[warp as usize * LANES + lane] += 1;
        }
    }

    /// `cp.async.wait_group`, of all but the last `pending` groups, and `wait_all`: what has been
    /// copied is there now.
    pub(crate) fn wait(&mut self, warp: u32, mask: u32, pending: Option<u32>) {
        let groups = &self.groups;
        let done = |copy: &Pending| {
            let of_mask =
                copy.thread / LANES as u32 == warp && mask & 1 << (copy.thread % LANES as u32) != 0;
            // Groups are counted as they are committed; an open one waits for `wait_all` only.
            let committed = groups[copy.thread as usize];
            of_mask && pending.is_none_or(|pending| copy.group.saturating_add(pending) < committed)
        };
        let (complete, left): (Vec<Pending>, Vec<Pending>) =
            std::mem::take(&mut self.copies).into_iter().partition(done);
        self.copies = left;
        let Some(shared) = self.shared.take() else { return };
        for copy in complete {
            let settled = self.moment(Semantics::default()).of(copy.thread, 0);
            let last = shared.word(copy.address + copy.bytes.max(1) - 1);
            for word in shared.word(copy.address)..=last {
                if let Some(page) = shared.page(word) {
                    page.cells()[word % PAGE].settle(settled);
                }
            }
        }
        self.shared = Some(shared);
    }
}
