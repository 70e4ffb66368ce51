//! racecheck: two threads access the same bytes, at least one of them writes, at least one of the
//! two accesses is weak, and nothing orders them.
//!
//! What orders (PTX ISA, "Memory Consistency Model"; where it leaves a kernel no right that NVIDIA's
//! own samples rely on, the samples win):
//!
//! - One thread's accesses are in order; those of two lanes of a warp are not, though they run in
//!   lockstep.
//! - `bar` and `barrier` order the threads that take part: those that wait know what all have done,
//!   those that only arrive are known.
//! - `bar.warp.sync`, and the other `.sync` instructions of a warp, order the lanes of their mask.
//! - A strong write (volatile, relaxed, atomic) tells those who strongly read there later what its
//!   thread had closed off with a fence before; a release tells everything. The reader knows it
//!   after a fence, an acquire, or (as in the sample threadFenceReduction) a barrier. Scopes count:
//!   a fence or an access of `.cta` tells other blocks nothing.
//! - What a strong read or an atomic operation has observed precedes what its thread does next, even
//!   without a fence: the observed write itself, not what came before it.
//! - Nothing else orders two blocks. A barrier of a cooperative grid is made of the above.
//! - One launch comes after the other: each begins with nothing accessed.
//!
//! Atomic and other strong accesses never race with each other, where each is in the other's scope.
//! A weak load whose value goes into a compare-and-swap of the same address counts as strong: it is a
//! guess, which the compare-and-swap checks. It is a data race all the same, but one of a single size,
//! which gives some value that was there (PTX ISA, "Limitations on Mixed-size Data-races"); the CUDA C++
//! Programming Guide, "Atomic Functions", writes atomic operations so.
//! Two lanes that store the same value with the same instruction are let pass: one of them is
//! performed (CUDA C++ Programming Guide, "SIMT Architecture"). The write of a `cp.async` is one of
//! a thread of its own until it has been waited for.
//!
//! A word remembers two reads and two writes ([`cell`]), so a kernel in which some threads wait for
//! some others can hide a race from it. What it reports is one.

mod cell;
mod clocks;
mod event;
mod shadow;
mod threads;
mod variables;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use self::cell::Does;
use self::cell::{Cell, Conflict};
pub(super) use self::event::Manner;
use self::event::{Event, Moment};
use self::shadow::PAGE;
pub(crate) use self::shadow::Pool;
pub(super) use self::shadow::Shadow;
pub(super) use self::threads::Threads;
use self::variables::Variables;
use super::access::{Access, Stretch};
use super::core::{Core, Other, Outcome, Problem};
use super::registers::{LANES, lanes};
use super::space::{LOCAL_WINDOW, Room, SHARED_WINDOW, in_window};
use crate::fault::FaultKind;
use crate::memory::OutOfMemory;
use crate::program::{Ordering, Scope};

/// What the blocks of a launch share.
#[derive(Debug, Default)]
pub(super) struct Races {
    shadows: Mutex<BTreeMap<u64, Arc<Shadow>>>,
    variables: Variables,
    turn: Mutex<()>,
    pool: Pool,
}

impl Races {
    /// Of a launch on a device whose pages are these.
    pub(super) fn new(pool: &Pool) -> Self {
        Self { pool: pool.clone(), ..Self::default() }
    }

    /// Held while strong accesses are remembered and done, so that they are remembered in the order
    /// in which they observe each other.
    pub(super) fn in_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shadow of an allocation.
    ///
    /// # Errors
    /// When the host has not the room for it.
    pub(super) fn shadow(&self, base: u64, size: u64) -> Result<Arc<Shadow>, OutOfMemory> {
        let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        // A kernel's heap may have given out a block of another size there.
        if let Some(shadow) = shadows.get(&base).filter(|shadow| shadow.holds(base, size)) {
            return Ok(Arc::clone(shadow));
        }
        let shadow = Arc::new(Shadow::new(base, size, self.pool.clone())?);
        shadows.insert(base, Arc::clone(&shadow));
        Ok(shadow)
    }

    /// Forgets who has accessed a block of a kernel's heap: whoever gets it next has nothing to do
    /// with them.
    pub(super) fn forget(&self, base: u64) {
        let shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shadow) = shadows.get(&base) {
            shadow.clear();
        }
    }

    /// Whether there was no room to remember all accesses.
    pub(super) fn lost_some(&self) -> bool {
        self.pool.was_exhausted()
    }
}

