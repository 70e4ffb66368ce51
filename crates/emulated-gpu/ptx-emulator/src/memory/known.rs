//! Which bytes something has written: one byte more for each, 1 where it is known.

#![allow(unsafe_code, reason = "a range of raw memory is viewed as atomic bytes")]

use std::ops::Deref;
use std::sync::atomic::AtomicU8;

use super::OutOfMemory;
use crate::room::Zeroed;

/// See the module's comment.
#[derive(Debug)]
pub(crate) struct Known(Zeroed);

impl Known {
    /// Nothing is known of so many bytes.
    ///
    /// # Errors
    /// When the host has not the room.
    pub(crate) fn new(len: usize) -> Result<Self, OutOfMemory> {
        Zeroed::new(len, 1).map(Self)
    }
}

impl Deref for Known {
    type Target = [AtomicU8];

    fn deref(&self) -> &[AtomicU8] {
        // SAFETY: as many bytes live as long as `self`, and are reached as atomic ones alone.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len()) }
    }
}
