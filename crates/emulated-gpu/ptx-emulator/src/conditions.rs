//! Conditions of conditional graph nodes, which kernels set by `cudaGraphSetConditional` (CUDA Runtime API,
//! "Graph Management"). A kernel has no address of a condition, only a handle, which is looked up in this
//! table.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The first handle. Handles are larger than any host address, and differ from the handles of textures.
const FIRST_HANDLE: u64 = 3 << 61;

/// Why a kernel can't set a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// There is no condition with this handle.
    #[error("{handle:#x} is not the handle of a condition")]
    Unknown {
        /// The handle.
        handle: u64,
    },
    /// The condition belongs to another context.
    #[error("the condition {handle:#x} belongs to a context other than the kernel's")]
    Elsewhere {
        /// The handle.
        handle: u64,
    },
}

#[derive(Debug)]
struct ConditionEntry {
    owner: u64,
    value: AtomicU32,
}

/// All conditions, by handle.
#[derive(Debug)]
pub struct Conditions {
    table: RwLock<HashMap<u64, ConditionEntry>>,
    next: AtomicU64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { table: RwLock::default(), next: AtomicU64::new(FIRST_HANDLE) }
    }
}

impl Conditions {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, ConditionEntry>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, ConditionEntry>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a condition with the value 0, and returns its handle, which is never reused. Only kernels of its
    /// owner ([`Heap::owner`](crate::memory::Heap::owner)) may set it.
    #[must_use]
    pub fn create(&self, owner: u64) -> u64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        self.write().insert(handle, ConditionEntry { owner, value: AtomicU32::new(0) });
        handle
    }

    /// Removes a condition. An unknown handle is a no-op.
    pub fn destroy(&self, handle: u64) {
        self.write().remove(&handle);
    }

    /// The current value.
    #[must_use]
    pub fn value(&self, handle: u64) -> Option<u32> {
        self.read().get(&handle).map(|entry| entry.value.load(Ordering::Acquire))
    }

    /// Sets the value, regardless of the owner. An unknown handle is a no-op.
    pub fn assign(&self, handle: u64, value: u32) {
        if let Some(entry) = self.read().get(&handle) {
            entry.value.store(value, Ordering::Release);
        }
    }

    /// Sets the value from a kernel of `owner`.
    pub(crate) fn set(&self, owner: u64, handle: u64, value: u32) -> Result<(), ConditionError> {
        match self.read().get(&handle) {
            None => Err(ConditionError::Unknown { handle }),
            Some(entry) if entry.owner != owner => Err(ConditionError::Elsewhere { handle }),
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
    fn only_kernels_of_its_owner_set_a_condition() {
        let conditions = Conditions::default();
        let (one, other) = (conditions.create(1), conditions.create(2));
        assert_eq!((conditions.value(one), conditions.set(1, one, 7)), (Some(0), Ok(())));
        assert_eq!(conditions.set(1, other, 7), Err(ConditionError::Elsewhere { handle: other }));
        conditions.assign(other, 3);
        assert_eq!((conditions.value(one), conditions.value(other)), (Some(7), Some(3)));
        conditions.destroy(one);
        assert_eq!(conditions.set(1, one, 8), Err(ConditionError::Unknown { handle: one }));
        assert_eq!(conditions.value(one), None);
        assert_ne!(conditions.create(1), one);
    }
}
