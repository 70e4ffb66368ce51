//! Physical memory, which has no fixed address and can be mapped at any number of addresses
//! (`cuMemCreate`).
//!
//! Memory that stays in the process comes from one common file, because a process can only have a
//! limited number of open files. Memory that can be exported has its own file, so that other
//! processes can't access anything else.

use std::ffi::CString;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::initialised_bytes::InitialisedBytes;
use super::pieces::Pieces;
use super::shared::{self, Identity};
use crate::room::OutOfMemory;

/// Physical memory is allocated and mapped in multiples of 2 MiB, as on hardware.
pub const GRANULARITY: u64 = 2 << 20;
/// The length in bytes of the common file, equal to the address range reserved for allocations. Its
/// pages are only allocated when they are touched.
const FILE_BYTES: u64 = 1 << 38;
/// Prefix of the names of files of exported memory; the device's ordinal follows.
const NAME_PREFIX: &str = "emulated-gpu memory of device ";

/// The common file of memory that stays in the process.
#[derive(Debug)]
pub(super) struct Store {
    file: Option<File>,
    free: Mutex<Pieces>,
}

impl Store {
    fn new() -> Self {
        let file = shared::create(c"emulated-gpu memory", FILE_BYTES);
        let len = if file.is_some() { FILE_BYTES } else { 0 };
        Self { file, free: Mutex::new(Pieces::new(GRANULARITY, 0, len)) }
    }
}

/// The common file of a device's memory, created on first use.
#[derive(Debug, Default)]
pub(super) struct Stores(OnceLock<Arc<Store>>);

impl Stores {
    fn get(&self) -> &Arc<Store> {
        self.0.get_or_init(|| Arc::new(Store::new()))
    }

    /// Whether the system supports physical memory.
    pub(super) fn is_supported(&self) -> bool {
        self.get().file.is_some()
    }
}

#[derive(Debug)]
enum Bytes {
    /// A part of the common file, starting at that offset.
    Part(Arc<Store>, u64),
    /// A separate file, exported to or imported from another process.
    Whole(File),
}

/// A piece of physical memory. It exists as long as a handle or a mapping refers to it.
#[derive(Debug)]
pub struct Physical {
    bytes: Bytes,
    size: u64,
    device: u32,
    /// Shadow of initialised bytes, shared by all mappings.
    pub(super) shadow: Option<Arc<InitialisedBytes>>,
    /// The counter of the device's used bytes that includes this piece.
    counter: Option<Arc<AtomicU64>>,
}

impl Physical {
    /// Allocates `size` zeroed bytes. `exported` if other processes may get them.
    pub(super) fn new(
        stores: &Stores,
        size: u64,
        device: u32,
        exported: bool,
    ) -> Result<Self, OutOfMemory> {
        let out_of_memory = OutOfMemory { size };
        if !shared::has_memory(size) {
            return Err(out_of_memory);
        }
        let bytes = if exported {
            let name = CString::new(format!("{NAME_PREFIX}{device}")).map_err(|_| out_of_memory)?;
            Bytes::Whole(shared::create(&name, size).ok_or(out_of_memory)?)
        } else {
            let store = stores.get();
            let mut free = store.free.lock().unwrap_or_else(PoisonError::into_inner);
            Bytes::Part(Arc::clone(store), free.take(size, GRANULARITY).ok_or(out_of_memory)?)
        };
        Ok(Self { bytes, size, device, shadow: None, counter: None })
    }

    /// Imports memory by the file descriptor that this or another process exported. The descriptor
    /// still belongs to the caller.
    pub(super) fn import(descriptor: i32) -> Option<Self> {
        let (file, name) = shared::duplicate(descriptor)?;
        let size = shared::sealed_len(&file)?;
        let device = name.split_once(NAME_PREFIX)?.1.split_whitespace().next()?.parse().ok()?;
        let is_whole = size > 0 && size.is_multiple_of(GRANULARITY);
        is_whole.then_some(Self {
            bytes: Bytes::Whole(file),
            size,
            device,
            shadow: None,
            counter: None,
        })
    }

    /// Adds the size to a counter of used bytes until the memory is freed.
    pub(super) fn with_counter(mut self, counter: Arc<AtomicU64>) -> Self {
        counter.fetch_add(self.size, Ordering::Relaxed);
        self.counter = Some(counter);
        self
    }

    /// Whether the memory was created by this process, and counts as used memory of its device.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.counter.is_some()
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The device that the memory is on.
    #[must_use]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Whether both are the same memory, such as two imports of one export.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.identity().is_some() && self.identity() == other.identity()
    }

    /// The identity of the memory's file, if the memory has a separate file.
    fn identity(&self) -> Option<Identity> {
        if let Bytes::Whole(file) = &self.bytes { shared::identity(file) } else { None }
    }

    /// The file that contains the memory, and the offset in that file.
    pub(super) fn place(&self) -> Option<(&File, u64)> {
        match &self.bytes {
            Bytes::Part(store, offset) => Some((store.file.as_ref()?, *offset)),
            Bytes::Whole(file) => Some((file, 0)),
        }
    }

    /// A file descriptor with which other processes can map the same memory. `None` if it was not
    /// created for export, or no more files can be opened. After the export, all of the memory
    /// counts as initialised, because writes of other processes are not recorded.
    #[must_use]
    pub fn export(&self) -> Option<File> {
        let Bytes::Whole(file) = &self.bytes else { return None };
        let descriptor = file.try_clone().ok()?;
        if let Some(shadow) = &self.shadow {
            shadow.set(0, self.size as usize, true);
        }
        Some(descriptor)
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if let Bytes::Part(store, offset) = &self.bytes
            && let Some(file) = &store.file
            // A part that can't be cleared is not reused.
            && shared::clear(file, *offset, self.size)
        {
            let mut free = store.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.release(*offset, self.size);
        }
        if let Some(counter) = &self.counter {
            counter.fetch_sub(self.size, Ordering::Relaxed);
        }
    }
}
