//! A registry that maps handles to objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maps handles to objects of one type. A handle is a number that is only looked up, so an invalid handle yields an
/// error and is never dereferenced. Handles are not reused.
#[derive(Debug)]
pub struct Registry<T>(Mutex<RegistryState<T>>);

#[derive(Debug)]
struct RegistryState<T> {
    objects: BTreeMap<usize, Arc<T>>,
    next: usize,
}

/// The distance between handles, so that they look like aligned pointers.
const HANDLE_STEP: usize = 16;

impl<T> Registry<T> {
    /// An empty registry, whose handles start after `base`.
    #[must_use]
    pub const fn new(base: usize) -> Self {
        Self(Mutex::new(RegistryState { objects: BTreeMap::new(), next: base + HANDLE_STEP }))
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an object and returns its handle.
    pub fn insert(&self, object: T) -> usize {
        let mut state = self.lock();
        let handle = state.next;
        state.next += HANDLE_STEP;
        state.objects.insert(handle, Arc::new(object));
        handle
    }

    /// The object with this handle.
    #[must_use]
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.lock().objects.get(&handle).cloned()
    }

    /// Removes the object with this handle and returns it.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.lock().objects.remove(&handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_not_reused() {
        let registry = Registry::new(0);
        let (first, second) = (registry.insert("first"), registry.insert("second"));
        assert_eq!(registry.remove(first).as_deref(), Some(&"first"));
        let expected = (None, None, None);
        assert_eq!((registry.get(first), registry.remove(first), registry.get(0)), expected);
        assert!(registry.insert("third") > second);
        assert_eq!(registry.get(second).as_deref(), Some(&"second"));
    }
}
