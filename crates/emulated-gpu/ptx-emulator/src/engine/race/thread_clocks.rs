//! The vector clocks of a block's threads: what they know of each other and of other blocks.
//!
//! The block has one clock, since its warps take turns on one thread of the host. It goes on
//! whenever something is ordered. Most orders are alike for all threads of a block (a barrier) or
//! of a warp (`bar.warp.sync`, a shuffle), so the least component is kept for each; what single threads know
//! beyond that, from barriers of some warps, from masks of some lanes, from what others released,
//! is kept with them.

mod copies;
mod strong;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::copies::Copied;
use self::copies::Pending;
use super::cell::Cell;
use super::clocks::{BlockClock, VectorClock, join};
use super::event::{Event, LAST_CLOCK, Moment, Semantics};
use super::shadow::{Pool, READ_BY_BLOCKS, Shadow, read_by_warps};
use super::variables::Published;
use crate::engine::registers::{LANES, lanes};
use crate::limits::BARRIERS;
use crate::room::OutOfMemory;

/// Scopes, as indices: of the block, and wider.
const NARROW: usize = 0;
const WIDE: usize = 1;

/// What one thread knows beyond its block and its warp.
#[derive(Clone, Debug, Default)]
struct Extra {
    known: Option<Arc<VectorClock>>,
    /// What a strong write publishes, by its scope: what the last fence closed.
    released: [Option<Arc<VectorClock>>; 2],
    /// What strong reads have found, by scope: a fence makes it known.
    pending: [Option<Arc<VectorClock>>; 2],
    listed: bool,
}

/// Lanes that have come to a barrier.
#[derive(Clone, Debug)]
struct Arrival {
    warp: u32,
    mask: u32,
    /// What they leave there; `None` where they wait, and so do nothing meanwhile.
    left: Option<Arc<VectorClock>>,
}

/// What comes before an access of a warp whose lanes know no more than their block does, of other
/// blocks nothing: as it is in most kernels, and quickly told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UniformClock {
    least: u32,
    /// Of shared memory, where other blocks have left what counts no longer.
    shared: bool,
}

impl UniformClock {
    /// As [`ThreadClocks::knows`], of the thread that does `new`.
    #[inline(always)]
    pub(crate) fn knows(self, new: Event, old: Event) -> bool {
        if !old.same_block(new) {
            return self.shared;
        }
        !old.asynchronous() && (old.clock() <= self.least || old.same_thread(new))
    }
}

/// See the module's comment.
#[derive(Debug)]
pub(crate) struct ThreadClocks {
    block: u32,
    clock: u32,
    /// Something has been accessed since the clock went on.
    accessed: bool,
    least: u32,
    /// What all threads know of other blocks.
    base: Arc<VectorClock>,
    /// What all threads have released before the last barrier.
    base_released: [Option<Arc<VectorClock>>; 2],
    warp_least: Vec<u32>,
    extras: Vec<Extra>,
    /// Threads whose extra is not empty.
    listed: Vec<u32>,
    arrivals: [Vec<Arrival>; BARRIERS],
    /// What strong writes have published to this block.
    published: Published,
    copies: Vec<Pending>,
    /// How many groups of copies each thread has committed, of `cp.async` and of `cp.async.bulk`.
    groups: [Vec<u32>; 2],
    /// `None` while it is looked at.
    pub(crate) shared: Option<Box<Shadow>>,
}

impl ThreadClocks {
    /// Threads of a block, with this many bytes of shared memory.
    ///
    /// # Errors
    /// When the host has not the room.
    pub(crate) fn new(threads: u32, shared: u64) -> Result<Self, OutOfMemory> {
        let shared = Shadow::new(0, shared, Pool::default())?;
        Ok(Self { shared: Some(Box::new(shared)), ..Self::fresh(threads) })
    }

    /// As they begin a block.
    fn fresh(threads: u32) -> Self {
        Self {
            block: 0,
            clock: 1,
            accessed: false,
            least: 0,
            base: Arc::default(),
            base_released: [None, None],
            warp_least: vec![0; threads.div_ceil(LANES as u32) as usize],
            extras: vec![Extra::default(); threads as usize],
            listed: Vec::new(),
            arrivals: Default::default(),
            published: Published::new(),
            copies: Vec::new(),
            groups: std::array::from_fn(|_| vec![0; threads as usize]),
            shared: None,
        }
    }

