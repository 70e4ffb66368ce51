//! The memory that the ranks of a communicator share, and what is where in it.
//!
//! It begins as zeros, which mean: no rank is here. What every rank looks at has memory from the start:
//! less than a mebibyte. The large parts get theirs when a rank first uses them.

use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use crate::ffi::{Error, Result};
use crate::shared_file::SharedFile;

/// The most ranks of a communicator.
pub(crate) const MOST_RANKS: usize = 64;
/// Bytes that a rank shows the others at a time.
pub(crate) const PIECE: usize = 1 << 18;
/// Bytes on their way from one rank to another.
pub(crate) const MAILBOX: usize = 1 << 16;

const PAGE: usize = 4096;

/// What all ranks know.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    /// How many ranks there are; the first one writes it.
    pub(crate) ranks: AtomicU32,
    /// What has ended the communicator, as `meeting::Failure` packs it, or 0.
    pub(crate) failed: AtomicU64,
}

/// What a rank does, as the others see it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    /// 0 while there is no such rank, then one of the numbers below.
    pub(crate) state: AtomicU32,
    pub(crate) device: AtomicI32,
    /// How many times it has arrived at a meeting: of work on streams, and of calls.
    pub(crate) arrived: [AtomicU64; 2],
    /// What it does, or waits for.
    pub(crate) call: Call,
    /// What it offers in a split: colour, key, and an id.
    pub(crate) color: AtomicI32,
    pub(crate) key: AtomicI32,
    pub(crate) id: [AtomicU64; 16],
}

/// It is one of the ranks.
pub(crate) const JOINED: u32 = 1;
/// It has given its communicator back.
pub(crate) const LEFT: u32 = 2;
/// It has ended it with `ncclCommAbort`.
pub(crate) const ABORTED: u32 = 3;

/// An operation, as ranks compare it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) kind: AtomicU32,
    pub(crate) data_type: AtomicU32,
    pub(crate) count: AtomicU64,
    pub(crate) reduction: AtomicU32,
    /// The root; of a send or a receive, the other rank.
    pub(crate) root: AtomicU32,
}

/// What goes from one rank to another. All of these numbers only grow.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Messages that were begun, and what the last of them is.
    pub(crate) messages: AtomicU64,
    pub(crate) count: AtomicU64,
    pub(crate) data_type: AtomicU32,
    /// Bytes put in and taken out, since the beginning.
    pub(crate) put: AtomicU64,
    pub(crate) taken: AtomicU64,
    /// `put` when the last message that was begun will be all in.
    pub(crate) end: AtomicU64,
    /// The last message that the work of the sender will send, and that the work of the receiver will
    /// receive.
    pub(crate) offered: AtomicU64,
    pub(crate) wanted: AtomicU64,
}

/// What is made of atomics alone: all zeros are a value of it, and any process may change it.
///
/// # Safety
/// The type has to be so.
unsafe trait Shared {}

// SAFETY: all three are.
unsafe impl Shared for Header {}
// SAFETY: as above.
unsafe impl Shared for Slot {}
// SAFETY: as above.
unsafe impl Shared for Mailbox {}

/// Shared memory, as one rank has it.
#[derive(Debug)]
pub(crate) struct Region {
    file: ManuallyDrop<Arc<SharedFile>>,
    pub(crate) ranks: usize,
    /// Offsets of the large parts that have memory.
    reserved: Mutex<HashSet<usize>>,
}

fn slot_at(rank: usize) -> usize {
    PAGE * (1 + rank)
}

fn mailbox_at(ranks: usize, from: usize, to: usize) -> usize {
    slot_at(ranks) + size_of::<Mailbox>() * (from * ranks + to)
}

fn piece_at(ranks: usize, rank: usize) -> usize {
    mailbox_at(ranks, ranks, 0).next_multiple_of(PAGE) + 2 * PIECE * rank
}

