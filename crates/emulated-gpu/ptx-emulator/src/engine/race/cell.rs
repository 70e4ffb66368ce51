//! The shadow cell of a word of memory, which records its last accesses.
//!
//! Two writes and two reads are recorded. Two of each are needed because accesses that don't race
//! with each other (two reads, two atomics) may both race with a third access. Of the unordered
//! accesses, the last access is kept, and the access that is furthest from it: preferably in
//! another block, then in another warp, then in another lane. So a third access by any thread finds
//! one that is not its own. Discarded accesses can hide a race, but never cause a false positive.
//!
//! Strong accesses also record whether they observed another one: an atomic operation observes the
//! write before it and, transitively, the writes that this one observed; a strong read observes the
//! write that it reads. An observed write happens before the observer's next accesses, without a
//! fence (PTX ISA, "Causality order", second rule): so the last of several blocks that count may
//! reset the counter with a plain store.

use super::event::Event;

/// The recorded accesses of a word. See the module's comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    writes: [Event; 2],
    reads: [Event; 2],
    /// The step of each write, then of each read. The highest bit of the first step is set if the
    /// last write observed the other write; the highest bit of a read, if the read observed the
    /// last write.
    steps: [u32; 4],
}

/// The flag in [`Cell::steps`].
const OBSERVED: u32 = 1 << 31;

/// The effect of an access on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Write,
    /// An atomic operation, which observes the old value.
    Update,
}

/// The recorded access in a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) event: Event,
    pub(crate) step: u32,
    pub(crate) wrote: bool,
}

/// The mask of all four bytes of a word.
const ALL_BYTES: u32 = 0xf;

impl Cell {
    /// Records an access, and returns a conflict if it races. `known` is whether an old access
    /// happens before this one.
    #[inline]
    pub(crate) fn access(
        &mut self,
        new: Event,
        step: u32,
        effect: Effect,
        known: impl Fn(Event) -> bool,
    ) -> Option<Conflict> {
        if new.bytes() == ALL_BYTES
            && !new.strong()
            && self.fast_path(new, step, effect, &known).is_some()
        {
            return None;
        }
        self.general(new, step, effect, known)
    }

    /// A fast path of [`general`](Self::general), for a weak access to the whole word after all
    /// accesses that could race with it, which is nearly always the case. Returns the other read
    /// that is kept. `None` if the general path is needed.
    #[inline(always)]
    pub(crate) fn fast_path(
        &mut self,
        new: Event,
        step: u32,
        effect: Effect,
        known: impl Fn(Event) -> bool,
    ) -> Option<Event> {
        let before = |old: Event| !old.is_some() || known(old);
        if !(before(self.writes[0]) && before(self.writes[1])) {
            return None;
        }
        let [one, other] = self.reads;
        let (first, second) = (before(one), before(other));
        if effect != Effect::Read {
            if !(first && second) {
                return None;
            }
            self.writes = [new, Event::NONE];
            self.reads = [Event::NONE; 2];
            self.steps = [step, 0, 0, 0];
            return Some(Event::NONE);
        }
        if one == new {
            return Some(other);
        }
        // Keep the read whose thread is further from this read's thread, as `event_to_keep` does.
        let (kept, kept_step) = match (first, second) {
            (true, true) => (Event::NONE, 0),
            (false, true) => (one, self.steps[2]),
            (true, false) => (other, self.steps[3]),
            (false, false) if other.distance(new) > one.distance(new) => (other, self.steps[3]),
            (false, false) => (one, self.steps[2]),
        };
        self.reads = [new, kept];
        (self.steps[2], self.steps[3]) = (step, kept_step);
        Some(kept)
    }

