//! Memory without addresses, which is shown at as many as somebody likes (`cuMemCreate`).
//!
//! All that stays in the process is of one file, since a process may have few files open; what may go to
//! other processes is a file of its own, so that nobody gets more than that.

use std::ffi::CString;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::known::Known;
use super::pieces::Pieces;
use super::shared::{self, Identity};
use crate::room::OutOfMemory;

/// Physical memory comes in multiples of this, and is mapped at multiples of it: 2 MiB, as on hardware.
pub const GRANULARITY: u64 = 2 << 20;
/// The length of the file that all processes' own memory is of, in bytes, of which none is there before it
/// is touched: as many as addresses are reserved for all else.
const LENGTH: u64 = 1 << 38;
/// What the files of exported memory are called, before the number of the device.
const NAME: &str = "emulated-gpu memory of device ";

/// The file of memory that stays in the process.
#[derive(Debug)]
pub(super) struct Store {
    file: Option<File>,
    free: Mutex<Pieces>,
}

impl Store {
    fn new() -> Self {
        let file = shared::create(c"emulated-gpu memory", LENGTH);
        let len = if file.is_some() { LENGTH } else { 0 };
        Self { file, free: Mutex::new(Pieces::new(GRANULARITY, 0, len)) }
    }
}

/// The store of a device's memory, made when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Stores(OnceLock<Arc<Store>>);

impl Stores {
    fn get(&self) -> &Arc<Store> {
        self.0.get_or_init(|| Arc::new(Store::new()))
    }

    /// Whether there can be memory of this kind.
    pub(super) fn can_be(&self) -> bool {
        self.get().file.is_some()
    }
}

#[derive(Debug)]
enum Bytes {
    /// A part of a store, from that byte on.
    Part(Arc<Store>, u64),
    /// A file of its own, from another process or for one.
    Whole(File),
}

/// A piece of physical memory. It is there for as long as somebody has it: a handle, or a mapping.
#[derive(Debug)]
pub struct Physical {
    bytes: Bytes,
    size: u64,
    device: u32,
    /// One byte for each of its bytes: 1 where something has been written, at whichever address.
    pub(super) known: Option<Arc<Known>>,
    /// What is in use of the device's memory: this one is counted there.
    counter: Option<Arc<AtomicU64>>,
}

impl Physical {
    /// This many bytes, zeroed, to be exported or to stay here.
    pub(super) fn new(
        stores: &Stores,
        size: u64,
        device: u32,
        exported: bool,
    ) -> Result<Self, OutOfMemory> {
        let none = OutOfMemory { size };
        if !shared::has_room(size) {
            return Err(none);
        }
        let bytes = if exported {
            let name = CString::new(format!("{NAME}{device}")).map_err(|_| none)?;
            Bytes::Whole(shared::create(&name, size).ok_or(none)?)
        } else {
            let store = stores.get();
            let mut free = store.free.lock().unwrap_or_else(PoisonError::into_inner);
            Bytes::Part(Arc::clone(store), free.take(size, GRANULARITY).ok_or(none)?)
        };
        Ok(Self { bytes, size, device, known: None, counter: None })
    }

    /// What another process has exported, or this one, by the number of a file descriptor, which stays
    /// the caller's.
    pub(super) fn import(descriptor: i32) -> Option<Self> {
        let (file, name) = shared::duplicate(descriptor)?;
        let size = shared::sealed_len(&file)?;
        let device = name.split_once(NAME)?.1.split_whitespace().next()?.parse().ok()?;
        let is_whole = size > 0 && size.is_multiple_of(GRANULARITY);
        is_whole.then_some(Self {
            bytes: Bytes::Whole(file),
            size,
            device,
            known: None,
            counter: None,
        })
    }

    /// Counts it as in use, until it is gone.
    pub(super) fn counted(mut self, counter: Arc<AtomicU64>) -> Self {
        counter.fetch_add(self.size, Ordering::Relaxed);
        self.counter = Some(counter);
        self
    }

    /// Whether it is this process's own, and counted as memory of its device.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.counter.is_some()
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The device that it is on.
    #[must_use]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Whether both are the same memory, which came to this process twice.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.identity().is_some() && self.identity() == other.identity()
    }

    /// Which file it is, where it is one.
    fn identity(&self) -> Option<Identity> {
        if let Bytes::Whole(file) = &self.bytes { shared::identity(file) } else { None }
    }

    /// Where its bytes are.
    pub(super) fn place(&self) -> Option<(&File, u64)> {
        match &self.bytes {
            Bytes::Part(store, offset) => Some((store.file.as_ref()?, *offset)),
            Bytes::Whole(file) => Some((file, 0)),
        }
    }

    /// A file descriptor by which other processes get the same memory; `None` of what was not made for
    /// that, or where no more files can be open. From then on all of it counts as written, as
    /// nobody here knows what they write.
    #[must_use]
    pub fn export(&self) -> Option<File> {
        let Bytes::Whole(file) = &self.bytes else { return None };
        let descriptor = file.try_clone().ok()?;
        if let Some(known) = &self.known {
            known.set(0, self.size as usize, true);
        }
        Some(descriptor)
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if let Bytes::Part(store, offset) = &self.bytes
            && let Some(file) = &store.file
            // What can't be cleared is never given out again.
            && shared::clear(file, *offset, self.size)
        {
            let mut free = store.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.give(*offset, self.size);
        }
        if let Some(counter) = &self.counter {
            counter.fetch_sub(self.size, Ordering::Relaxed);
        }
    }
}