/// How an instruction takes part in the memory model.
pub(super) fn manner(ordering: Ordering, scope: Option<Scope>) -> Manner {
    let strong = ordering != Ordering::Weak;
    // Volatile is relaxed with the scope of the system.
    let wide = matches!(scope, None | Some(Scope::Gpu | Scope::System));
    Manner { strong, wide: strong && wide, asynchronous: false }
}

/// The accesses of one instruction that go to the same shadow.
struct Batch<'batch> {
    shadow: &'batch Shadow,
    shared: bool,
    addresses: &'batch [u64; LANES],
    /// Taken from an address, it is the shadow's own.
    minus: u64,
    bytes: u64,
    manner: Manner,
    does: Does,
    warp: u32,
    step: u32,
    /// Whether two lanes store the same value.
    same_value: &'batch dyn Fn(usize, usize) -> bool,
}

impl Batch<'_> {
    /// Remembers those of the lanes of a mask; the first that races, and with what.
    fn run(&self, threads: &mut Threads, mask: u32) -> Option<(usize, Conflict)> {
        let moment = threads.moment(self.manner);
        let threads = &*threads;
        match threads.plainly(self.warp, self.shared) {
            Some(plainly) if !self.manner.strong => {
                let settled = |new, old| plainly.settled(new, old);
                self.each(threads, moment, mask, |new, old| plainly.knows(new, old), settled)
            }
            _ => {
                let known = |new: Event, old| threads.knows(new.thread(), old, self.shared);
                self.each(threads, moment, mask, known, |_, _| false)
            }
        }
    }

    /// The same; `known` says whether an access is ordered before a new one, `settled` whether it is
    /// so for whoever does that.
    #[inline(always)]
    fn each(
        &self,
        threads: &Threads,
        moment: Moment,
        mask: u32,
        known: impl Fn(Event, Event) -> bool,
        settled: impl Fn(Event, Event) -> bool,
    ) -> Option<(usize, Conflict)> {
        let mut page_at = usize::MAX;
        let mut page = None;
        let mut first = None;
        let whole = self.bytes >= 4 && self.bytes.is_multiple_of(4);
        for lane in lanes(mask) {
            let address = self.addresses[lane].wrapping_sub(self.minus);
            let thread = self.warp * LANES as u32 + lane as u32;
            let last = self.shadow.word(address + self.bytes - 1);
            for word in self.shadow.word(address)..=last {
                if page_at != word / PAGE {
                    page_at = word / PAGE;
                    // The last page's lock goes before the next is taken.
                    drop(page.take());
                    page = self.shadow.page(word).map(|page| (page, page.cells()));
                }
                let Some((page, cells)) = &mut page else { continue };
                let bytes = if whole {
                    0xf
                } else {
                    bytes_of(self.shadow.address(word), address, self.bytes)
                };
                let event = moment.of(thread, bytes);
                let cell: &mut Cell = &mut cells[word % PAGE];
                if whole && cell.begin(event, self.step, self.does, |old| settled(event, old)) {
                    // Of one access alone nobody else's can be done without.
                    page.set_stamp(word, 0);
                    continue;
                }
                let conflict = cell.access(event, self.step, self.does, |old| known(event, old));
                let stamp = if self.does == Does::Read { threads.stamp(cell) } else { 0 };
                page.set_stamp(word, stamp);
                if let Some(conflict) = conflict
                    && first.is_none()
                    && !self.same_store(mask, lane, event, conflict)
                {
                    first = Some((lane, conflict));
                }
            }
        }
        first
    }

    /// Two lanes store the same value to the same address with this instruction.
    fn same_store(&self, mask: u32, lane: usize, event: Event, conflict: Conflict) -> bool {
        let other = (conflict.event.thread() % LANES as u32) as usize;
        self.does == Does::Write
            && !self.manner.asynchronous
            && conflict.wrote
            && conflict.step == self.step
            && conflict.event.same_block(event)
            && conflict.event.warp() == event.warp()
            && conflict.event.clock() == event.clock()
            && mask & 1 << other != 0
            && self.addresses[other] == self.addresses[lane]
            && (self.same_value)(lane, other)
    }
}

/// Which bytes of the word at `word` an access touches, one bit for each.
fn bytes_of(word: u64, address: u64, bytes: u64) -> u32 {
    let from = address.saturating_sub(word).min(4);
    let to = (address + bytes).saturating_sub(word).min(4);
    ((1u32 << to) - 1) & !((1 << from) - 1)
}

