//! Descriptions with which other processes find shared memory: process, file and offset.

use std::fs::File;

use super::pages::PAGE_BYTES;
use super::shared::{self, Addresses};
use crate::room::OutOfMemory;

/// A description with which another process finds shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// The process that allocated the memory.
    pub process: u32,
    /// The descriptor of the file in that process.
    pub descriptor: i32,
    /// The inode, to check that the descriptor still refers to the same file.
    pub inode: u64,
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
}

/// Why memory can't be shared with other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// The address is not in an allocation of a device.
    #[error("the address is not in memory that was allocated on a device")]
    NotDevice,
    /// The system can't create an in-memory file for the memory.
    #[error(
        "this process can't create in-memory files (memfd_create) or reserve addresses for the \
         device (ulimit -v, ulimit -f), or there is not enough memory"
    )]
    Unavailable,
}

/// Why memory of another process can't be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The other process has ended, or the file can't be opened.
    #[error("process {process} has ended, or this process may not access its memory")]
    NoFile {
        /// The other process.
        process: u32,
    },
    /// The memory was freed.
    #[error("process {process} has freed the memory")]
    Freed {
        /// The other process.
        process: u32,
    },
    /// There are not enough addresses or mappings left.
    #[error("{0}")]
    OutOfMemory(OutOfMemory),
}

/// Opens an in-memory file of another process of the same user.
pub(super) fn open_file(process: u32, descriptor: i32, inode: u64) -> Option<File> {
    let path = format!("/proc/{process}/fd/{descriptor}");
    let file = File::options().read(true).write(true).open(path).ok()?;
    (shared::identity(&file)?.1 == inode).then_some(file)
}

#[cfg(unix)]
fn descriptor_of(file: &File) -> i32 {
    std::os::fd::AsRawFd::as_raw_fd(file)
}

#[cfg(not(unix))]
fn descriptor_of(_: &File) -> i32 {
    -1
}

impl SharedMemory {
    /// Describes a part of a file that this process has open.
    pub(super) fn new(file: &File, offset: u64, size: u64) -> Option<Self> {
        let (_, inode) = shared::identity(file)?;
        Some(Self {
            process: std::process::id(),
            descriptor: descriptor_of(file),
            inode,
            offset,
            size,
        })
    }
}

/// Numbers shared between processes, initially 0.
#[derive(Debug)]
pub struct SharedNumbers {
    addresses: Addresses,
    file: File,
}

impl SharedNumbers {
    fn map(file: File) -> Option<Self> {
        let addresses = Addresses::reserve(PAGE_BYTES, PAGE_BYTES, 0)?;
        addresses
            .map_file(addresses.start, PAGE_BYTES, &file, 0)
            .then_some(Self { addresses, file })
    }

    /// Creates new numbers; `None` if the system can't create in-memory files.
    #[must_use]
    pub fn new() -> Option<Self> {
        Self::map(shared::create(c"emulated-gpu event", PAGE_BYTES)?)
    }

    /// Opens the numbers of another process.
    #[must_use]
    pub fn open(process: u32, descriptor: i32, inode: u64) -> Option<Self> {
        let file = open_file(process, descriptor, inode)?;
        (shared::sealed_len(&file)? == PAGE_BYTES).then(|| Self::map(file))?
    }

    /// A description with which other processes find the numbers.
    #[must_use]
    pub fn place(&self) -> Option<SharedMemory> {
        SharedMemory::new(&self.file, 0, PAGE_BYTES)
    }

    /// The number at an index.
    ///
    /// # Panics
    /// If `index` is 1024 or more.
    #[must_use]
    #[allow(unsafe_code, reason = "the numbers are in memory that several processes map")]
    pub fn get(&self, index: usize) -> &std::sync::atomic::AtomicU32 {
        assert!(index < PAGE_BYTES as usize / 4);
        let address = self.addresses.start + 4 * index as u64;
        // SAFETY: the address is aligned, and inside the page, which is mapped as long as `self`
        // exists; all accesses to it are atomic.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(address as *mut u32) }
    }
}