    /// Begins a block. Cells of its shared memory that another block has left are not looked at.
    pub(crate) fn start(&mut self, block: u64) {
        let shared = self.shared.take();
        *self = Self { shared, ..Self::fresh(self.extras.len() as u32) };
        self.block = block as u32 & (super::event::HOST);
    }

    /// Whether it is still possible to tell what comes before what.
    #[inline]
    pub(crate) fn counting(&self) -> bool {
        self.clock < LAST_CLOCK
    }

    /// The last clock of everything so far; what comes is later.
    fn now(&mut self) -> u32 {
        if self.accessed {
            self.accessed = false;
            self.clock = (self.clock + 1).min(LAST_CLOCK);
        }
        self.clock - 1
    }

    /// Accesses happen now.
    #[inline]
    pub(crate) fn moment(&mut self, semantics: Semantics) -> Moment {
        self.accessed = true;
        Moment(Event::new(self.block, 0, self.clock, semantics, 0))
    }

    /// Whether an access comes before what a thread does now. Of `shared` memory only the block's
    /// own accesses count.
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

    /// Whether [`UniformClock`] tells it all of a warp.
    #[inline]
    pub(crate) fn plainly(&self, warp: u32, shared: bool) -> Option<UniformClock> {
        let warp_least = self.warp_least.get(warp as usize).copied().unwrap_or(0);
        let alike = self.listed.is_empty() && warp_least <= self.least && self.base.is_empty();
        alike.then_some(UniformClock { least: self.least, shared })
    }

    /// Stamps of words that the threads of this block need not look at to read them.
    #[inline]
    pub(crate) fn quiet_stamps(&self) -> [u64; 2] {
        if !self.listed.is_empty() {
            return [READ_BY_BLOCKS; 2].map(|stamp| stamp - 1);
        }
        let own = read_by_warps(self.block, self.least);
        [own, if self.base.is_empty() { READ_BY_BLOCKS } else { own }]
    }

    /// The stamp of a word that has just been read, 0 where it gets none.
    #[inline]
    pub(crate) fn stamp(&self, cell: &Cell) -> u64 {
        let Some(([a, b], writes)) = cell.read_by() else { return 0 };
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

    fn list(&mut self, thread: u32) -> &mut Extra {
        let extra = &mut self.extras[thread as usize];
        if !extra.listed {
            extra.listed = true;
            self.listed.push(thread);
        }
        extra
    }

    /// What a thread knows now, itself included.
    fn snapshot(&mut self, thread: u32) -> VectorClock {
        let upto = self.now();
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

    /// Lanes of a warp that all wait for each other. `alive` are those that still run.
    pub(crate) fn warp_sync(&mut self, warp: u32, members: u32, alive: u32) {
        let first = warp * LANES as u32;
        let members = members & alive;
        if members & alive == alive {
            let upto = self.now();
            if let Some(least) = self.warp_least.get_mut(warp as usize) {
                *least = upto;
            }
            if !self.listed.iter().any(|&thread| thread / LANES as u32 == warp) {
                return;
            }
        }
        let list: Vec<u32> = lanes(members).map(|lane| first + lane as u32).collect();
        self.meet(&list, None);
    }

    /// Threads that wait for each other, and for what others have left.
    fn meet(&mut self, list: &[u32], left: Option<Arc<VectorClock>>) {
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
            let extra = self.list(thread);
            extra.known.clone_from(&all);
            extra.released.clone_from(&released);
        }
    }

    /// Lanes come to a barrier of the block.
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

    /// A barrier lets those go on that wait there: of all threads that still run, or of a number.
    pub(crate) fn release(&mut self, barrier: u8, counted: bool) {
        let arrivals = std::mem::take(&mut self.arrivals[usize::from(barrier) % BARRIERS]);
        let waiting = || arrivals.iter().filter(|arrival| arrival.left.is_none());
        let count: u32 = waiting().map(|arrival| arrival.mask.count_ones()).sum();
        if count as usize == self.extras.len() || !counted && waiting().count() == arrivals.len() {
            self.everybody();
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
        self.meet(&list, left);
    }

    /// All threads of the block have waited for each other.
    fn everybody(&mut self) {
        self.least = self.now();
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
        all.settle(self.block);
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
