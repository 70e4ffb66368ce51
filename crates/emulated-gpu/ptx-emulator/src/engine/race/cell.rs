//! What is remembered of one word of memory: its last accesses.
//!
//! Two writes and two reads are kept. The second of each is there because accesses that don't race
//! with each other (two reads, two atomics) may both race with a third one: of those that nothing
//! orders, the last is kept and the one that is furthest from it, in another block rather than in
//! another warp, in another warp rather than in another lane. So a third access by any thread finds
//! one that is not its own. What is forgotten can hide a race; it never invents one.

use super::event::Event;

/// See the module's comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    writes: [Event; 2],
    reads: [Event; 2],
    /// The step of each: writes, then reads.
    steps: [u32; 4],
}

/// An access that another one races with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) event: Event,
    pub(crate) step: u32,
    pub(crate) wrote: bool,
}

/// All four bytes of a word.
const WHOLE: u32 = 0xf;

impl Cell {
    /// Remembers an access, and finds one that it races with. An atomic operation is a write.
    /// `known` says what is ordered before the access.
    #[inline]
    pub(crate) fn access(
        &mut self,
        new: Event,
        step: u32,
        write: bool,
        known: impl Fn(Event) -> bool,
    ) -> Option<Conflict> {
        let races =
            |old: Event| old.bytes() & new.bytes() != 0 && !old.morally_strong(new) && !known(old);
        let mut conflict = None;
        for index in 0..2 {
            let old = self.writes[index];
            if conflict.is_none() && old.is_some() && races(old) {
                conflict = Some(Conflict { event: old, step: self.steps[index], wrote: true });
            }
        }
        if !write {
            self.add_read(new, step, known);
            return conflict;
        }
        for index in 0..2 {
            let old = self.reads[index];
            if conflict.is_none() && old.is_some() && races(old) {
                conflict = Some(Conflict { event: old, step: self.steps[2 + index], wrote: false });
            }
        }
        let superfluous = |old: Event| old.bytes() & !new.bytes() == 0 && known(old);
        for index in 0..2 {
            if self.reads[index].is_some() && superfluous(self.reads[index]) {
                self.reads[index] = Event::NONE;
            }
        }
        let (kept, kept_step) = furthest(
            [(self.writes[0], self.steps[0]), (self.writes[1], self.steps[1])],
            new,
            superfluous,
        );
        self.writes = [new, kept];
        (self.steps[0], self.steps[1]) = (step, kept_step);
        conflict
    }

    #[inline]
    fn add_read(&mut self, new: Event, step: u32, known: impl Fn(Event) -> bool) {
        if self.reads[0] == new {
            return;
        }
        let superfluous = |old: Event| old.bytes() & !new.bytes() == 0 && known(old);
        let (kept, kept_step) = furthest(
            [(self.reads[0], self.steps[2]), (self.reads[1], self.steps[3])],
            new,
            superfluous,
        );
        self.reads = [new, kept];
        (self.steps[2], self.steps[3]) = (step, kept_step);
    }

    /// The asynchronous write of a thread has been waited for: from now on it is `settled`.
    pub(crate) fn settle(&mut self, settled: Event) {
        for write in &mut self.writes {
            if write.asynchronous() && write.same_thread(settled) {
                *write = Event::new(
                    settled.block(),
                    settled.thread(),
                    settled.clock(),
                    super::event::Manner::default(),
                    write.bytes(),
                );
            }
        }
    }

    /// The two reads, where both are weak and of the whole word; and the writes.
    #[inline]
    pub(crate) fn read_by(&self) -> Option<([Event; 2], [Event; 2])> {
        let plain = |read: Event| read.bytes() == WHOLE && !read.strong();
        (plain(self.reads[0]) && plain(self.reads[1])).then_some((self.reads, self.writes))
    }
}

/// Of two events the one to be kept beside a new one.
#[inline]
fn furthest(
    old: [(Event, u32); 2],
    new: Event,
    superfluous: impl Fn(Event) -> bool,
) -> (Event, u32) {
    let mut kept = (Event::NONE, 0);
    let mut distance = 0;
    for (event, step) in old {
        if !event.is_some() || superfluous(event) {
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
    use super::super::event::Manner;
    use super::*;

    fn weak(block: u32, thread: u32) -> Event {
        Event::new(block, thread, 1, Manner::default(), WHOLE)
    }

    fn atomic(block: u32, thread: u32) -> Event {
        Event::new(
            block,
            thread,
            1,
            Manner { strong: true, wide: true, asynchronous: false },
            WHOLE,
        )
    }

    /// Knows only what the thread itself did.
    fn own(thread: Event) -> impl Fn(Event) -> bool {
        move |event: Event| event.same_thread(thread)
    }

    fn add(cell: &mut Cell, new: Event, step: u32, write: bool) -> Option<(u32, u32)> {
        cell.access(new, step, write, own(new))
            .map(|conflict| (conflict.event.thread(), conflict.step))
    }

    #[test]
    fn a_write_races_with_what_does_not_precede_it() {
        let mut cell = Cell::default();
        assert_eq!(add(&mut cell, weak(0, 1), 10, true), None);
        assert_eq!(add(&mut cell, weak(0, 1), 11, false), None);
        assert_eq!(add(&mut cell, weak(0, 2), 12, false), Some((1, 10)));
        let mut cell = Cell::default();
        assert_eq!(add(&mut cell, weak(0, 2), 12, false), None);
        assert_eq!(add(&mut cell, weak(0, 1), 13, true), Some((2, 12)));
    }

    #[test]
    fn a_writer_that_has_read_too_finds_the_other_readers() {
        let mut cell = Cell::default();
        for thread in [5, 6, 7, 70, 1] {
            assert_eq!(add(&mut cell, weak(0, thread), thread, false), None);
        }
        // The last reader is thread 1 itself; of the others one of another warp is left.
        assert_eq!(add(&mut cell, weak(0, 1), 9, true), Some((70, 70)));
    }

    #[test]
    fn atomics_race_with_weak_accesses_only() {
        let mut cell = Cell::default();
        for block in 0..3 {
            assert_eq!(add(&mut cell, atomic(block, 0), block, true), None);
        }
        assert_eq!(add(&mut cell, atomic(2, 0), 3, false), None);
        assert!(add(&mut cell, weak(2, 0), 4, false).is_some());
    }

    #[test]
    fn bytes_of_a_word_are_apart() {
        let byte = |thread, bytes| Event::new(0, thread, 1, Manner::default(), bytes);
        let mut cell = Cell::default();
        assert_eq!(add(&mut cell, byte(0, 0b0011), 0, true), None);
        assert_eq!(add(&mut cell, byte(1, 0b1100), 1, true), None);
        assert_eq!(add(&mut cell, byte(1, 0b1000), 2, false), None);
        assert_eq!(add(&mut cell, byte(1, 0b0010), 3, false), Some((0, 0)));
    }

    #[test]
    fn an_asynchronous_write_races_until_it_has_settled() {
        let manner = Manner { asynchronous: true, ..Manner::default() };
        let copy = Event::new(0, 0, 1, manner, WHOLE);
        let known = |event: Event| !event.asynchronous();
        let mut cell = Cell::default();
        assert_eq!(cell.access(copy, 1, true, known), None);
        let mut early = cell;
        assert!(early.access(weak(0, 0), 2, false, known).is_some());
        cell.settle(weak(0, 0));
        assert_eq!(cell.access(weak(0, 0), 2, false, known), None);
    }
}