    /// The general path, for any access.
    fn general(
        &mut self,
        new: Event,
        step: u32,
        effect: Effect,
        known: impl Fn(Event) -> bool,
    ) -> Option<Conflict> {
        let races =
            |old: Event| old.bytes() & new.bytes() != 0 && !old.compatible(new) && !known(old);
        let mut conflict = None;
        for index in 0..2 {
            let old = self.writes[index];
            if conflict.is_none()
                && old.is_some()
                && races(old)
                && !self.was_observed_earlier(index, &known)
            {
                let step = self.steps[index] & !OBSERVED;
                conflict = Some(Conflict { event: old, step, wrote: true });
            }
        }
        if effect == Effect::Read {
            self.add_read(new, step, known);
            return conflict;
        }
        for index in 0..2 {
            let old = self.reads[index];
            if conflict.is_none() && old.is_some() && races(old) {
                let step = self.steps[2 + index] & !OBSERVED;
                conflict = Some(Conflict { event: old, step, wrote: false });
            }
        }
        let is_covered = |old: Event| old.bytes() & !new.bytes() == 0 && known(old);
        for index in 0..2 {
            self.steps[2 + index] &= !OBSERVED;
            if self.reads[index].is_some() && is_covered(self.reads[index]) {
                self.reads[index] = Event::NONE;
            }
        }
        let before = self.writes[0];
        let (kept, kept_step) = event_to_keep(
            [(before, self.steps[0] & !OBSERVED), (self.writes[1], self.steps[1])],
            new,
            is_covered,
        );
        let through = kept == before || self.steps[0] & OBSERVED != 0;
        let observes = effect == Effect::Update && before.compatible(new) && through;
        self.writes = [new, kept];
        self.steps[0] = if observes { step | OBSERVED } else { step };
        self.steps[1] = kept_step;
        conflict
    }

    /// Whether an access that happens before the new one has observed a write.
    fn was_observed_earlier(&self, index: usize, known: impl Fn(Event) -> bool) -> bool {
        let last = index == 0 || self.steps[0] & OBSERVED != 0;
        let by_update = index == 1 && last && known(self.writes[0]);
        let by_read = |read: usize| {
            self.steps[2 + read] & OBSERVED != 0
                && self.reads[read].compatible(self.writes[0])
                && known(self.reads[read])
        };
        by_update || last && (by_read(0) || by_read(1))
    }

    #[inline]
    fn add_read(&mut self, new: Event, step: u32, known: impl Fn(Event) -> bool) {
        if self.reads[0] == new {
            self.steps[2] |= if new.strong() { OBSERVED } else { 0 };
            return;
        }
        let is_covered = |old: Event| old.bytes() & !new.bytes() == 0 && known(old);
        let (kept, kept_step) = event_to_keep(
            [(self.reads[0], self.steps[2]), (self.reads[1], self.steps[3])],
            new,
            is_covered,
        );
        self.reads = [new, kept];
        let observes = if new.strong() { OBSERVED } else { 0 };
        (self.steps[2], self.steps[3]) = (step | observes, kept_step);
    }

    /// Marks the asynchronous accesses of a thread as waited for: they become ordinary accesses,
    /// like `settled`.
    pub(crate) fn mark_waited_for(&mut self, settled: Event) {
        for event in self.writes.iter_mut().chain(&mut self.reads) {
            if event.asynchronous() && event.same_thread(settled) {
                *event = Event::new(
                    settled.block(),
                    settled.thread(),
                    settled.clock(),
                    super::event::Semantics::default(),
                    event.bytes(),
                );
            }
        }
    }

    /// The two reads, if both are weak and of the whole word; and the two writes.
    #[inline]
    pub(crate) fn plain_reads(&self) -> Option<([Event; 2], [Event; 2])> {
        let plain =
            |read: Event| read.bytes() == ALL_BYTES && !read.strong() && !read.asynchronous();
        (plain(self.reads[0]) && plain(self.reads[1])).then_some((self.reads, self.writes))
    }
}