impl Core<'_> {
    /// Where it is remembered who reads words that an access reaches by rows.
    #[inline(always)]
    fn shadow_of(&self, access: &Access) -> Option<&Shadow> {
        match access.room {
            Room::Shared => self.threads.as_deref()?.shared.as_deref(),
            Room::Global => self.sites[access.site as usize].races.as_deref(),
            _ => None,
        }
    }

    /// Whether two halves of a warp read words of which enough is remembered.
    #[inline(always)]
    pub(super) fn need_no_look<const AVX: bool>(
        &self,
        access: &Access,
        found: &[Stretch; 2],
    ) -> bool {
        let Some(threads) = &self.threads else { return true };
        let Some(shadow) = self.shadow_of(access) else { return false };
        let stamps = threads.quiet_stamps();
        let quiet =
            |stretch: &Stretch| shadow.all_stamped::<AVX>(stretch.start, stretch.bytes, stamps);
        // Rows of a tile: both halves of the warp read the same words.
        quiet(&found[0]) && (found[0] == found[1] || quiet(&found[1]))
    }

    /// The same of any words, one for each lane.
    #[inline]
    pub(super) fn needs_no_look(
        &self,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> bool {
        let Some(threads) = &self.threads else { return true };
        let Some(shadow) = self.shadow_of(access) else { return false };
        let (stamps, bytes) = (threads.quiet_stamps(), access.total());
        lanes(mask).all(|lane| shadow.all_stamped::<false>(addresses[lane], bytes, stamps))
    }

    /// Remembers the accesses of the lanes of a mask, `bytes` bytes each, and reports a race.
    pub(super) fn race(
        &mut self,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        (bytes, manner): (u64, Manner),
        does: Does,
    ) -> Outcome {
        let Some(mut threads) = self.threads.take() else { return Ok(()) };
        let mut result = Ok(());
        if threads.counting()
            && bytes > 0
            && let Some(shared) = threads.shared.take()
        {
            let both = (&mut *threads, &*shared);
            result = self.race_with(both, access, addresses, mask, (bytes, manner), does);
            threads.shared = Some(shared);
        }
        self.threads = Some(threads);
        result
    }

    fn race_with(
        &mut self,
        (threads, shared): (&mut Threads, &Shadow),
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        (bytes, manner): (u64, Manner),
        does: Does,
    ) -> Outcome {
        let write = does != Does::Read;
        let mut left = mask;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let address = addresses[first];
            // Finds the allocation, or the fault.
            self.resolve_bytes(access.room, access.site, address, bytes, first, write)?;
            let shared_window = in_window(address, SHARED_WINDOW) && access.room == Room::Generic;
            let (shadow, base, len, minus) = match access.room {
                Room::Local | Room::Param => return Ok(()),
                Room::Shared => (Some(shared), 0, self.shared.len(), 0),
                Room::Generic if shared_window => {
                    (Some(shared), SHARED_WINDOW, self.shared.len(), SHARED_WINDOW)
                }
                Room::Generic if in_window(address, LOCAL_WINDOW) => (None, 0, 0, 0),
                Room::Global | Room::Generic => {
                    let site = &self.sites[access.site as usize];
                    let inside = site.region.host(address, bytes).is_some();
                    let shadow = site.races.as_deref().filter(|_| inside);
                    (shadow, site.region.base, site.region.len, 0)
                }
            };
            let Some(shadow) = shadow else {
                left &= !(1 << first);
                continue;
            };
            let room = len.wrapping_sub(bytes);
            let mut group = 0;
            for (lane, address) in addresses.iter().enumerate() {
                group |= u32::from(bytes <= len && address.wrapping_sub(base) <= room) << lane;
            }
            group &= left;
            left &= !group;
            let group = if write { group } else { group & !inner(addresses, group) };
            let registers = &self.registers;
            let same_value = |one: usize, other: usize| {
                access.values.iter().all(|&slot| {
                    let (low, high) = slot.halves();
                    registers.get(low, one) == registers.get(low, other)
                        && registers.get(high, one) == registers.get(high, other)
                })
            };
            let batch = Batch {
                shadow,
                shared: std::ptr::eq(shadow, shared),
                addresses,
                minus,
                bytes,
                manner,
                does,
                warp: self.warp,
                step: self.step,
                same_value: &same_value,
            };
            if let Some((lane, conflict)) = batch.run(threads, group) {
                return Err(self.racing(
                    access.room,
                    (addresses[lane], bytes),
                    lane,
                    (write, manner),
                    conflict,
                ));
            }
        }
        Ok(())
    }

    fn racing(
        &self,
        room: Room,
        (address, bytes): (u64, u64),
        lane: usize,
        (write, manner): (bool, Manner),
        conflict: Conflict,
    ) -> Box<Problem> {
        let Conflict { event, step, wrote } = conflict;
        let what = super::space::access_name(room, bytes, write);
        let verb = if wrote { "writes" } else { "reads" };
        let mut problem = Problem::new(
            FaultKind::Race,
            format!("{what} at {address:#x}, which another thread {verb}; nothing orders the two"),
        )
        .lane(lane)
        .address(address);
        problem.other = Some(Other { block: event.block(), thread: event.thread(), step, wrote });
        let same_block = u64::from(event.block()) == self.block & u64::from(event::HOST);
        let advice = if event.asynchronous() {
            "a cp.async has not been waited for: cp.async.wait_group (or wait_all), then a barrier"
        } else if !same_block {
            "blocks of a grid run in any order: use atomics with fences around them (of .gpu scope), \
             a barrier of a cooperative grid, or two kernels"
        } else if event.warp() == self.warp {
            "lanes of a warp may run apart: put bar.warp.sync (__syncwarp) between the two"
        } else {
            "put a barrier (bar.sync, __syncthreads) between the two"
        };
        if let Some(near) = self.near(room, address) {
            problem = problem.note(near);
        }
        if manner.strong != event.strong() {
            let (weak, strong) = if manner.strong { (wrote, write) } else { (write, wrote) };
            let name = |write: bool| if write { "write" } else { "read" };
            problem = problem.note(format!(
                "the {} is weak, the {} strong (atomic, volatile or relaxed): a data race, for both \
                 have to be strong (PTX ISA, Memory Consistency Model, \"Data-Races\"); {}",
                name(weak),
                name(strong),
                if weak { "what is there afterwards is open" } else { "which value is read is open" }
            ));
        }
        problem.note(advice)
    }

    /// Where a strong access finds what was published for its block; and for all, where it can be
    /// accessed by all.
    fn meeting_place(room: Room, address: u64) -> (u64, bool) {
        match room {
            Room::Shared => (address.wrapping_add(SHARED_WINDOW), false),
            _ => (address, !in_window(address, SHARED_WINDOW)),
        }
    }

    /// Before a strong write: tells what the thread has closed off.
    pub(super) fn publish(&mut self, access: &Access, lane: usize, release: bool) {
        let (Some(threads), Some(races)) = (&mut self.threads, self.races) else { return };
        let address = self.registers.get(access.address, lane).wrapping_add(access.offset);
        let (place, everywhere) = Self::meeting_place(access.room, address);
        let thread = self.warp * LANES as u32 + lane as u32;
        if let Some(clocks) = threads.publishes(thread, false, release) {
            threads.publish(place, &clocks);
        }
        if everywhere
            && access.manner.wide
            && let Some(clocks) = threads.publishes(thread, true, release)
        {
            races.variables.publish(place, &clocks);
        }
    }

    /// After a strong read: finds what others have told.
    pub(super) fn look(&mut self, access: &Access, lane: usize, address: u64, acquire: bool) {
        let (Some(threads), Some(races)) = (&mut self.threads, self.races) else { return };
        let (place, everywhere) = Self::meeting_place(access.room, address);
        let thread = self.warp * LANES as u32 + lane as u32;
        if let Some(clocks) = threads.published(place) {
            threads.found(thread, &clocks, false, acquire);
        }
        if everywhere
            && access.manner.wide
            && let Some(clocks) = races.variables.find(place)
        {
            threads.found(thread, &clocks, true, acquire);
        }
    }
}

