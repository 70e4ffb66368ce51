//! Values that host libraries store with a context, each with its key and a destructor that is called when the
//! context has been destroyed.

#![allow(unsafe_code, reason = "calls a host library's destructors, which are C functions")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;

/// A value's destructor, called with the context's handle, the key, and the value. Only the library knows the meaning
/// of the last two.
pub(crate) type Destructor = Option<unsafe extern "C" fn(Handle, usize, usize)>;

#[derive(Clone, Copy, Debug)]
struct StoredValue {
    key: usize,
    value: usize,
    destructor: Destructor,
}

/// The values that belong to one context.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    entries: Mutex<Vec<StoredValue>>,
}

/// The destructors of a destroyed context's values. They must be run after all locks are released, because they may
/// call the driver.
#[derive(Debug, Default)]
#[must_use = "the destructors have to be run"]
pub(crate) struct PendingDestructors {
    context: Handle,
    entries: Vec<StoredValue>,
}

impl Storage {
    fn entries(&self) -> MutexGuard<'_, Vec<StoredValue>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a value under a key, and replaces an existing value.
    pub(crate) fn put(&self, key: usize, value: usize, destructor: Destructor) {
        let mut entries = self.entries();
        entries.retain(|entry| entry.key != key);
        entries.push(StoredValue { key, value, destructor });
    }

    /// The value under a key.
    pub(crate) fn get(&self, key: usize) -> Option<usize> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| entry.value)
    }

    /// Removes the value under a key without calling its destructor.
    pub(crate) fn delete(&self, key: usize) {
        self.entries().retain(|entry| entry.key != key);
    }

    /// Removes all values, when the context is destroyed.
    pub(crate) fn take_all(&self, context: Handle) -> PendingDestructors {
        PendingDestructors { context, entries: std::mem::take(&mut *self.entries()) }
    }
}

impl PendingDestructors {
    /// Calls the destructors, in the order in which the values were stored.
    pub(crate) fn run(self) {
        for entry in self.entries {
            if let Some(destructor) = entry.destructor {
                // SAFETY: the library that stored the value passed the function to be called with these arguments.
                unsafe { destructor(self.context, entry.key, entry.value) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static DESTROYED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn destroy(context: Handle, key: usize, value: usize) {
        DESTROYED.store(context * 100 + key * 10 + value, Ordering::Relaxed);
    }

    #[test]
    fn values_are_stored_by_key_until_the_context_is_destroyed() {
        let storage = Storage::default();
        assert_eq!(storage.get(1), None);
        storage.put(1, 2, None);
        storage.put(1, 3, Some(destroy));
        storage.put(4, 5, Some(destroy));
        assert_eq!((storage.get(1), storage.get(4)), (Some(3), Some(5)));
        storage.delete(4);
        assert_eq!(storage.get(4), None);
        storage.take_all(7).run();
        assert_eq!(DESTROYED.load(Ordering::Relaxed), 713);
        assert_eq!(storage.get(1), None);
    }
}