/// Selects which of two old events is kept in addition to a new one.
#[inline]
fn event_to_keep(
    old: [(Event, u32); 2],
    new: Event,
    is_covered: impl Fn(Event) -> bool,
) -> (Event, u32) {
    let mut kept = (Event::NONE, 0);
    let mut distance = 0;
    for (event, step) in old {
        if !event.is_some() || is_covered(event) {
            continue;
        }
        let own = 1 + event.distance(new);
        if own > distance {
            (kept, distance) = ((event, step), own);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::event::Semantics;
    use super::*;

    fn weak(block: u32, thread: u32) -> Event {
        Event::new(block, thread, 1, Semantics::default(), ALL_BYTES)
    }

    fn atomic(block: u32, thread: u32) -> Event {
        Event::new(
            block,
            thread,
            1,
            Semantics { strong: true, wide: true, ..Semantics::default() },
            ALL_BYTES,
        )
    }

    /// Only accesses of the thread itself are known.
    fn knows_only_own(thread: Event) -> impl Fn(Event) -> bool {
        move |event: Event| event.same_thread(thread)
    }

    fn add(cell: &mut Cell, new: Event, step: u32, write: bool) -> Option<(u32, u32)> {
        let effect = match (write, new.strong()) {
            (false, _) => Effect::Read,
            (true, false) => Effect::Write,
            (true, true) => Effect::Update,
        };
        cell.access(new, step, effect, knows_only_own(new))
            .map(|conflict| (conflict.event.thread(), conflict.step))
    }

    #[test]
    fn write_races_with_unordered_accesses() {
        let mut cell = Cell::default();
        assert_eq!(add(&mut cell, weak(0, 1), 10, true), None);
        assert_eq!(add(&mut cell, weak(0, 1), 11, false), None);
        assert_eq!(add(&mut cell, weak(0, 2), 12, false), Some((1, 10)));
        let mut cell = Cell::default();
        assert_eq!(add(&mut cell, weak(0, 2), 12, false), None);
        assert_eq!(add(&mut cell, weak(0, 1), 13, true), Some((2, 12)));
    }

    #[test]
    fn writer_that_also_reads_finds_the_other_readers() {
        let mut cell = Cell::default();
        for thread in [5, 6, 7, 70, 1] {
            assert_eq!(add(&mut cell, weak(0, thread), thread, false), None);
        }
        // The last reader is thread 1 itself. Of the other readers, the reader in another warp was
        // kept.
        assert_eq!(add(&mut cell, weak(0, 1), 9, true), Some((70, 70)));
    }

    #[test]
    fn atomics_only_race_with_weak_accesses() {
        let mut cell = Cell::default();
        for block in 0..3 {
            assert_eq!(add(&mut cell, atomic(block, 0), block, true), None);
        }
        assert_eq!(add(&mut cell, atomic(2, 0), 3, false), None);
        assert!(add(&mut cell, weak(3, 0), 4, false).is_some());
    }

    #[test]
    fn different_bytes_of_a_word_do_not_race() {
        let byte = |thread, bytes| Event::new(0, thread, 1, Semantics::default(), bytes);
        let mut cell = Cell::default();
        assert_eq!(add(&mut cell, byte(0, 0b0011), 0, true), None);
        assert_eq!(add(&mut cell, byte(1, 0b1100), 1, true), None);
        assert_eq!(add(&mut cell, byte(1, 0b1000), 2, false), None);
        assert_eq!(add(&mut cell, byte(1, 0b0010), 3, false), Some((0, 0)));
    }

    #[test]
    fn asynchronous_write_races_until_it_is_settled() {
        let semantics = Semantics { asynchronous: true, ..Semantics::default() };
        let copy = Event::new(0, 0, 1, semantics, ALL_BYTES);
        let known = |event: Event| !event.asynchronous();
        let mut cell = Cell::default();
        assert_eq!(cell.access(copy, 1, Effect::Write, known), None);
        let mut early = cell;
        assert!(early.access(weak(0, 0), 2, Effect::Read, known).is_some());
        cell.mark_waited_for(weak(0, 0));
        assert_eq!(cell.access(weak(0, 0), 2, Effect::Read, known), None);
    }

    #[test]
    fn observer_of_an_atomic_is_ordered_after_it() {
        // Four blocks count; the last of them resets the counter.
        let mut cell = Cell::default();
        for block in 0..4 {
            assert_eq!(add(&mut cell, atomic(block, 0), block, true), None);
        }
        assert_eq!(add(&mut cell, weak(3, 0), 9, true), None);
        // All other blocks are not ordered after the later accesses.
        let mut cell = Cell::default();
        for block in 0..4 {
            add(&mut cell, atomic(block, 0), block, true);
        }
        assert!(add(&mut cell, weak(1, 0), 9, true).is_some());
        // A store observes nothing.
        let mut cell = Cell::default();
        add(&mut cell, atomic(0, 0), 0, true);
        let store = atomic(1, 0);
        assert_eq!(cell.access(store, 1, Effect::Write, knows_only_own(store)), None);
        assert_eq!(add(&mut cell, weak(1, 0), 9, true), Some((0, 0)));
    }

    #[test]
    fn reader_of_a_flag_is_ordered_after_it() {
        let mut cell = Cell::default();
        let flag = atomic(0, 0);
        assert_eq!(cell.access(flag, 1, Effect::Write, knows_only_own(flag)), None);
        assert_eq!(add(&mut cell, atomic(1, 0), 2, false), None);
        assert_eq!(add(&mut cell, weak(1, 0), 3, true), None);
        // A thread that has not read the flag is not ordered after the flag's store.
        let mut cell = Cell::default();
        assert_eq!(cell.access(flag, 1, Effect::Write, knows_only_own(flag)), None);
        assert_eq!(add(&mut cell, atomic(1, 0), 2, false), None);
        assert_eq!(add(&mut cell, weak(2, 0), 3, true), Some((0, 1)));
    }
}