fn letters_at(ranks: usize, from: usize, to: usize) -> usize {
    piece_at(ranks, ranks) + MAILBOX * (from * ranks + to)
}

impl Region {
    /// Maps the memory of a name, for this many ranks.
    ///
    /// # Errors
    /// As of [`SharedFile::open`]; `ncclInvalidUsage` if another rank says that they are another number.
    pub(crate) fn open(name: &str, (ranks, rank): (usize, usize)) -> Result<Self> {
        let file = SharedFile::open(name, letters_at(ranks, ranks, 0), piece_at(ranks, 0), rank)?;
        let region = Self { file: ManuallyDrop::new(file), ranks, reserved: Mutex::default() };
        let own = ranks as u32;
        let agreed = region.header().ranks.compare_exchange(0, own, AcqRel, Acquire);
        match agreed {
            Err(others) if others != own => Err(Error::usage(format!(
                "rank {rank} says that there are {ranks} ranks, and another that there are {others}"
            ))),
            _ => Ok(region),
        }
    }

    fn at<T: Shared>(&self, offset: usize) -> &T {
        let at = self.file.bytes(offset, size_of::<T>()).cast::<T>();
        assert!(at.is_aligned(), "{offset} is no multiple of {}", align_of::<T>());
        // SAFETY: inside the map and aligned, as was checked; the map is as long as `self`, and any
        // bytes are a value of atomics.
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

    /// The bytes of a mailbox: `MAILBOX`.
    pub(crate) fn letters(&self, from: usize, to: usize) -> *mut u8 {
        self.check(&[from, to]);
        self.file.bytes(letters_at(self.ranks, from, to), MAILBOX)
    }

    /// What a rank shows the others: `PIECE` bytes.
    pub(crate) fn offered(&self, rank: usize) -> *mut u8 {
        self.check(&[rank]);
        self.file.bytes(piece_at(self.ranks, rank), PIECE)
    }

    /// Where a rank puts what it has added up: `PIECE` bytes.
    pub(crate) fn result(&self, rank: usize) -> *mut u8 {
        self.check(&[rank]);
        self.file.bytes(piece_at(self.ranks, rank) + PIECE, PIECE)
    }

    fn reserve(&self, offset: usize, len: usize) -> Result {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if !reserved.contains(&offset) {
            self.file.reserve(offset, len)?;
            reserved.insert(offset);
        }
        Ok(())
    }

    /// Has the system give memory for what a rank shows and adds up, before it writes there.
    ///
    /// # Errors
    /// `ncclSystemError` if there is none.
    pub(crate) fn reserve_pieces(&self, rank: usize) -> Result {
        self.reserve(piece_at(self.ranks, rank), 2 * PIECE)
    }

    /// The same for what goes from one rank to another.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn reserve_letters(&self, from: usize, to: usize) -> Result {
        self.reserve(letters_at(self.ranks, from, to), MAILBOX)
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
        // SAFETY: it is taken once, here, and not used after that.
        SharedFile::close(unsafe { ManuallyDrop::take(&mut self.file) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_one_after_another() {
        for ranks in [1, 2, 3, MOST_RANKS] {
            let mut ends = vec![(0, PAGE)];
            ends.extend((0..ranks).map(|rank| (slot_at(rank), PAGE)));
            let pairs = || (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
            ends.extend(pairs().map(|(a, b)| (mailbox_at(ranks, a, b), size_of::<Mailbox>())));
            ends.extend((0..ranks).map(|rank| (piece_at(ranks, rank), 2 * PIECE)));
            ends.extend(pairs().map(|(a, b)| (letters_at(ranks, a, b), MAILBOX)));
            assert!(ends.is_sorted_by(|a, b| a.0 + a.1 <= b.0), "{ranks}");
            // What every rank has from the start.
            assert!(piece_at(ranks, 0) < 1 << 20);
        }
        assert!(size_of::<Slot>() <= PAGE && size_of::<Header>() <= PAGE);
    }
}
