//! Memory that several processes have, each at addresses of its own.
//!
//! What is allocated lies in memory of the process alone. Before another process can have it, its pages are
//! exchanged for those of a file that is nowhere but in memory, at the same addresses. Other processes open
//! that file by the number that it has in this one (`/proc/PID/fd`, proc(5)), which the system allows those of
//! the same user.

use std::fs::File;

use super::shared::{self, Addresses};
use super::space::Block;
use super::{Home, Memory, OutOfMemory, PAGE};

/// By what another process finds memory: which file of which process, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// The process that it was allocated in.
    pub process: u32,
    /// The number of the open file there.
    pub descriptor: i32,
    /// The file's own number, by which it is known that it is still that file.
    pub inode: u64,
    /// The first byte in it.
    pub offset: u64,
    /// How many bytes there are.
    pub size: u64,
}

/// Why memory can't be had by other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// No allocation of a device's is there.
    #[error("no memory that was allocated on a device is there")]
    NotDevice,
    /// The system has no file for it.
    #[error(
        "this process may have no files of memory (memfd_create) or no addresses of its own for the \
         device (ulimit -v, ulimit -f), or there is not so much memory"
    )]
    Unavailable,
}

/// Why memory of another process is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The other process has no such file.
    #[error("process {process} has ended, or may not be asked for its memory")]
    NoFile {
        /// The other process.
        process: u32,
    },
    /// Its memory was freed.
    #[error("process {process} has freed it")]
    Freed {
        /// The other process.
        process: u32,
    },
    /// There are not so many addresses or mappings left.
    #[error("{0}")]
    OutOfMemory(OutOfMemory),
}

/// A file of memory of another process of the same user.
fn file_of(process: u32, descriptor: i32, inode: u64) -> Option<File> {
    let path = format!("/proc/{process}/fd/{descriptor}");
    let file = File::options().read(true).write(true).open(path).ok()?;
    (shared::identity(&file)?.1 == inode).then_some(file)
}

#[cfg(unix)]
fn number_of(file: &File) -> i32 {
    std::os::fd::AsRawFd::as_raw_fd(file)
}

#[cfg(not(unix))]
fn number_of(_: &File) -> i32 {
    -1
}

impl SharedMemory {
    /// Of a file that this process has open.
    pub(super) fn new(file: &File, offset: u64, size: u64) -> Option<Self> {
        let (_, inode) = shared::identity(file)?;
        Some(Self { process: std::process::id(), descriptor: number_of(file), inode, offset, size })
    }
}

impl Memory {
    /// Lets other processes have the allocation of a device's that holds an address: what they find it by.
    /// The first time, this waits until no work runs: what it writes meanwhile would be lost.
    /// Not to be called by such work.
    ///
    /// # Errors
    /// When no such allocation is there, or the system allows no files of memory.
    pub fn share_with_processes(&self, address: u64) -> Result<SharedMemory, ShareError> {
        if let Some(found) = self.read_table().shared(address)? {
            return Ok(found);
        }
        loop {
            self.leases.wait_for_those_before(self.leases.next());
            let mut table = self.write_table();
            // What begins now finds nothing before the table is free.
            if self.leases.are_none() {
                return table.share_with_processes(address);
            }
        }
    }

    /// Memory of another process, at addresses here, which [`free`](Self::free) gives back. It counts as that of
    /// the other process.
    ///
    /// # Errors
    /// When that process has ended or freed it, or there are no more addresses.
    pub fn open_shared(&self, found: &SharedMemory, home: Home) -> Result<u64, OpenError> {
        let &SharedMemory { process, descriptor, inode, offset, size } = found;
        let missing = OpenError::NoFile { process };
        let none = OpenError::OutOfMemory(OutOfMemory { size });
        let file = file_of(process, descriptor, inode).ok_or(missing)?;
        let end = offset.checked_add(size.max(1)).ok_or(missing)?;
        if shared::sealed_len(&file).is_none_or(|len| end > len) {
            return Err(missing);
        }
        // In the middle: beside its ends there may be other allocations, on the same pages.
        if !shared::is_there(&file, offset + size / 2) {
            return Err(OpenError::Freed { process });
        }
        let first = offset / PAGE * PAGE;
        let len = end.next_multiple_of(PAGE) - first;
        let addresses = Addresses::reserve(len, PAGE, 0).ok_or(none)?;
        if !addresses.show(addresses.start, len, &file, first) {
            return Err(none);
        }
        let block = Block::other(addresses);
        Ok(self.write_table().insert_other(block, (offset - first, size), home))
    }
}

/// Numbers that several processes have, all 0 at first.
#[derive(Debug)]
pub struct SharedNumbers {
    addresses: Addresses,
    file: File,
}

impl SharedNumbers {
    fn of(file: File) -> Option<Self> {
        let addresses = Addresses::reserve(PAGE, PAGE, 0)?;
        addresses.show(addresses.start, PAGE, &file, 0).then_some(Self { addresses, file })
    }

    /// New ones; `None` where the system allows no files of memory.
    #[must_use]
    pub fn new() -> Option<Self> {
        Self::of(shared::create(c"emulated-gpu event", PAGE)?)
    }

    /// Those of another process.
    #[must_use]
    pub fn open(process: u32, descriptor: i32, inode: u64) -> Option<Self> {
        let file = file_of(process, descriptor, inode)?;
        (shared::sealed_len(&file)? == PAGE).then(|| Self::of(file))?
    }

    /// By what other processes find them.
    #[must_use]
    pub fn place(&self) -> Option<SharedMemory> {
        SharedMemory::new(&self.file, 0, PAGE)
    }

    /// One of them.
    ///
    /// # Panics
    /// From index 1024 on.
    #[must_use]
    #[allow(unsafe_code, reason = "the numbers are in memory that several processes have")]
    pub fn get(&self, index: usize) -> &std::sync::atomic::AtomicU32 {
        assert!(index < PAGE as usize / 4);
        let address = self.addresses.start + 4 * index as u64;
        // SAFETY: it is inside the page, which is there as long as this is, and aligned; all that is ever
        // done there is atomic.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(address as *mut u32) }
    }
}
