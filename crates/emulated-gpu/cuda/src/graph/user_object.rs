//! User objects (CUDA Driver API, "Graph Management", `cuUserObjectCreate`): resources of the program's with a
//! destructor, which live as long as the graphs that refer to them.

#![allow(unsafe_code, reason = "calls a function of the program's")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::error::{Code, Result};
use crate::abi::ffi;
use crate::abi::{Handle, HostFunction};

/// What ends with the last reference to it, on whichever thread gives that back.
#[derive(Debug)]
pub(crate) struct Resource {
    data: usize,
    end: HostFunction,
}

impl Drop for Resource {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            // SAFETY: the program vouches for both. Like a host function, it may not call the driver.
            ffi::host_function(|| unsafe { end(self.data as *mut _) });
        }
    }
}

/// The references that a program holds itself.
#[derive(Debug)]
pub(crate) struct UserObject {
    pub(crate) resource: Arc<Resource>,
    references: Mutex<u32>,
}

fn too_few(has: u32, count: u32) -> crate::abi::error::Error {
    Code::INVALID_VALUE.because(format!("{count} references are given back, and there are {has}"))
}

impl UserObject {
    /// An object with this many references, which `end` is called for when the last is gone.
    pub(crate) fn new(data: usize, end: HostFunction, references: u32) -> Self {
        Self { resource: Arc::new(Resource { data, end }), references: Mutex::new(references) }
    }

    fn references(&self) -> MutexGuard<'_, u32> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More references.
    ///
    /// # Errors
    /// `INVALID_VALUE` for more than can be counted.
    pub(crate) fn retain(&self, count: u32) -> Result {
        let mut references = self.references();
        let more = references.checked_add(count);
        *references = more.ok_or_else(|| Code::INVALID_VALUE.because("too many references"))?;
        Ok(())
    }

    /// Gives references back; whether none is left.
    ///
    /// # Errors
    /// `INVALID_VALUE` for more than there are.
    pub(crate) fn release(&self, count: u32) -> Result<bool> {
        let mut references = self.references();
        *references = references.checked_sub(count).ok_or_else(|| too_few(*references, count))?;
        Ok(*references == 0)
    }
}

/// The references that a graph holds.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<Handle, (Arc<Resource>, u32)>>);

impl Held {
    fn held(&self) -> MutexGuard<'_, HashMap<Handle, (Arc<Resource>, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds more references.
    ///
    /// # Errors
    /// `INVALID_VALUE` for more than can be counted.
    pub(crate) fn retain(&self, object: Handle, resource: &Arc<Resource>, count: u32) -> Result {
        let mut held = self.held();
        let (_, references) = held.entry(object).or_insert_with(|| (Arc::clone(resource), 0));
        let more = references.checked_add(count);
        *references = more.ok_or_else(|| Code::INVALID_VALUE.because("too many references"))?;
        Ok(())
    }

    /// Gives references back.
    ///
    /// # Errors
    /// `INVALID_VALUE` for more than there are.
    pub(crate) fn release(&self, object: Handle, count: u32) -> Result {
        let mut held = self.held();
        let has = held.get(&object).map_or(0, |(_, references)| *references);
        let left = has.checked_sub(count).ok_or_else(|| too_few(has, count))?;
        let gone = match held.get_mut(&object) {
            Some((_, references)) if left > 0 => {
                *references = left;
                None
            }
            _ => held.remove(&object),
        };
        // What ends may take a while, and nobody is to wait for it here.
        drop(held);
        drop(gone);
        Ok(())
    }

    /// All of them, for who lives longer.
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        self.held().values().map(|(resource, _)| Arc::clone(resource)).collect()
    }

    /// The same references, for a copy of the graph.
    pub(crate) fn duplicate(&self) -> Self {
        Self(Mutex::new(self.held().clone()))
    }
}
