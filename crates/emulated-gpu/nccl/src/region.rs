//! The memory that the ranks of a communicator share, and its layout.
//!
//! Initially, all of it is zero, which means that no rank has joined. The part that every rank
//! reads, less than 1 MiB, is allocated at the start. The large parts are allocated when a rank
//! first uses them.

use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use crate::ffi::{Error, Result};
use crate::shared_file::SharedFile;

/// The maximum number of ranks in a communicator.
pub(crate) const MAX_RANKS: usize = 64;
/// The number of bytes that a rank offers to the others at a time.
pub(crate) const PIECE_BYTES: usize = 1 << 18;
/// The capacity of a mailbox in bytes.
pub(crate) const MAILBOX_BYTES: usize = 1 << 16;

const PAGE: usize = 4096;

/// The data of the communicator as a whole.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    /// The number of ranks; the first rank writes it.
    pub(crate) ranks: AtomicU32,
    /// The failure that has ended the communicator, packed by `membership::Failure`, or 0.
    pub(crate) failed: AtomicU64,
}

/// The published state of a rank, which the other ranks read.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    /// The state: 0 before the rank has joined, then `JOINED`, `LEFT` or `ABORTED`.
    pub(crate) state: AtomicU32,
    pub(crate) device: AtomicI32,
    /// The number of barriers at which the rank has arrived: for work on streams, and for calls.
    pub(crate) arrived: [AtomicU64; 2],
    /// The call that the rank is running or waiting in.
    pub(crate) call: Call,
    /// The rank's arguments of `ncclCommSplit`, and the id of the new communicator.
    pub(crate) color: AtomicI32,
    pub(crate) key: AtomicI32,
    pub(crate) id: [AtomicU64; 16],
}

/// The rank has joined.
pub(crate) const JOINED: u32 = 1;
/// The rank has destroyed or finalized its communicator.
pub(crate) const LEFT: u32 = 2;
/// The rank has called `ncclCommAbort`.
pub(crate) const ABORTED: u32 = 3;

/// The description of a call that ranks publish and compare.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) kind: AtomicU32,
    pub(crate) data_type: AtomicU32,
    pub(crate) count: AtomicU64,
    pub(crate) reduction: AtomicU32,
    /// The root of a collective; for a send or a receive, the other rank.
    pub(crate) root: AtomicU32,
}

/// The counters of the messages from one rank to another. They only grow.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// The number of messages that were begun.
    pub(crate) messages: AtomicU64,
    pub(crate) count: AtomicU64,
    pub(crate) data_type: AtomicU32,
    /// The total numbers of bytes that the sender has put in and the receiver has taken out.
    pub(crate) bytes_put: AtomicU64,
    pub(crate) bytes_taken: AtomicU64,
    /// The value that `bytes_put` has once the current message is completely in the mailbox.
    pub(crate) end: AtomicU64,
    /// The number of the last message that the sender's current work will send, and that the
    /// receiver's current work will receive.
    pub(crate) last_sent: AtomicU64,
    pub(crate) last_received: AtomicU64,
}

/// A structure of atomics, for which all zeros are a valid value, and which any process may change.
///
/// # Safety
/// The type must consist of atomics only.
unsafe trait Shared {}

// SAFETY: the structure consists of atomics only.
unsafe impl Shared for Header {}
// SAFETY: as above.
unsafe impl Shared for Slot {}
// SAFETY: as above.
unsafe impl Shared for Mailbox {}

/// One rank's mapping of the shared memory.
#[derive(Debug)]
pub(crate) struct Region {
    file: ManuallyDrop<Arc<SharedFile>>,
    pub(crate) ranks: usize,
    /// The offsets of the large parts that have been allocated.
    reserved: Mutex<HashSet<usize>>,
}

fn slot_at(rank: usize) -> usize {
    PAGE * (1 + rank)
}

fn mailbox_at(ranks: usize, from: usize, to: usize) -> usize {
    slot_at(ranks) + size_of::<Mailbox>() * (from * ranks + to)
}

fn piece_at(ranks: usize, rank: usize) -> usize {
    mailbox_at(ranks, ranks, 0).next_multiple_of(PAGE) + 2 * PIECE_BYTES * rank
}

fn mailbox_bytes_at(ranks: usize, from: usize, to: usize) -> usize {
    piece_at(ranks, ranks) + MAILBOX_BYTES * (from * ranks + to)
}