/// Of lanes that follow each other and read the same address, all but the first and the last: they
/// add nothing.
fn inner(addresses: &[u64; LANES], mask: u32) -> u32 {
    let mut same = 0;
    for lane in 1..LANES {
        same |= u32::from(addresses[lane] == addresses[lane - 1]) << lane;
    }
    // Like the one before, like the one after, and both take part.
    same & same >> 1 & mask << 1 & mask >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_touches_bytes_of_its_words() {
        assert_eq!(bytes_of(8, 8, 4), 0b1111);
        assert_eq!(bytes_of(8, 10, 2), 0b1100);
        assert_eq!(bytes_of(8, 9, 1), 0b0010);
        // Five bytes from 8 reach one byte into the next word.
        assert_eq!((bytes_of(8, 8, 5), bytes_of(12, 8, 5)), (0b1111, 0b0001));
    }

    #[test]
    fn of_lanes_that_read_the_same_word_two_are_kept() {
        let mut addresses = [4; LANES];
        addresses[3] = 8;
        addresses[4] = 12;
        addresses[5] = 12;
        assert_eq!(inner(&addresses, 0b111_1111), 0b10);
        assert_eq!(inner(&addresses, u32::MAX), 0b10 | (u32::MAX >> 8 << 7 & !(1 << 31)));
    }
}
