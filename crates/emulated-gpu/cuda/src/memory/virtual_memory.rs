//! Physical memory by its handles. A handle counts how often it was given out; the memory is there until
//! that is zero and nothing of it is mapped any longer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ptx_emulator::Memory;
use ptx_emulator::memory::{MapError, Physical};

use crate::abi::Handle;
use crate::abi::error::{Code, Error, Result};
use crate::abi::registry::fresh;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`: the one way to other processes.
pub(crate) const DESCRIPTOR: i32 = 1;

#[derive(Debug)]
struct Entry {
    memory: Weak<Physical>,
    /// The handle's own part in keeping it, while it was not released as often as it was given out.
    kept: Option<Arc<Physical>>,
    references: usize,
    /// `CUmemAllocationHandleType`s that it may be exported as.
    types: i32,
}

/// What is known of a handle.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) handle: Handle,
    pub(crate) memory: Arc<Physical>,
    pub(crate) types: i32,
}

/// Every handle.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    entries: Mutex<HashMap<Handle, Entry>>,
}

impl Handles {
    fn entries(&self) -> MutexGuard<'_, HashMap<Handle, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle of new memory, given out once.
    pub(crate) fn insert(&self, memory: Arc<Physical>, types: i32) -> Handle {
        let handle = fresh();
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.memory.strong_count() > 0);
        let weak = Arc::downgrade(&memory);
        entries.insert(handle, Entry { memory: weak, kept: Some(memory), references: 1, types });
        handle
    }

    /// What a handle is of.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what was given out by nobody, or released as often.
    pub(crate) fn get(&self, handle: Handle) -> Result<Held> {
        let entries = self.entries();
        let found = entries.get(&handle).and_then(|entry| Some((entry.kept.clone()?, entry.types)));
        let (memory, types) = found.ok_or_else(|| missing(handle))?;
        Ok(Held { handle, memory, types })
    }

    /// The handle of memory that is mapped somewhere.
    pub(crate) fn of(&self, memory: &Arc<Physical>) -> Option<Held> {
        let (entries, at) = (self.entries(), Arc::as_ptr(memory));
        let (&handle, entry) = entries.iter().find(|(_, entry)| entry.memory.as_ptr() == at)?;
        Some(Held { handle, memory: Arc::clone(memory), types: entry.types })
    }

    /// The handle of memory that came back to the process it was exported from, or came twice.
    pub(crate) fn same_as(&self, other: &Physical) -> Option<Held> {
        self.entries().iter().find_map(|(&handle, entry)| {
            let memory = entry.memory.upgrade().filter(|memory| memory.is_same(other))?;
            Some(Held { handle, memory, types: entry.types })
        })
    }

    /// Gives a handle out once more.
    pub(crate) fn retain(&self, known: &Held) {
        if let Some(entry) = self.entries().get_mut(&known.handle) {
            entry.references += 1;
            entry.kept = Some(Arc::clone(&known.memory));
        }
    }

    /// Takes a handle back once.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) fn release(&self, handle: Handle) -> Result {
        let mut entries = self.entries();
        let entry = entries.get_mut(&handle).filter(|entry| entry.references > 0);
        let entry = entry.ok_or_else(|| missing(handle))?;
        entry.references -= 1;
        // The memory goes outside of the lock.
        let gone = if entry.references == 0 { entry.kept.take() } else { None };
        drop(entries);
        drop(gone);
        Ok(())
    }

    /// What was never released, or is still mapped: the handle, and how many bytes.
    pub(crate) fn list(&self) -> Vec<(Handle, u64)> {
        let entries = self.entries();
        let alive = |(&handle, entry): (&Handle, &Entry)| {
            Some((handle, entry.memory.upgrade().filter(|memory| memory.is_own())?.size()))
        };
        let mut list: Vec<_> = entries.iter().filter_map(alive).collect();
        list.sort_unstable();
        list
    }
}

fn missing(handle: Handle) -> Error {
    Code::INVALID_VALUE.because(format!(
        "there is no memory with the handle {handle:#x}: it was released as often as it was given out, \
         or never came from cuMemCreate, cuMemRetainAllocationHandle or cuMemImportFromShareableHandle"
    ))
}

/// `OUT_OF_MEMORY`, or `INVALID_VALUE`.
pub(crate) fn not_mapped(error: MapError) -> Error {
    let code = match error {
        MapError::OutOfMemory(_) => Code::OUT_OF_MEMORY,
        _ => Code::INVALID_VALUE,
    };
    code.because(error.to_string())
}

/// Whether this machine has all this.
///
/// # Errors
/// `NOT_SUPPORTED`
pub(crate) fn required(memory: &Memory) -> Result {
    if memory.can_map() {
        return Ok(());
    }
    Err(Code::NOT_SUPPORTED.because(
        "virtual memory management is emulated by files of memory (memfd_create), which this process \
         may not have: CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED says so",
    ))
}