impl Region {
    /// Maps the memory with this name for `ranks` ranks.
    ///
    /// # Errors
    /// See [`SharedFile::open`]; `ncclInvalidUsage` if another rank passed a different number of
    /// ranks.
    pub(crate) fn open(name: &str, (ranks, rank): (usize, usize)) -> Result<Self> {
        let file =
            SharedFile::open(name, mailbox_bytes_at(ranks, ranks, 0), piece_at(ranks, 0), rank)?;
        let region = Self { file: ManuallyDrop::new(file), ranks, reserved: Mutex::default() };
        let requested = ranks as u32;
        let previous = region.header().ranks.compare_exchange(0, requested, AcqRel, Acquire);
        match previous {
            Err(existing) if existing != requested => Err(Error::invalid_usage(format!(
                "rank {rank} passed nranks {ranks}, but another rank passed {existing}"
            ))),
            _ => Ok(region),
        }
    }

    fn at<T: Shared>(&self, offset: usize) -> &T {
        let at = self.file.bytes(offset, size_of::<T>()).cast::<T>();
        assert!(at.is_aligned(), "{offset} is not a multiple of {}", align_of::<T>());
        // SAFETY: the structure is inside the mapping and aligned, as checked above; the map lives
        // as long as `self`, and every bit pattern is a valid atomic.
        unsafe { &*at }
    }

    pub(crate) fn header(&self) -> &Header {
        self.at(0)
    }

    fn check(&self, ranks: &[usize]) {
        assert!(ranks.iter().all(|rank| *rank < self.ranks), "{ranks:?} of {} ranks", self.ranks);
    }

    pub(crate) fn slot(&self, rank: usize) -> &Slot {
        self.check(&[rank]);
        self.at(slot_at(rank))
    }

    pub(crate) fn mailbox(&self, from: usize, to: usize) -> &Mailbox {
        self.check(&[from, to]);
        self.at(mailbox_at(self.ranks, from, to))
    }

    /// The contents of a mailbox: `MAILBOX_BYTES` bytes.
    pub(crate) fn mailbox_bytes(&self, from: usize, to: usize) -> *mut u8 {
        self.check(&[from, to]);
        self.file.bytes(mailbox_bytes_at(self.ranks, from, to), MAILBOX_BYTES)
    }

    /// The elements that a rank offers to the others: `PIECE_BYTES` bytes.
    pub(crate) fn offered_elements(&self, rank: usize) -> *mut u8 {
        self.check(&[rank]);
        self.file.bytes(piece_at(self.ranks, rank), PIECE_BYTES)
    }

    /// The result of a rank, which is the segment that it has added up: `PIECE_BYTES` bytes.
    pub(crate) fn result(&self, rank: usize) -> *mut u8 {
        self.check(&[rank]);
        self.file.bytes(piece_at(self.ranks, rank) + PIECE_BYTES, PIECE_BYTES)
    }

    fn reserve(&self, offset: usize, len: usize) -> Result {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if !reserved.contains(&offset) {
            self.file.reserve(offset, len)?;
            reserved.insert(offset);
        }
        Ok(())
    }

    /// Allocates the memory for a rank's piece and result, before it writes there.
    ///
    /// # Errors
    /// `ncclSystemError` if the system is out of memory.
    pub(crate) fn reserve_pieces(&self, rank: usize) -> Result {
        self.reserve(piece_at(self.ranks, rank), 2 * PIECE_BYTES)
    }

    /// Allocates the memory for the contents of a mailbox.
    ///
    /// # Errors
    /// `ncclSystemError` if the system is out of memory.
    pub(crate) fn reserve_mailbox(&self, from: usize, to: usize) -> Result {
        self.reserve(mailbox_bytes_at(self.ranks, from, to), MAILBOX_BYTES)
    }
}

impl Deref for Region {
    type Target = SharedFile;

    fn deref(&self) -> &SharedFile {
        &self.file
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: `file` is only taken here, and not used afterwards.
        SharedFile::close(unsafe { ManuallyDrop::take(&mut self.file) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        for ranks in [1, 2, 3, MAX_RANKS] {
            let mut ends = vec![(0, PAGE)];
            ends.extend((0..ranks).map(|rank| (slot_at(rank), PAGE)));
            let pairs = || (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
            ends.extend(pairs().map(|(a, b)| (mailbox_at(ranks, a, b), size_of::<Mailbox>())));
            ends.extend((0..ranks).map(|rank| (piece_at(ranks, rank), 2 * PIECE_BYTES)));
            ends.extend(pairs().map(|(a, b)| (mailbox_bytes_at(ranks, a, b), MAILBOX_BYTES)));
            assert!(ends.is_sorted_by(|a, b| a.0 + a.1 <= b.0), "{ranks}");
            // Checks the size of the part that is allocated at the start.
            assert!(piece_at(ranks, 0) < 1 << 20);
        }
        assert!(size_of::<Slot>() <= PAGE && size_of::<Header>() <= PAGE);
    }
}
