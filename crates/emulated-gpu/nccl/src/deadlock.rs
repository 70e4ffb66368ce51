//! Ranks that wait for each other in a circle, so that none of them can ever go on: one is in a
//! collective and the other in a receive, or both receive first.
//!
//! Who waits for whom follows from counters in shared memory that only grow. Each of the edges below
//! holds until the rank at its end begins its *next* piece of work, which a rank that waits doesn't. So a
//! circle of edges that hold at the same time is a deadlock, however slow a rank is. They do hold at the
//! same time if they are found twice, and no counter has changed in between.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Acquire;

use crate::meeting::Who;
use crate::region::{MAILBOX, Region};

/// Reads counters, and remembers what they were.
struct Reader {
    seen: Vec<u64>,
}

impl Reader {
    fn load(&mut self, counter: &AtomicU64) -> u64 {
        let value = counter.load(Acquire);
        self.seen.push(value);
        value
    }

    /// Whether the work of `rank` can't be done before `other` begins other work than it does now.
    fn waits(&mut self, region: &Region, rank: usize, other: usize) -> bool {
        let mut arrived = |rank: usize| self.load(&region.slot(rank).arrived[Who::Work as usize]);
        // It is at a meeting to which the other has not come.
        if arrived(rank) > arrived(other) {
            return true;
        }
        // It wants a message that the other's work doesn't send.
        let from = region.mailbox(other, rank);
        if self.load(&from.wanted) > self.load(&from.offered) {
            return true;
        }
        // The mailbox is full, or the next message can't begin, and the other's work doesn't receive
        // the message that is in there.
        let to = region.mailbox(rank, other);
        let [messages, offered, wanted] =
            [&to.messages, &to.offered, &to.wanted].map(|counter| self.load(counter));
        let [put, taken, end] = [&to.put, &to.taken, &to.end].map(|counter| self.load(counter));
        let is_full = put < end && put.wrapping_sub(taken) == MAILBOX as u64;
        wanted < messages && (is_full || messages < offered && put != taken)
    }

    /// Ranks that wait each for the next, and the last for the first, which is `own`.
    fn circle(&mut self, region: &Region, own: usize) -> Option<Vec<usize>> {
        let mut before = vec![None; region.ranks];
        let mut reached = vec![own];
        let mut next = 0;
        while let Some(&rank) = reached.get(next) {
            next += 1;
            for other in (0..region.ranks).filter(|other| *other != rank) {
                let is_new = other == own || before[other].is_none();
                if !is_new || !self.waits(region, rank, other) {
                    continue;
                }
                if other == own {
                    let mut path = vec![rank];
                    while let Some(rank) = before[path[path.len() - 1]] {
                        path.push(rank);
                    }
                    path.reverse();
                    return Some(path);
                }
                before[other] = Some(rank);
                reached.push(other);
            }
        }
        None
    }
}

/// The deadlock that a rank is part of: itself, and the others, each of which waits for the next.
pub(crate) fn deadlock(region: &Region, own: usize) -> Option<Vec<usize>> {
    let look = || {
        let mut reader = Reader { seen: Vec::new() };
        reader.circle(region, own).map(|path| (path, reader.seen))
    };
    let first = look()?;
    (look()? == first).then_some(first.0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::id::UniqueId;

    fn region(ranks: usize) -> Region {
        let region = Region::open(&UniqueId::new().unwrap().name().unwrap(), (ranks, 0)).unwrap();
        region.unlink();
        region
    }

    fn arrives(region: &Region, rank: usize) {
        region.slot(rank).arrived[0].fetch_add(1, Relaxed);
    }

    #[test]
    fn a_collective_and_a_receive_wait_for_each_other() {
        let region = region(3);
        // 1 wants a message of 0, which has not called anything yet.
        region.mailbox(0, 1).wanted.store(1, Relaxed);
        assert_eq!(deadlock(&region, 1), None);
        arrives(&region, 0);
        assert_eq!(deadlock(&region, 0), Some(vec![0, 1]));
        assert_eq!(deadlock(&region, 1), Some(vec![1, 0]));
        // 2 is no part of it.
        arrives(&region, 2);
        assert_eq!(deadlock(&region, 2), None);
        // What 0 was found to send meanwhile, 1 does not wait for.
        region.mailbox(0, 1).offered.store(1, Relaxed);
        assert_eq!(deadlock(&region, 0), None);
    }

    #[test]
    fn a_circle_of_three_is_named_in_its_order() {
        let region = region(4);
        for (rank, from) in [(0, 2), (2, 1), (1, 0)] {
            region.mailbox(from, rank).wanted.store(5, Relaxed);
        }
        assert_eq!(deadlock(&region, 0), Some(vec![0, 2, 1]));
        assert_eq!(deadlock(&region, 1), Some(vec![1, 0, 2]));
        assert_eq!(deadlock(&region, 3), None);
    }

    #[test]
    fn a_send_waits_when_the_mailbox_is_full_or_in_use() {
        let (region, full) = (region(2), MAILBOX as u64);
        let mail = region.mailbox(0, 1);
        arrives(&region, 1);
        let set = |messages, offered, put, end| {
            mail.messages.store(messages, Relaxed);
            mail.offered.store(offered, Relaxed);
            mail.put.store(put, Relaxed);
            mail.end.store(end, Relaxed);
            deadlock(&region, 0).is_some()
        };
        // All in, though not taken: the sender goes on.
        assert!(!set(1, 1, full, full));
        // More to come, and another one to come.
        assert!(set(1, 1, full, full + 1));
        assert!(set(1, 2, 8, 8));
        // The other is about to receive it.
        mail.wanted.store(1, Relaxed);
        assert!(!set(1, 2, 8, 8));
    }
}
