//! Registries, which find objects by handle. A handle is a number that is only ever looked up, so an invalid handle
//! gives an error and is never dereferenced.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};

/// The first handle, and the distance between handles. Small numbers are reserved: streams 0, 1 and 2.
const FIRST_HANDLE: Handle = 0x1000_0000;
const HANDLE_STEP: Handle = 0x40;

/// A new handle; no handle is used twice.
pub(crate) fn new_handle() -> Handle {
    static NEXT: AtomicUsize = AtomicUsize::new(FIRST_HANDLE);
    NEXT.fetch_add(HANDLE_STEP, Ordering::Relaxed)
}

/// The handle's ordinal, counting from 1.
pub(crate) fn ordinal(handle: Handle) -> u32 {
    (handle.saturating_sub(FIRST_HANDLE) / HANDLE_STEP + 1) as u32
}

/// A registry of the objects of one type.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    objects: RwLock<HashMap<Handle, Arc<T>>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { objects: RwLock::default() }
    }
}

impl<T> Registry<T> {
    pub(crate) fn insert(&self, handle: Handle, object: Arc<T>) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(handle, object);
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<Arc<T>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    /// The object with this handle.
    ///
    /// # Errors
    /// `code`, naming the kind of object, if the handle is unknown.
    pub(crate) fn find(&self, handle: Handle, code: Code, what: &str) -> Result<Arc<T>> {
        let missing = || code.because(format!("there is no {what} {handle:#x}"));
        self.get(handle).ok_or_else(missing)
    }

    pub(crate) fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    /// Removes the objects for which `stays` is false.
    pub(crate) fn retain(&self, stays: impl Fn(&T) -> bool) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.retain(|_, object| stays(object));
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.values().cloned().collect()
    }
}
