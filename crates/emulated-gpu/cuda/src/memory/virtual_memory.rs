//! Handles of physical memory (`cuMemCreate`). A handle has a reference count. The memory exists until the count is
//! zero and no part of it is mapped any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ptx_emulator::Memory;
use ptx_emulator::memory::{MapError, Physical};

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::abi::registry::new_handle;

/// The handle type `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`, which is the only supported type of exported handles.
pub(crate) const DESCRIPTOR: i32 = 1;

#[derive(Debug)]
struct PhysicalEntry {
    memory: Weak<Physical>,
    /// The handle's own reference to the memory; `None` if the reference count is zero.
    owned: Option<Arc<Physical>>,
    references: usize,
    /// The types (`CUmemAllocationHandleType`) as which the memory may be exported.
    types: i32,
}

/// A handle of physical memory, with the memory.
#[derive(Clone, Debug)]
pub(crate) struct PhysicalHandle {
    pub(crate) handle: Handle,
    pub(crate) memory: Arc<Physical>,
    pub(crate) types: i32,
}

/// The table of handles.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    entries: Mutex<HashMap<Handle, PhysicalEntry>>,
}

impl Handles {
    fn entries(&self) -> MutexGuard<'_, HashMap<Handle, PhysicalEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle for new memory, with a reference count of 1.
    pub(crate) fn insert(&self, memory: Arc<Physical>, types: i32) -> Handle {
        let handle = new_handle();
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.memory.strong_count() > 0);
        let weak = Arc::downgrade(&memory);
        entries.insert(
            handle,
            PhysicalEntry { memory: weak, owned: Some(memory), references: 1, types },
        );
        handle
    }

    /// Looks up a handle.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the handle is unknown or its count is zero.
    pub(crate) fn get(&self, handle: Handle) -> Result<PhysicalHandle> {
        let entries = self.entries();
        let reservation =
            entries.get(&handle).and_then(|entry| Some((entry.owned.clone()?, entry.types)));
        let (memory, types) = reservation.ok_or_else(|| unknown_handle(handle))?;
        Ok(PhysicalHandle { handle, memory, types })
    }

    /// Finds the handle of mapped memory.
    pub(crate) fn find(&self, memory: &Arc<Physical>) -> Option<PhysicalHandle> {
        let (entries, at) = (self.entries(), Arc::as_ptr(memory));
        let (&handle, entry) = entries.iter().find(|(_, entry)| entry.memory.as_ptr() == at)?;
        Some(PhysicalHandle { handle, memory: Arc::clone(memory), types: entry.types })
    }

    /// Finds the existing handle of imported memory, if this process exported that memory itself or has imported it
    /// before.
    pub(crate) fn same_as(&self, other: &Physical) -> Option<PhysicalHandle> {
        self.entries().iter().find_map(|(&handle, entry)| {
            let memory = entry.memory.upgrade().filter(|memory| memory.is_same(other))?;
            Some(PhysicalHandle { handle, memory, types: entry.types })
        })
    }

    /// Increments a handle's count.
    pub(crate) fn retain(&self, handle: &PhysicalHandle) {
        if let Some(entry) = self.entries().get_mut(&handle.handle) {
            entry.references += 1;
            entry.owned = Some(Arc::clone(&handle.memory));
        }
    }

    /// Decrements a handle's count.
    ///
    /// # Errors
    /// See [`get`](Self::get).
    pub(crate) fn release(&self, handle: Handle) -> Result {
        let mut entries = self.entries();
        let entry = entries.get_mut(&handle).filter(|entry| entry.references > 0);
        let entry = entry.ok_or_else(|| unknown_handle(handle))?;
        entry.references -= 1;
        // The memory is dropped after the lock was released.
        let unowned = if entry.references == 0 { entry.owned.take() } else { None };
        drop(entries);
        drop(unowned);
        Ok(())
    }

    /// Handles that were not released, or whose memory is still mapped, with their sizes in bytes.
    pub(crate) fn list(&self) -> Vec<(Handle, u64)> {
        let entries = self.entries();
        let alive = |(&handle, entry): (&Handle, &PhysicalEntry)| {
            Some((handle, entry.memory.upgrade().filter(|memory| memory.is_own())?.size()))
        };
        let mut list: Vec<_> = entries.iter().filter_map(alive).collect();
        list.sort_unstable();
        list
    }
}

fn unknown_handle(handle: Handle) -> Error {
    Code::INVALID_VALUE.because(format!(
        "there is no memory with the handle {handle:#x}: it was released already, or it does not come \
         from cuMemCreate, cuMemRetainAllocationHandle or cuMemImportFromShareableHandle"
    ))
}

/// The error for a failed mapping: `OUT_OF_MEMORY` or `INVALID_VALUE`.
pub(crate) fn map_error(error: MapError) -> Error {
    let code = match error {
        MapError::OutOfMemory(_) => Code::OUT_OF_MEMORY,
        _ => Code::INVALID_VALUE,
    };
    code.because(error.to_string())
}

/// Checks that this machine supports virtual memory management.
///
/// # Errors
/// `NOT_SUPPORTED` if it doesn't.
pub(crate) fn check_supported(memory: &Memory) -> Result {
    if memory.can_map() {
        return Ok(());
    }
    Err(Code::NOT_SUPPORTED.because(
        "virtual memory management needs memory files (memfd_create), which this process may not create; \
         CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0",
    ))
}
