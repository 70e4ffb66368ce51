//! Checks and records the accesses of one instruction, word by word.

use super::cell::{Cell, Conflict, Effect};
use super::event::{Event, Moment, Semantics};
use super::shadow::{PAGE_WORDS, Shadow};
use super::thread_clocks::{ThreadClocks, UniformClock};
use crate::engine::registers::{LANES, lanes};

/// The accesses of one instruction to the same shadow.
pub(super) struct Batch<'batch> {
    pub(super) shadow: &'batch Shadow,
    pub(super) shared: bool,
    pub(super) addresses: &'batch [u64; LANES],
    /// Subtracted from an address to get the shadow's address.
    pub(super) minus: u64,
    pub(super) bytes: u64,
    pub(super) semantics: Semantics,
    pub(super) effect: Effect,
    pub(super) warp: u32,
    pub(super) step: u32,
    /// Whether two lanes store the same value.
    pub(super) same_value: &'batch dyn Fn(usize, usize) -> bool,
}

/// The first lane of an access that races.
pub(super) struct Racing {
    pub(super) lane: usize,
    pub(super) conflict: Conflict,
    /// Whether any lane of the access races with another warp of the block.
    pub(super) across_warps: bool,
}

impl Batch<'_> {
    /// Records the accesses of the active lanes. Returns the first one that races.
    pub(super) fn run(&self, threads: &mut ThreadClocks, mask: u32) -> Option<Racing> {
        let moment = threads.current_moment(self.semantics);
        let threads = &*threads;
        match threads.uniform_clock(self.warp, self.shared) {
            Some(uniform) if self.bytes == 4 && !self.semantics.strong => {
                self.record_words(threads, moment, mask, uniform)
            }
            Some(uniform) => self.record_each(threads, moment, (mask, mask), |new, old| {
                uniform.happens_before(new, old)
            }),
            None => self.record_each(threads, moment, (mask, mask), |new, old| {
                threads.knows(new.thread(), old, self.shared)
            }),
        }
    }

    /// Records weak, aligned accesses to one word per lane, by lanes with a uniform clock.
    fn record_words(
        &self,
        threads: &ThreadClocks,
        moment: Moment,
        mask: u32,
        uniform: UniformClock,
    ) -> Option<Racing> {
        let first_thread = self.warp * LANES as u32;
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let word = self.shadow.word(self.addresses[lane].wrapping_sub(self.minus));
            let Some(page) = self.shadow.page(word) else {
                left &= left - 1;
                continue;
            };
            let mut cells = page.cells();
            // All following lanes whose words are in this page.
            while left != 0 {
                let lane = left.trailing_zeros() as usize;
                let at = self.shadow.word(self.addresses[lane].wrapping_sub(self.minus));
                if at / PAGE_WORDS != word / PAGE_WORDS {
                    break;
                }
                let event = moment.event(first_thread + lane as u32, 0xf);
                let cell = &mut cells[at % PAGE_WORDS];
                let known = |old| uniform.happens_before(event, old);
                let Some(kept) = cell.fast_path(event, self.step, self.effect, known) else {
                    drop(cells);
                    let knows = |new, old| uniform.happens_before(new, old);
                    return self.record_each(threads, moment, (left, mask), knows);
                };
                // Another read is also recorded, so the word may now need no more checks (see
                // `Shadow`).
                let alone = !kept.is_some() || kept.same_warp(event);
                page.set_stamp(at, if alone { 0 } else { threads.stamp(cell) });
                left &= left - 1;
            }
        }
        None
    }

    /// Records the accesses of the `left` lanes, one by one. `known` tells whether an old access
    /// happens before a new one.
    #[inline(always)]
    fn record_each(
        &self,
        threads: &ThreadClocks,
        moment: Moment,
        (left, mask): (u32, u32),
        known: impl Fn(Event, Event) -> bool,
    ) -> Option<Racing> {
        let mut page_at = usize::MAX;
        let mut page = None;
        let mut first: Option<Racing> = None;
        let whole = self.bytes >= 4 && self.bytes.is_multiple_of(4);
        for lane in lanes(left) {
            let address = self.addresses[lane].wrapping_sub(self.minus);
            let thread = self.warp * LANES as u32 + lane as u32;
            let last = self.shadow.word(address + self.bytes - 1);
            for word in self.shadow.word(address)..=last {
                if page_at != word / PAGE_WORDS {
                    page_at = word / PAGE_WORDS;
                    // The lock of the last page is released before the next one is taken.
                    drop(page.take());
                    page = self.shadow.page(word).map(|page| (page, page.cells()));
                }
                let Some((page, cells)) = &mut page else { continue };
                let bytes = if whole {
                    0xf
                } else {
                    bytes_of(self.shadow.address(word), address, self.bytes)
                };
                let event = moment.event(thread, bytes);
                let cell: &mut Cell = &mut cells[word % PAGE_WORDS];
                let conflict = cell.access(event, self.step, self.effect, |old| known(event, old));
                let stamp = if self.effect == Effect::Read { threads.stamp(cell) } else { 0 };
                page.set_stamp(word, stamp);
                if let Some(conflict) = conflict
                    && !self.stores_same_value(mask, lane, event, conflict)
                {
                    let other = conflict.event;
                    let first = first.get_or_insert(Racing { lane, conflict, across_warps: false });
                    first.across_warps |= other.same_block(event) && other.warp() != event.warp();
                }
            }
        }
        first
    }

    /// Whether two lanes store the same value to the same address with this instruction.
    fn stores_same_value(&self, mask: u32, lane: usize, event: Event, conflict: Conflict) -> bool {
        let other = (conflict.event.thread() % LANES as u32) as usize;
        self.effect == Effect::Write
            && !self.semantics.asynchronous
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

/// The bytes of the word at `word` that an access touches, one bit each.
fn bytes_of(word: u64, address: u64, bytes: u64) -> u32 {
    let from = address.saturating_sub(word).min(4);
    let to = (address + bytes).saturating_sub(word).min(4);
    ((1u32 << to) - 1) & !((1 << from) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_covers_bytes_of_its_words() {
        assert_eq!(bytes_of(8, 8, 4), 0b1111);
        assert_eq!(bytes_of(8, 10, 2), 0b1100);
        assert_eq!(bytes_of(8, 9, 1), 0b0010);
        // Five bytes from 8 reach one byte into the next word.
        assert_eq!((bytes_of(8, 8, 5), bytes_of(12, 8, 5)), (0b1111, 0b0001));
    }
}
