//! Fences, and clocks that strong accesses publish.

use std::sync::Arc;

use super::ThreadClocks;
use crate::engine::race::clocks::{VectorClock, join};
use crate::engine::registers::{LANES, lanes};

impl ThreadClocks {
    /// A fence by lanes of a warp.
    pub(crate) fn fence(&mut self, warp: u32, mask: u32, wide: bool) {
        for lane in lanes(mask) {
            let thread = warp * LANES as u32 + lane as u32;
            self.acquire_pending(thread, usize::from(wide));
            let own = Arc::new(self.snapshot(thread));
            let extra = self.extra_of_thread_mut(thread);
            for released in &mut extra.released[..=usize::from(wide)] {
                *released = Some(Arc::clone(&own));
            }
        }
    }

    /// The clock that a strong write of a thread publishes in a scope.
    pub(crate) fn clock_to_publish(
        &mut self,
        thread: u32,
        wide: bool,
        release: bool,
    ) -> Option<Arc<VectorClock>> {
        if release {
            return Some(Arc::new(self.snapshot(thread)));
        }
        let scope = usize::from(wide);
        let own = self.extras[thread as usize].released[scope].clone();
        match (own, &self.base_released[scope]) {
            (Some(mut own), Some(base)) => {
                Arc::make_mut(&mut own).join(base);
                Some(own)
            }
            (own, base) => own.or_else(|| base.clone()),
        }
    }

    /// Publishes the clock of a strong write to this block.
    pub(crate) fn publish(&mut self, address: u64, clocks: &Arc<VectorClock>) {
        join(self.published.entry(address).or_default(), clocks);
    }

    /// The clock that has been published to this block at an address.
    pub(crate) fn published(&self, address: u64) -> Option<Arc<VectorClock>> {
        self.published.get(&address).cloned().flatten()
    }

    /// A strong read of a thread has found a published clock.
    pub(crate) fn learn_published_clock(
        &mut self,
        thread: u32,
        clocks: &Arc<VectorClock>,
        wide: bool,
        acquire: bool,
    ) {
        let extra = self.extra_of_thread_mut(thread);
        if acquire {
            join(&mut extra.known, clocks);
        } else {
            join(&mut extra.pending[usize::from(wide)], clocks);
        }
    }
}
