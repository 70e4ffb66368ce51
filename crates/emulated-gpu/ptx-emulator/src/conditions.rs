//! Conditions of conditional graph nodes, which kernels set by `cudaGraphSetConditional` (CUDA Runtime API,
//! "Graph Management"). They have no address: a kernel has a handle, which is looked up in this table.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Handles are larger than any address of a host, and other numbers than those of textures.
const FIRST: u64 = 3 << 61;

/// A handle by which a kernel can't set anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSet {
    /// No condition has it.
    #[error("{handle:#x} is the handle of no condition")]
    Unknown {
        /// The handle.
        handle: u64,
    },
    /// A condition of somebody else's has it.
    #[error("the condition {handle:#x} belongs to another context than the kernel")]
    Elsewhere {
        /// The handle.
        handle: u64,
    },
}

#[derive(Debug)]
struct Entry {
    owner: u64,
    value: AtomicU32,
}

/// All conditions, by handle.
#[derive(Debug)]
pub struct Conditions {
    table: RwLock<HashMap<u64, Entry>>,
    next: AtomicU64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { table: RwLock::default(), next: AtomicU64::new(FIRST) }
    }
}

impl Conditions {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, Entry>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, Entry>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new condition, which is 0: its handle, which no other has been or will be. Kernels of its owner
    /// may set it ([`Heap::owner`](crate::memory::Heap::owner)).
    #[must_use]
    pub fn create(&self, owner: u64) -> u64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        self.write().insert(handle, Entry { owner, value: AtomicU32::new(0) });
        handle
    }

    /// Forgets one, if there is one of that handle.
    pub fn destroy(&self, handle: u64) {
        self.write().remove(&handle);
    }

    /// What it is now.
    #[must_use]
    pub fn value(&self, handle: u64) -> Option<u32> {
        self.read().get(&handle).map(|entry| entry.value.load(Ordering::Acquire))
    }

    /// Makes it another number, whoever owns it; nothing happens where there is none of that handle.
    pub fn assign(&self, handle: u64, value: u32) {
        if let Some(entry) = self.read().get(&handle) {
            entry.value.store(value, Ordering::Release);
        }
    }

    /// As a kernel of an owner's sets it.
    pub(crate) fn set(&self, owner: u64, handle: u64, value: u32) -> Result<(), NotSet> {
        match self.read().get(&handle) {
            None => Err(NotSet::Unknown { handle }),
            Some(entry) if entry.owner != owner => Err(NotSet::Elsewhere { handle }),
            Some(entry) => {
                entry.value.store(value, Ordering::Release);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_set_by_its_owner_s_kernels() {
        let conditions = Conditions::default();
        let (one, other) = (conditions.create(1), conditions.create(2));
        assert_eq!((conditions.value(one), conditions.set(1, one, 7)), (Some(0), Ok(())));
        assert_eq!(conditions.set(1, other, 7), Err(NotSet::Elsewhere { handle: other }));
        conditions.assign(other, 3);
        assert_eq!((conditions.value(one), conditions.value(other)), (Some(7), Some(3)));
        conditions.destroy(one);
        assert_eq!(conditions.set(1, one, 8), Err(NotSet::Unknown { handle: one }));
        assert_eq!(conditions.value(one), None);
        assert_ne!(conditions.create(1), one);
    }
}
