//! User objects (CUDA Driver API, "Graph Management", `cuUserObjectCreate`): resources of the program with a
//! destructor, which live as long as the graphs that refer to them.

#![allow(unsafe_code, reason = "calls a function of the program")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::error::{Code, Result};
use crate::abi::ffi;
use crate::abi::{Handle, HostFunction};

/// A resource, whose destructor runs on the thread that drops the last reference.
#[derive(Debug)]
pub(crate) struct UserResource {
    data: usize,
    destructor: HostFunction,
}

impl Drop for UserResource {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the program passed the function as a callback for this data. Like a host function, it must not
            // call the driver.
            ffi::host_function(|| unsafe { destructor(self.data as *mut _) });
        }
    }
}

/// A resource, with the number of references that the program holds.
#[derive(Debug)]
pub(crate) struct UserObject {
    pub(crate) resource: Arc<UserResource>,
    references: Mutex<u32>,
}

fn too_few(has: u32, count: u32) -> crate::abi::error::Error {
    Code::INVALID_VALUE
        .because(format!("{count} references can't be released, because there are only {has}"))
}

impl UserObject {
    /// A user object to which the program holds some references. `destructor` is called when the last reference is
    /// dropped.
    pub(crate) fn new(data: usize, destructor: HostFunction, references: u32) -> Self {
        Self {
            resource: Arc::new(UserResource { data, destructor }),
            references: Mutex::new(references),
        }
    }

    fn references(&self) -> MutexGuard<'_, u32> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds references.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the count overflows.
    pub(crate) fn retain(&self, count: u32) -> Result {
        let mut references = self.references();
        let more = references.checked_add(count);
        *references = more.ok_or_else(|| Code::INVALID_VALUE.because("too many references"))?;
        Ok(())
    }

    /// Releases references, and returns whether no reference is left.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there are fewer references.
    pub(crate) fn release(&self, count: u32) -> Result<bool> {
        let mut references = self.references();
        *references = references.checked_sub(count).ok_or_else(|| too_few(*references, count))?;
        Ok(*references == 0)
    }
}

/// The references to user objects that a graph holds.
#[derive(Debug, Default)]
pub(crate) struct ObjectReferences(Mutex<HashMap<Handle, (Arc<UserResource>, u32)>>);

impl ObjectReferences {
    fn references(&self) -> MutexGuard<'_, HashMap<Handle, (Arc<UserResource>, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds references.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the count overflows.
    pub(crate) fn retain(
        &self,
        object: Handle,
        resource: &Arc<UserResource>,
        count: u32,
    ) -> Result {
        let mut objects = self.references();
        let (_, references) = objects.entry(object).or_insert_with(|| (Arc::clone(resource), 0));
        let more = references.checked_add(count);
        *references = more.ok_or_else(|| Code::INVALID_VALUE.because("too many references"))?;
        Ok(())
    }

    /// Releases references.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there are fewer references.
    pub(crate) fn release(&self, object: Handle, count: u32) -> Result {
        let mut objects = self.references();
        let has = objects.get(&object).map_or(0, |(_, references)| *references);
        let left = has.checked_sub(count).ok_or_else(|| too_few(has, count))?;
        let gone = match objects.get_mut(&object) {
            Some((_, references)) if left > 0 => {
                *references = left;
                None
            }
            _ => objects.remove(&object),
        };
        // The destructor may take a while, so the lock is released first.
        drop(objects);
        drop(gone);
        Ok(())
    }

    /// All resources to which the graph has references, so that the caller can keep them alive longer than the graph.
    pub(crate) fn all(&self) -> Vec<Arc<UserResource>> {
        self.references().values().map(|(resource, _)| Arc::clone(resource)).collect()
    }

    /// Duplicates the references, for a copy of the graph.
    pub(crate) fn duplicate(&self) -> Self {
        Self(Mutex::new(self.references().clone()))
    }
}
