//! Objects by handles.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The objects of one kind. A handle is a number that is only looked up, so a wrong one is an error and never a
/// wild pointer; none is given out twice.
#[derive(Debug)]
pub struct Registry<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    objects: BTreeMap<usize, Arc<T>>,
    next: usize,
}

/// How far handles are apart: as far as pointers are.
const STEP: usize = 16;

impl<T> Registry<T> {
    /// No objects yet; their handles come after `base`.
    #[must_use]
    pub const fn new(base: usize) -> Self {
        Self(Mutex::new(State { objects: BTreeMap::new(), next: base + STEP }))
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an object, and gives its handle.
    pub fn insert(&self, object: T) -> usize {
        let mut state = self.lock();
        let handle = state.next;
        state.next += STEP;
        state.objects.insert(handle, Arc::new(object));
        handle
    }

    /// The object of a handle.
    #[must_use]
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.lock().objects.get(&handle).cloned()
    }

    /// Forgets the object of a handle, and gives it to the caller.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.lock().objects.remove(&handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_handle_is_given_out_twice() {
        let registry = Registry::new(0);
        let (first, second) = (registry.insert("first"), registry.insert("second"));
        assert_eq!(registry.remove(first).as_deref(), Some(&"first"));
        assert_eq!(
            (registry.get(first), registry.remove(first), registry.get(0)),
            (None, None, None)
        );
        assert!(registry.insert("third") > second);
        assert_eq!(registry.get(second).as_deref(), Some(&"second"));
    }
}
