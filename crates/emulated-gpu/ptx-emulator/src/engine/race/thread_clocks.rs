//! The vector clocks of a block's threads: which accesses of each other and of other blocks they
//! know.
//!
//! The block has a single clock, because its warps take turns on one host thread. It is incremented
//! whenever accesses become ordered. Most synchronisation is uniform for a block (a barrier) or a
//! warp (`bar.warp.sync`, a shuffle), so the minimum is stored for each block and warp. Additional
//! knowledge of single threads, from barriers of some warps, from masks of some lanes or from
//! releases, is stored per thread.

mod copies;
mod strong;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::copies::AsyncCopy;
use self::copies::Pending;
use super::cell::Cell;
use super::clocks::{BlockClock, VectorClock, join};
use super::event::{Event, LAST_CLOCK, Moment, Semantics};
use super::shadow::{Pool, READ_BY_BLOCKS, Shadow, read_by_warps};
use super::variables::Published;
use crate::engine::registers::{LANES, lanes};
use crate::limits::BARRIERS;
use crate::room::OutOfMemory;

/// Scopes as indices: the block, and wider.
const NARROW: usize = 0;
const WIDE: usize = 1;

/// The accesses that a thread knows in addition to the ones that its block and its warp know.
#[derive(Clone, Debug, Default)]
struct ThreadExtra {
    known: Option<Arc<VectorClock>>,
    /// The clock that a strong write publishes, by scope: the clock at the last fence.
    released: [Option<Arc<VectorClock>>; 2],
    /// Clocks that strong reads have found, by scope; a fence makes them known.
    pending: [Option<Arc<VectorClock>>; 2],
    listed: bool,
}

/// Lanes that have arrived at a barrier.
#[derive(Clone, Debug)]
struct Arrival {
    warp: u32,
    mask: u32,
    /// The clock that the lanes contribute; `None` if they wait, because then they can't do
    /// anything before the release.
    left: Option<Arc<VectorClock>>,
}

/// A fast representation of the clocks of a warp's lanes, if they know no more than their block,
/// and nothing of other blocks. This is the case in most kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UniformClock {
    least: u32,
    /// Whether the clock is for shared memory, where accesses of other (earlier) blocks don't
    /// count.
    shared: bool,
}

impl UniformClock {
    /// Like [`ThreadClocks::knows`], for the thread of `new`.
    #[inline(always)]
    pub(crate) fn happens_before(self, new: Event, old: Event) -> bool {
        if !old.same_block(new) {
            return self.shared;
        }
        !old.asynchronous() && (old.clock() <= self.least || old.same_thread(new))
    }
}

/// The clocks of a block's threads. See the module's comment.
#[derive(Debug)]
pub(crate) struct ThreadClocks {
    block: u32,
    clock: u32,
    /// Whether there was an access since the clock was incremented.
    accessed: bool,
    least: u32,
    /// The accesses of other blocks that all threads know.
    base: Arc<VectorClock>,
    /// The clocks that all threads had released before the last barrier, by scope.
    base_released: [Option<Arc<VectorClock>>; 2],
    warp_least: Vec<u32>,
    extras: Vec<ThreadExtra>,
    /// Threads whose additional knowledge may be nonempty.
    listed: Vec<u32>,
    arrivals: [Vec<Arrival>; BARRIERS],
    /// The clocks that strong writes have published to this block.
    published: Published,
    copies: Vec<Pending>,
    /// The number of groups that each thread has committed, for `cp.async` and for `cp.async.bulk`.
    groups: [Vec<u32>; 2],
    /// The shadow of shared memory; `None` while it is in use elsewhere.
    pub(crate) shared: Option<Box<Shadow>>,
}

impl ThreadClocks {
    /// Creates the clocks of a block's threads, with `shared` bytes of shared memory.
    ///
    /// # Errors
    /// If the host is out of memory.
    pub(crate) fn new(threads: u32, shared: u64) -> Result<Self, OutOfMemory> {
        let shared = Shadow::new(0, shared, Pool::default())?;
        Ok(Self { shared: Some(Box::new(shared)), ..Self::initial(threads) })
    }

    /// The state at the start of a block.
    fn initial(threads: u32) -> Self {
        Self {
            block: 0,
            clock: 1,
            accessed: false,
            least: 0,
            base: Arc::default(),
            base_released: [None, None],
            warp_least: vec![0; threads.div_ceil(LANES as u32) as usize],
            extras: vec![ThreadExtra::default(); threads as usize],
            listed: Vec::new(),
            arrivals: Default::default(),
            published: Published::new(),
            copies: Vec::new(),
            groups: std::array::from_fn(|_| vec![0; threads as usize]),
            shared: None,
        }
    }

