//! What the threads of a block know of each other and of other blocks: their clocks.
//!
//! The block has one clock, since its warps take turns on one thread of the host. It goes on
//! whenever something is ordered. Most orders are alike for all threads of a block (a barrier) or
//! of a warp (`bar.warp.sync`, a shuffle), so there is a floor for each; what single threads know
//! beyond that, from barriers of some warps, from masks of some lanes, from what others released,
//! is kept with them.

use std::sync::Arc;

use super::cell::Cell;
use super::clocks::{Clocks, View, join};
use super::event::{Event, LAST_CLOCK, Manner, Moment};
use super::shadow::{Pool, READ_BY_BLOCKS, Shadow, read_by_warps};
use super::variables::Published;
use crate::engine::barrier::BARRIERS;
use crate::engine::registers::{LANES, lanes};
use crate::memory::OutOfMemory;

/// Scopes, as indices: of the block, and wider.
const NARROW: usize = 0;
const WIDE: usize = 1;

/// What one thread knows beyond its block and its warp.
#[derive(Clone, Debug, Default)]
struct Extra {
    known: Option<Arc<Clocks>>,
    /// What a strong write publishes, by its scope: what the last fence closed.
    released: [Option<Arc<Clocks>>; 2],
    /// What strong reads have found, by scope: a fence makes it known.
    pending: [Option<Arc<Clocks>>; 2],
    listed: bool,
}

/// Lanes that have come to a barrier.
#[derive(Clone, Debug)]
struct Arrival {
    warp: u32,
    mask: u32,
    /// What they leave there; `None` where they wait, and so do nothing meanwhile.
    left: Option<Arc<Clocks>>,
}

/// A `cp.async` that has not been waited for.
#[derive(Clone, Copy, Debug)]
struct Pending {
    thread: u32,
    group: u32,
    address: u64,
    bytes: u64,
}

/// What comes before an access of a warp whose lanes know no more than their block does, of other
/// blocks nothing: as it is in most kernels, and quickly told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plainly {
    floor: u32,
    /// Of shared memory, where other blocks have left what counts no longer.
    shared: bool,
}

impl Plainly {
    /// As [`Threads::knows`], of the thread that does `new`.
    #[inline(always)]
    pub(crate) fn knows(self, new: Event, old: Event) -> bool {
        if !old.same_block(new) {
            return self.shared;
        }
        !old.asynchronous() && (old.clock() <= self.floor || old.same_thread(new))
    }

    /// Whether an access comes before what any thread of the block of `new` does.
    #[inline(always)]
    pub(crate) fn settled(self, new: Event, old: Event) -> bool {
        let own = !old.asynchronous() & (old.clock() <= self.floor);
        !old.is_some() | if old.same_block(new) { own } else { self.shared }
    }
}

/// See the module's comment.
#[derive(Debug)]
pub(crate) struct Threads {
    block: u32,
    clock: u32,
    /// Something has been accessed since the clock went on.
    accessed: bool,
    floor: u32,
    /// What all threads know of other blocks.
    base: Arc<Clocks>,
    /// What all threads have released before the last barrier.
    base_released: [Option<Arc<Clocks>>; 2],
    warp_floors: Vec<u32>,
    extras: Vec<Extra>,
    /// Threads whose extra is not empty.
    listed: Vec<u32>,
    arrivals: [Vec<Arrival>; BARRIERS],
    /// What strong writes have published to this block.
    published: Published,
    copies: Vec<Pending>,
    /// How many groups of copies each thread has committed.
    groups: Vec<u32>,
    /// `None` while it is looked at.
    pub(crate) shared: Option<Box<Shadow>>,
}

impl Threads {
    /// Threads of a block, with so many bytes of shared memory.
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
            floor: 0,
            base: Arc::default(),
            base_released: [None, None],
            warp_floors: vec![0; threads.div_ceil(LANES as u32) as usize],
            extras: vec![Extra::default(); threads as usize],
            listed: Vec::new(),
            arrivals: Default::default(),
            published: Published::new(),
            copies: Vec::new(),
            groups: vec![0; threads as usize],
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
    pub(crate) fn moment(&mut self, manner: Manner) -> Moment {
        self.accessed = true;
        Moment(Event::new(self.block, 0, self.clock, manner, 0))
    }

    /// Whether an access comes before what a thread does now. Of `shared` memory only the block's
    /// own accesses count.
    #[inline]
    pub(crate) fn knows(&self, thread: u32, event: Event, shared: bool) -> bool {
        let (of, clock) = (event.thread(), event.clock());
        if event.asynchronous() {
            return event.block() != self.block && shared;
        }
        if clock <= self.floor && event.block() == self.block {
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
                        .warp_floors
                        .get(of as usize / LANES)
                        .is_some_and(|&floor| clock <= floor)
                || extra();
        }
        shared || self.base.knows(event.block(), of, clock) || extra()
    }

