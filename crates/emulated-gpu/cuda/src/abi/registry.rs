//! Objects by handle. A handle is a number that is only ever looked up, so a wrong one is an error
//! and never a wild pointer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};

/// The first handle, and how far the next one is from it. Small numbers mean something: streams 0, 1 and 2.
const FIRST: Handle = 0x1000_0000;
const STEP: Handle = 0x40;

/// A handle that was never given out before.
pub(crate) fn fresh() -> Handle {
    static NEXT: AtomicUsize = AtomicUsize::new(FIRST);
    NEXT.fetch_add(STEP, Ordering::Relaxed)
}

/// How manieth handle it is, from 1.
pub(crate) fn number(handle: Handle) -> u32 {
    (handle.saturating_sub(FIRST) / STEP + 1) as u32
}

/// The objects of one kind.
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

    /// The object of a handle.
    ///
    /// # Errors
    /// `code`, and what there is none of.
    pub(crate) fn find(&self, handle: Handle, code: Code, what: &str) -> Result<Arc<T>> {
        let missing = || code.because(format!("there is no {what} {handle:#x}"));
        self.get(handle).ok_or_else(missing)
    }

    pub(crate) fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    /// Removes those that are not to stay.
    pub(crate) fn retain(&self, stays: impl Fn(&T) -> bool) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.retain(|_, object| stays(object));
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.values().cloned().collect()
    }
}
