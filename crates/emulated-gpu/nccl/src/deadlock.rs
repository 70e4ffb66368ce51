//! Deadlock detection: ranks that wait for each other in a cycle, so none of them can ever continue. For example, one
//! rank is in a collective and the other in a receive, or both receive first.
//!
//! Counters in shared memory, which only grow, show which rank waits for which: these are the edges of a graph. An edge
//! exists until the rank that is waited for begins its *next* piece of work, which it can't do while it waits itself.
//! So a cycle of edges that exist at the same time is a deadlock, however slow a rank is. The edges existed at the same
//! time if the same cycle is found twice and no counter has changed in between.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Acquire;

use crate::membership::BarrierKind;
use crate::region::{MAILBOX_BYTES, Region};

/// Reads counters and records their values, so that two passes can be compared.
struct CounterReader {
    seen: Vec<u64>,
}

impl CounterReader {
    fn load(&mut self, counter: &AtomicU64) -> u64 {
        let value = counter.load(Acquire);
        self.seen.push(value);
        value
    }

    /// Whether the current work of `rank` can't finish before `other` begins its next piece of
    /// work.
    fn waits_for(&mut self, region: &Region, rank: usize, other: usize) -> bool {
        let mut arrived =
            |rank: usize| self.load(&region.slot(rank).arrived[BarrierKind::Work as usize]);
        // `rank` is at a barrier that `other` has not reached.
        if arrived(rank) > arrived(other) {
            return true;
        }
        // `rank` waits for a message that `other`'s current work doesn't send.
        let from = region.mailbox(other, rank);
        if self.load(&from.last_received) > self.load(&from.last_sent) {
            return true;
        }
        // `rank` waits because the mailbox is full, or because its next message can't begin, and `other`'s current work
        // doesn't receive the message in the mailbox.
        let to = region.mailbox(rank, other);
        let [messages, offered, last_received] =
            [&to.messages, &to.last_sent, &to.last_received].map(|counter| self.load(counter));
        let [put, bytes_taken, end] =
            [&to.bytes_put, &to.bytes_taken, &to.end].map(|counter| self.load(counter));
        let is_full = put < end && put.wrapping_sub(bytes_taken) == MAILBOX_BYTES as u64;
        last_received < messages && (is_full || messages < offered && put != bytes_taken)
    }

    /// Finds a cycle through rank `start`: each rank waits for the next one, and the last waits for `start`.
    fn cycle(&mut self, region: &Region, start: usize) -> Option<Vec<usize>> {
        let mut before = vec![None; region.ranks];
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(&rank) = reached.get(next) {
            next += 1;
            for other in (0..region.ranks).filter(|other| *other != rank) {
                let is_new = other == start || before[other].is_none();
                if !is_new || !self.waits_for(region, rank, other) {
                    continue;
                }
                if other == start {
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

/// Finds the deadlock that includes `rank`: a list that begins with `rank`, in which each rank waits for the next.
pub(crate) fn deadlock(region: &Region, rank: usize) -> Option<Vec<usize>> {
    let look = || {
        let mut reader = CounterReader { seen: Vec::new() };
        reader.cycle(region, rank).map(|path| (path, reader.seen))
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
    fn a_collective_and_a_receive_that_wait_for_each_other_are_a_deadlock() {
        let region = region(3);
        // Rank 1 wants a message from rank 0, which has not called anything yet.
        region.mailbox(0, 1).last_received.store(1, Relaxed);
        assert_eq!(deadlock(&region, 1), None);
        arrives(&region, 0);
        assert_eq!(deadlock(&region, 0), Some(vec![0, 1]));
        assert_eq!(deadlock(&region, 1), Some(vec![1, 0]));
        // Rank 2 waits for rank 0, but no rank waits for it.
        arrives(&region, 2);
        assert_eq!(deadlock(&region, 2), None);
        // Once rank 0 offers the message, rank 1 no longer waits for it.
        region.mailbox(0, 1).last_sent.store(1, Relaxed);
        assert_eq!(deadlock(&region, 0), None);
    }

    #[test]
    fn a_cycle_of_three_ranks_is_reported_in_order() {
        let region = region(4);
        for (rank, from) in [(0, 2), (2, 1), (1, 0)] {
            region.mailbox(from, rank).last_received.store(5, Relaxed);
        }
        assert_eq!(deadlock(&region, 0), Some(vec![0, 2, 1]));
        assert_eq!(deadlock(&region, 1), Some(vec![1, 0, 2]));
        assert_eq!(deadlock(&region, 3), None);
    }

    #[test]
    fn a_send_waits_while_the_mailbox_is_full_or_in_use() {
        let (region, full) = (region(2), MAILBOX_BYTES as u64);
        let mail = region.mailbox(0, 1);
        arrives(&region, 1);
        let set = |messages, offered, put, end| {
            mail.messages.store(messages, Relaxed);
            mail.last_sent.store(offered, Relaxed);
            mail.bytes_put.store(put, Relaxed);
            mail.end.store(end, Relaxed);
            deadlock(&region, 0).is_some()
        };
        // The whole message is in the mailbox, so the sender can continue before the message is taken out.
        assert!(!set(1, 1, full, full));
        // More bytes of this message, or another message, still have to be sent.
        assert!(set(1, 1, full, full + 1));
        assert!(set(1, 2, 8, 8));
        // The other rank is about to receive the message.
        mail.last_received.store(1, Relaxed);
        assert!(!set(1, 2, 8, 8));
    }
}