    /// Starts a block. Accesses of earlier blocks to shared memory stay recorded, but are ignored.
    pub(crate) fn start(&mut self, block: u64) {
        let shared = self.shared.take();
        *self = Self { shared, ..Self::initial(self.extras.len() as u32) };
        self.block = block as u32 & (super::event::HOST);
    }

    /// Whether clocks can still be incremented, so that ordering can be determined.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.clock < LAST_CLOCK
    }

    /// The clock that covers all accesses so far; later accesses get a larger one.
    fn current_clock(&mut self) -> u32 {
        if self.accessed {
            self.accessed = false;
            self.clock = (self.clock + 1).min(LAST_CLOCK);
        }
        self.clock - 1
    }

    /// The clock and semantics of accesses that happen now.
    #[inline]
    pub(crate) fn current_moment(&mut self, semantics: Semantics) -> Moment {
        self.accessed = true;
        Moment(Event::new(self.block, 0, self.clock, semantics, 0))
    }

    /// Whether an access happens before a thread's next access. In `shared` memory, only accesses
    /// of the block itself count.
    #[inline]
    pub(crate) fn knows(&self, thread: u32, event: Event, shared: bool) -> bool {
        let (of, clock) = (event.thread(), event.clock());
        if event.asynchronous() {
            return event.block() != self.block && shared;
        }
        if clock <= self.least && event.block() == self.block {
            return true;
        }
        let extra = || {
            let known = self.extras.get(thread as usize).and_then(|extra| extra.known.as_ref());
            known.is_some_and(|known| known.knows(event.block(), of, clock))
        };
        if event.block() == self.block {
            return of == thread
                || of / LANES as u32 == thread / LANES as u32
                    && self
                        .warp_least
                        .get(of as usize / LANES)
                        .is_some_and(|&least| clock <= least)
                || extra();
        }
        shared || self.base.knows(event.block(), of, clock) || extra()
    }

    /// The [`UniformClock`] of a warp, if such a clock describes the accesses that its lanes know.
    #[inline]
    pub(crate) fn uniform_clock(&self, warp: u32, shared: bool) -> Option<UniformClock> {
        let warp_least = self.warp_least.get(warp as usize).copied().unwrap_or(0);
        let alike = self.listed.is_empty() && warp_least <= self.least && self.base.is_empty();
        alike.then_some(UniformClock { least: self.least, shared })
    }

    /// The stamps with which reads by threads of this block need not be recorded.
    #[inline]
    pub(crate) fn valid_stamps(&self) -> [u64; 2] {
        if !self.listed.is_empty() {
            return [READ_BY_BLOCKS; 2].map(|stamp| stamp - 1);
        }
        let own = read_by_warps(self.block, self.least);
        [own, if self.base.is_empty() { READ_BY_BLOCKS } else { own }]
    }

    /// The stamp of a word that has just been read, or 0.
    #[inline]
    pub(crate) fn stamp(&self, cell: &Cell) -> u64 {
        let Some(([a, b], writes)) = cell.plain_reads() else { return 0 };
        if a.same_warp(b) {
            return 0;
        }
        if !a.same_block(b) {
            let untouched = !writes[0].is_some() && !writes[1].is_some();
            return if untouched { READ_BY_BLOCKS } else { 0 };
        }
        let earlier = |event: Event| event.block() == self.block && event.clock() <= self.least;
        let settled = writes.iter().all(|&write| !write.is_some() || earlier(write));
        let own = a.block() == self.block && !earlier(a) && !earlier(b);
        if own && settled { read_by_warps(self.block, self.least) } else { 0 }
    }

    fn extra_of_thread_mut(&mut self, thread: u32) -> &mut ThreadExtra {
        let extra = &mut self.extras[thread as usize];
        if !extra.listed {
            extra.listed = true;
            self.listed.push(thread);
        }
        extra
    }

    /// The accesses that a thread currently knows, including its own accesses.
    fn snapshot(&mut self, thread: u32) -> VectorClock {
        let upto = self.current_clock();
        let mut clocks = VectorClock::clone(&self.base);
        if let Some(known) = &self.extras[thread as usize].known {
            clocks.join(known);
        }
        let first = thread / LANES as u32 * LANES as u32;
        let warp_least = self.warp_least[thread as usize / LANES];
        let mut threads = Vec::new();
        if warp_least > self.least {
            let last = (first + LANES as u32).min(self.extras.len() as u32);
            threads = (first..last).map(|mate| (mate, warp_least)).collect();
        }
        let mut of_block = BlockClock { least: self.least, threads };
        of_block.join(&BlockClock { least: 0, threads: vec![(thread, upto)] });
        clocks.join_block(self.block, &Arc::new(of_block));
        clocks
    }

    /// Synchronises lanes of a warp. `alive` are the lanes that have not exited.
    pub(crate) fn warp_sync(&mut self, warp: u32, members: u32, alive: u32) {
        let first = warp * LANES as u32;
        let members = members & alive;
        if members & alive == alive {
            let upto = self.current_clock();
            if let Some(least) = self.warp_least.get_mut(warp as usize) {
                *least = upto;
            }
            if !self.listed.iter().any(|&thread| thread / LANES as u32 == warp) {
                return;
            }
        }
        let list: Vec<u32> = lanes(members).map(|lane| first + lane as u32).collect();
        self.sync_threads(&list, None);
    }

    /// Synchronises threads, which also learn the clock `left` of threads that only arrived.
    fn sync_threads(&mut self, list: &[u32], left: Option<Arc<VectorClock>>) {
        let mut all = left;
        let mut released: [Option<Arc<VectorClock>>; 2] = [None, None];
        for &thread in list {
            self.acquire_pending(thread, WIDE);
            let own = Arc::new(self.snapshot(thread));
            join(&mut all, &own);
            for scope in [NARROW, WIDE] {
                if let Some(own) = &self.extras[thread as usize].released[scope] {
                    join(&mut released[scope], own);
                }
            }
        }
        for &thread in list {
            let extra = self.extra_of_thread_mut(thread);
            extra.known.clone_from(&all);
            extra.released.clone_from(&released);
        }
    }

    /// Lanes arrive at a barrier of the block.
    pub(crate) fn arrive(&mut self, barrier: u8, warp: u32, mask: u32, waits: bool) {
        let mut left = None;
        if !waits {
            for lane in lanes(mask) {
                let own = Arc::new(self.snapshot(warp * LANES as u32 + lane as u32));
                join(&mut left, &own);
            }
        }
        self.arrivals[usize::from(barrier) % BARRIERS].push(Arrival { warp, mask, left });
    }

    /// Releases the threads that wait at a barrier. `counted` if the barrier has a thread count.
    pub(crate) fn release(&mut self, barrier: u8, counted: bool) {
        let arrivals = std::mem::take(&mut self.arrivals[usize::from(barrier) % BARRIERS]);
        let waiting = || arrivals.iter().filter(|arrival| arrival.left.is_none());
        let count: u32 = waiting().map(|arrival| arrival.mask.count_ones()).sum();
        if count as usize == self.extras.len() || !counted && waiting().count() == arrivals.len() {
            self.sync_block();
            return;
        }
        let mut left = None;
        for own in arrivals.iter().filter_map(|arrival| arrival.left.as_ref()) {
            join(&mut left, own);
        }
        let list: Vec<u32> = waiting()
            .flat_map(|arrival| {
                lanes(arrival.mask).map(|lane| arrival.warp * LANES as u32 + lane as u32)
            })
            .collect();
        self.sync_threads(&list, left);
    }

    /// Synchronises all threads of the block.
    fn sync_block(&mut self) {
        self.least = self.current_clock();
        let listed = std::mem::take(&mut self.listed);
        if listed.is_empty() {
            return;
        }
        let mut all = VectorClock::clone(&self.base);
        for thread in listed {
            let extra = std::mem::take(&mut self.extras[thread as usize]);
            for clocks in extra.known.iter().chain(extra.pending.iter().flatten()) {
                all.join(clocks);
            }
            for scope in [NARROW, WIDE] {
                if let Some(released) = &extra.released[scope] {
                    join(&mut self.base_released[scope], released);
                }
            }
        }
        all.move_into_shared(self.block);
        self.base = Arc::new(all);
    }

    fn acquire_pending(&mut self, thread: u32, scope: usize) {
        let extra = &mut self.extras[thread as usize];
        for pending in &mut extra.pending[..=scope] {
            if let Some(pending) = pending.take() {
                join(&mut extra.known, &pending);
            }
        }
    }
}
