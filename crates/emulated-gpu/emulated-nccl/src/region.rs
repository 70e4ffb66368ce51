//! The memory that the ranks of a communicator share: a file in memory, mapped by each of them, and
//! unlinked as soon as all have found it.
//!
//! It begins as zeros, which mean: nobody is here. A rank that is alive holds a lock on the byte of
//! its number in the file; the system gives the lock back when the rank's process ends, however it
//! ends, which is how the others find out.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use memmap2::MmapRaw;

use crate::ffi::{Code, Error, Result};

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
    /// The code of what has ended the communicator, or 0.
    pub(crate) failed: AtomicU32,
    /// The rank that it was about.
    pub(crate) culprit: AtomicU32,
}

/// What a rank does, as the others see it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    /// 0 while there is no such rank, then one of the numbers below.
    pub(crate) state: AtomicU32,
    pub(crate) process: AtomicU32,
    pub(crate) device: AtomicI32,
    /// How many times it has arrived at a meeting: of work on streams, and of calls.
    pub(crate) arrived: [AtomicU64; 2],
    /// What it is about to do.
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
    /// Which of the rank's operations.
    pub(crate) number: AtomicU64,
    pub(crate) kind: AtomicU32,
    pub(crate) data_type: AtomicU32,
    pub(crate) count: AtomicU64,
    pub(crate) reduction: AtomicU32,
    pub(crate) root: AtomicU32,
}

/// What is on its way from one rank to another.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Messages that were begun.
    pub(crate) messages: AtomicU64,
    pub(crate) count: AtomicU64,
    pub(crate) data_type: AtomicU32,
    /// Bytes put in and taken out, since the beginning.
    pub(crate) put: AtomicU64,
    pub(crate) taken: AtomicU64,
}

/// Shared memory, as one rank maps it.
#[derive(Debug)]
pub(crate) struct Region {
    map: MmapRaw,
    file: File,
    path: PathBuf,
    pub(crate) ranks: usize,
}

/// Where files in memory are.
fn folder() -> PathBuf {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() }
}

fn size(ranks: usize) -> usize {
    mailbox_at(ranks, ranks, 0)
}

fn slot_at(rank: usize) -> usize {
    PAGE * (1 + rank)
}

fn piece_at(ranks: usize, rank: usize) -> usize {
    slot_at(ranks) + 2 * PIECE * rank
}

fn mailbox_at(ranks: usize, from: usize, to: usize) -> usize {
    piece_at(ranks, ranks) + (PAGE + MAILBOX) * (from * ranks + to)
}

impl Region {
    /// Maps the memory of a name, for this many ranks.
    ///
    /// # Errors
    /// Where the system has not the room for it.
    pub(crate) fn open(name: &str, ranks: usize) -> Result<Self> {
        let path = folder().join(name);
        let failed = |what: &str, error: io::Error| {
            Error::system(&format!("{}: {what}", path.display()), &error)
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = options.open(&path).map_err(|error| failed("memory to share", error))?;
        // One after another, so that nobody maps what is not there yet.
        file.lock().map_err(|error| failed("its lock", error))?;
        let wanted = size(ranks);
        let has = file.metadata().map_err(|error| failed("its size", error))?.len();
        if has < wanted as u64 {
            // All of it at once: later there would be a signal where the system has no more.
            // SAFETY: a call about a file that is open.
            let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, wanted as libc::off_t) };
            if code != 0 {
                // Nobody could use what is left of it.
                let _ = std::fs::remove_file(&path);
                let error = io::Error::from_raw_os_error(code);
                let what = format!(
                    "{wanted} bytes for {ranks} ranks (/dev/shm may be small in a container)"
                );
                return Err(failed(&what, error));
            }
        }
        file.unlock().map_err(|error| failed("its lock", error))?;
        let map = MmapRaw::map_raw(&file).map_err(|error| failed("mapping it", error))?;
        if map.len() < wanted {
            return Err(Error::new(Code::Internal, "the memory to share is too small"));
        }
        Ok(Self { map, file, path, ranks })
    }

    /// Takes its name away: the memory is there as long as somebody has it.
    pub(crate) fn unlink(&self) {
        // Another rank may have done it.
        let _ = std::fs::remove_file(&self.path);
    }

    /// # Safety
    /// `T` is made of atomics, all zeros are a value of it, and it lies inside at that place.
    unsafe fn at<T>(&self, offset: usize) -> &T {
        debug_assert!(offset + size_of::<T>() <= self.map.len());
        // SAFETY: the map is as long as `self`, begins at a page, and its memory is only ever
        // accessed through atomics, or as bytes whose turn is settled by them.
        unsafe { &*self.map.as_mut_ptr().add(offset).cast::<T>() }
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the first page is the header's.
        unsafe { self.at(0) }
    }

    pub(crate) fn slot(&self, rank: usize) -> &Slot {
        debug_assert!(rank < self.ranks);
        // SAFETY: each rank has a page.
        unsafe { self.at(slot_at(rank)) }
    }

    pub(crate) fn mailbox(&self, from: usize, to: usize) -> &Mailbox {
        debug_assert!(from < self.ranks && to < self.ranks);
        // SAFETY: each pair has a page, and the bytes behind it.
        unsafe { self.at(mailbox_at(self.ranks, from, to)) }
    }

    /// The bytes of a mailbox.
    pub(crate) fn letters(&self, from: usize, to: usize) -> *mut u8 {
        // SAFETY: inside, as above.
        unsafe { self.map.as_mut_ptr().add(mailbox_at(self.ranks, from, to) + PAGE) }
    }

    /// What a rank shows the others: `PIECE` bytes.
    pub(crate) fn offered(&self, rank: usize) -> *mut u8 {
        // SAFETY: each rank has two pieces.
        unsafe { self.map.as_mut_ptr().add(piece_at(self.ranks, rank)) }
    }

    /// Where a rank puts what it has added up: `PIECE` bytes.
    pub(crate) fn result(&self, rank: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.map.as_mut_ptr().add(piece_at(self.ranks, rank) + PIECE) }
    }

    fn lock_of(rank: usize) -> libc::flock {
        // SAFETY: all zeros are a value of this plain structure.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = rank as libc::off_t;
        lock.l_len = 1;
        lock
    }

    /// Holds the lock of a rank, for as long as this is open.
    ///
    /// # Errors
    /// When another one holds it.
    pub(crate) fn live(&self, rank: usize) -> Result {
        let mut lock = Self::lock_of(rank);
        // SAFETY: a call about a file that is open; the structure lives for it.
        let code = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) };
        if code == 0 {
            return Ok(());
        }
        Err(Error::usage(format!("two processes or threads say that they are rank {rank}")))
    }

    /// Whether somebody holds the lock of another rank.
    pub(crate) fn is_alive(&self, rank: usize) -> bool {
        let mut lock = Self::lock_of(rank);
        // SAFETY: as above.
        let code = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
        code != 0 || lock.l_type != libc::F_UNLCK as libc::c_short
    }
}
