//! Values that host libraries store with a context, each under a key of its own and with a function that is called
//! when the context has ended.

#![allow(unsafe_code, reason = "calls functions of C that a host library named")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;

/// Told of the end of a context: its handle, the key, and the value. The library's own, so that neither
/// is looked at here.
pub(crate) type OnEnd = Option<unsafe extern "C" fn(Handle, usize, usize)>;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: usize,
    value: usize,
    on_end: OnEnd,
}

/// The values that belong to one context.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    entries: Mutex<Vec<Entry>>,
}

/// What is left of a context that has ended: whoever is to be told, once no lock is held, since they
/// may call the driver.
#[derive(Debug, Default)]
#[must_use = "whoever keeps values beside the context has to be told"]
pub(crate) struct Ended {
    context: Handle,
    entries: Vec<Entry>,
}

impl Storage {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value, in place of what was there under the key.
    pub(crate) fn put(&self, key: usize, value: usize, on_end: OnEnd) {
        let mut entries = self.entries();
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key, value, on_end });
    }

    /// The value under a key.
    pub(crate) fn get(&self, key: usize) -> Option<usize> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| entry.value)
    }

    /// Keeps what is under a key no longer, and tells nobody.
    pub(crate) fn delete(&self, key: usize) {
        self.entries().retain(|entry| entry.key != key);
    }

    /// Takes everything, at the end of the context.
    pub(crate) fn end(&self, context: Handle) -> Ended {
        Ended { context, entries: std::mem::take(&mut *self.entries()) }
    }
}

impl Ended {
    /// Tells everybody, in the order in which they came.
    pub(crate) fn tell(self) {
        for entry in self.entries {
            if let Some(on_end) = entry.on_end {
                // SAFETY: who kept the value vouches for the function, with these arguments.
                unsafe { on_end(self.context, entry.key, entry.value) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static TOLD: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn note(context: Handle, key: usize, value: usize) {
        TOLD.store(context * 100 + key * 10 + value, Ordering::Relaxed);
    }

    #[test]
    fn values_are_kept_by_key_until_the_context_ends() {
        let storage = Storage::default();
        assert_eq!(storage.get(1), None);
        storage.put(1, 2, None);
        storage.put(1, 3, Some(note));
        storage.put(4, 5, Some(note));
        assert_eq!((storage.get(1), storage.get(4)), (Some(3), Some(5)));
        storage.delete(4);
        assert_eq!(storage.get(4), None);
        storage.end(7).tell();
        assert_eq!(TOLD.load(Ordering::Relaxed), 713);
        assert_eq!(storage.get(1), None);
    }
}