    /// Whether [`Plainly`] tells it all of a warp.
    #[inline]
    pub(crate) fn plainly(&self, warp: u32, shared: bool) -> Option<Plainly> {
        let warp_floor = self.warp_floors.get(warp as usize).copied().unwrap_or(0);
        let alike = self.listed.is_empty() && warp_floor <= self.floor && self.base.is_empty();
        alike.then_some(Plainly { floor: self.floor, shared })
    }

    /// Stamps of words that the threads of this block need not look at to read them.
    #[inline(always)]
    pub(crate) fn quiet_stamps(&self) -> [u64; 2] {
        if !self.listed.is_empty() {
            return [READ_BY_BLOCKS; 2].map(|stamp| stamp - 1);
        }
        let own = read_by_warps(self.block, self.floor);
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
        let earlier = |event: Event| event.block() == self.block && event.clock() <= self.floor;
        let settled = writes.iter().all(|&write| !write.is_some() || earlier(write));
        let own = a.block() == self.block && !earlier(a) && !earlier(b);
        if own && settled { read_by_warps(self.block, self.floor) } else { 0 }
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
    fn snapshot(&mut self, thread: u32) -> Clocks {
        let upto = self.now();
        let mut clocks = Clocks::clone(&self.base);
        if let Some(known) = &self.extras[thread as usize].known {
            clocks.join(known);
        }
        let first = thread / LANES as u32 * LANES as u32;
        let warp_floor = self.warp_floors[thread as usize / LANES];
        let mut threads = Vec::new();
        if warp_floor > self.floor {
            let last = (first + LANES as u32).min(self.extras.len() as u32);
            threads = (first..last).map(|mate| (mate, warp_floor)).collect();
        }
        let mut view = View { floor: self.floor, threads };
        view.join(&View { floor: 0, threads: vec![(thread, upto)] });
        clocks.join_view(self.block, &Arc::new(view));
        clocks
    }

    /// Lanes of a warp that all wait for each other. `alive` are those that still run.
    pub(crate) fn warp_sync(&mut self, warp: u32, members: u32, alive: u32) {
        let first = warp * LANES as u32;
        let members = members & alive;
        if members & alive == alive {
            let upto = self.now();
            if let Some(floor) = self.warp_floors.get_mut(warp as usize) {
                *floor = upto;
            }
            if !self.listed.iter().any(|&thread| thread / LANES as u32 == warp) {
                return;
            }
        }
        let list: Vec<u32> = lanes(members).map(|lane| first + lane as u32).collect();
        self.meet(&list, None);
    }

    /// Threads that wait for each other, and for what others have left.
    fn meet(&mut self, list: &[u32], left: Option<Arc<Clocks>>) {
        let mut all = left;
        let mut released: [Option<Arc<Clocks>>; 2] = [None, None];
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
        self.floor = self.now();
        let listed = std::mem::take(&mut self.listed);
        if listed.is_empty() {
            return;
        }
        let mut all = Clocks::clone(&self.base);
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

    /// A fence of lanes of a warp.
    pub(crate) fn fence(&mut self, warp: u32, mask: u32, wide: bool) {
        for lane in lanes(mask) {
            let thread = warp * LANES as u32 + lane as u32;
            self.acquire_pending(thread, usize::from(wide));
            let own = Arc::new(self.snapshot(thread));
            let extra = self.list(thread);
            for released in &mut extra.released[..=usize::from(wide)] {
                *released = Some(Arc::clone(&own));
            }
        }
    }

    /// What a strong write of a thread tells those who read it, in a scope.
    pub(crate) fn publishes(
        &mut self,
        thread: u32,
        wide: bool,
        release: bool,
    ) -> Option<Arc<Clocks>> {
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

    /// A strong write publishes to this block.
    pub(crate) fn publish(&mut self, address: u64, clocks: &Arc<Clocks>) {
        join(self.published.entry(address).or_default(), clocks);
    }

    /// What has been published to this block at an address.
    pub(crate) fn published(&self, address: u64) -> Option<Arc<Clocks>> {
        self.published.get(&address).cloned().flatten()
    }

    /// A strong read of a thread has found what others published.
    pub(crate) fn found(&mut self, thread: u32, clocks: &Arc<Clocks>, wide: bool, acquire: bool) {
        let extra = self.list(thread);
        if acquire {
            join(&mut extra.known, clocks);
        } else {
            join(&mut extra.pending[usize::from(wide)], clocks);
        }
    }

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
            let settled = self.moment(Manner::default()).of(copy.thread, 0);
            let last = shared.word(copy.address + copy.bytes.max(1) - 1);
            for word in shared.word(copy.address)..=last {
                if let Some(page) = shared.page(word) {
                    page.cells()[word % super::shadow::PAGE].settle(settled);
                }
            }
        }
        self.shared = Some(shared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(threads: &mut Threads, thread: u32) -> Event {
        threads.moment(Manner::default()).of(thread, 0xf)
    }

    #[test]
    fn what_is_told_plainly_is_so() {
        let mut threads = Threads::new(64, 0).unwrap();
        threads.start(3);
        let mut events = vec![write(&mut threads, 3)];
        let asynchronous = Manner { asynchronous: true, ..Manner::default() };
        events.push(threads.moment(asynchronous).of(5, 0xf));
        for warp in 0..2 {
            threads.arrive(0, warp, u32::MAX, true);
        }
        threads.release(0, false);
        events.extend([write(&mut threads, 3), write(&mut threads, 35)]);
        events.push(threads.moment(asynchronous).of(40, 0xf));
        events.extend([Manner::default(), asynchronous].map(|m| Event::new(9, 3, 1, m, 0xf)));
        for shared in [false, true] {
            let plainly = threads.plainly(0, shared).expect("only a barrier of all");
            for thread in 0..32 {
                let new = write(&mut threads, thread);
                for &old in &events {
                    let known = threads.knows(thread, old, shared);
                    assert_eq!(plainly.knows(new, old), known, "{thread} {old:?} {shared}");
                    let all = (0..64).all(|thread| threads.knows(thread, old, shared));
                    assert_eq!(plainly.settled(new, old), all, "{old:?} {shared}");
                }
            }
        }
        threads.warp_sync(0, u32::MAX, u32::MAX);
        assert!(threads.plainly(0, true).is_none() && threads.plainly(1, true).is_some());
    }

    #[test]
    fn a_barrier_of_all_orders_everything_before_it() {
        let mut threads = Threads::new(64, 0).unwrap();
        let before = write(&mut threads, 3);
        assert!(threads.knows(3, before, true) && !threads.knows(4, before, true));
        threads.arrive(0, 0, u32::MAX, true);
        threads.arrive(0, 1, u32::MAX, true);
        threads.release(0, false);
        let after = write(&mut threads, 3);
        assert!(threads.knows(63, before, true) && !threads.knows(63, after, true));
    }

    #[test]
    fn a_barrier_of_two_warps_orders_these_two() {
        let mut threads = Threads::new(96, 0).unwrap();
        let producer = write(&mut threads, 0);
        let other = write(&mut threads, 64);
        // Warp 0 arrives and goes on, warp 1 waits.
        threads.arrive(1, 0, u32::MAX, false);
        let late = write(&mut threads, 0);
        threads.arrive(1, 1, u32::MAX, true);
        threads.release(1, true);
        assert!(threads.knows(40, producer, true));
        assert!(!threads.knows(40, late, true) && !threads.knows(40, other, true));
        assert!(!threads.knows(70, producer, true));
        // What a thread knows goes on to whom it meets.
        threads.arrive(2, 1, u32::MAX, true);
        threads.arrive(2, 2, u32::MAX, true);
        threads.release(2, true);
        assert!(threads.knows(70, producer, true) && !threads.knows(70, late, true));
    }

    #[test]
    fn a_warp_barrier_orders_its_members() {
        let mut threads = Threads::new(64, 0).unwrap();
        let event = write(&mut threads, 0);
        threads.warp_sync(0, 0xffff, u32::MAX);
        assert!(threads.knows(15, event, true) && !threads.knows(16, event, true));
        threads.warp_sync(0, u32::MAX, u32::MAX);
        assert!(threads.knows(31, event, true) && !threads.knows(32, event, true));
    }

    #[test]
    fn a_fence_and_a_flag_order_threads_of_two_blocks() {
        let (mut one, mut other) = (Threads::new(32, 0).unwrap(), Threads::new(32, 0).unwrap());
        one.start(0);
        other.start(1);
        let (data, mate) = (write(&mut one, 0), write(&mut one, 1));
        assert!(one.publishes(0, true, false).is_none());
        one.fence(0, 1, true);
        let late = write(&mut one, 0);
        let flag = one.publishes(0, true, false).unwrap();
        other.found(5, &flag, true, false);
        assert!(!other.knows(5, data, false));
        other.fence(0, 1 << 5, true);
        assert!(other.knows(5, data, false));
        assert!(!other.knows(5, mate, false) && !other.knows(5, late, false));
        // A barrier hands it on to the whole block.
        assert!(!other.knows(6, data, false));
        other.arrive(0, 0, u32::MAX, true);
        other.release(0, false);
        assert!(other.knows(6, data, false));
    }

    #[test]
    fn a_fence_of_the_block_publishes_nothing_to_other_blocks() {
        let mut threads = Threads::new(32, 0).unwrap();
        threads.fence(0, 1, false);
        assert!(threads.publishes(0, false, false).is_some());
        assert!(threads.publishes(0, true, false).is_none());
    }
}
