//! Names by which other processes find memory: which file of which process, and where in it.

use std::fs::File;

use super::pages::PAGE;
use super::shared::{self, Addresses};
use crate::room::OutOfMemory;

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
         device (ulimit -v, ulimit -f), or there is not that much memory"
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
    /// There are not that many addresses or mappings left.
    #[error("{0}")]
    OutOfMemory(OutOfMemory),
}

/// A file of memory of another process of the same user.
pub(super) fn file_of(process: u32, descriptor: i32, inode: u64) -> Option<File> {
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
