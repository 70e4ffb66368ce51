//! The memory that graphs use on each device, now and at most (CUDA Driver API, `CUgraphMem_attribute`). A graph
//! takes it when it is launched. It stays with graphs when they are done and when they are destroyed, for the next
//! launches, until the part that no graph uses is freed (`cuDeviceGraphMemTrim`).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};

enumeration! {
    /// `CUgraphMem_attribute`
    Attribute, "memory of graphs has no attribute {}" {
        UsedMemCurrent = 0, UsedMemHigh = 1, ReservedMemCurrent = 2, ReservedMemHigh = 3,
    }
}

/// Of each device the bytes that are with graphs, and the most that were since somebody asked to forget.
#[derive(Debug, Default)]
pub(crate) struct Taken(Mutex<HashMap<u32, Bytes>>);

#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    now: u64,
    /// The most, as each of the two attributes tells it.
    most_used: u64,
    most_reserved: u64,
}

impl Taken {
    fn devices(&self) -> MutexGuard<'_, HashMap<u32, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Graphs use this much at once.
    pub(crate) fn note(&self, device: u32, used: u64) {
        let mut devices = self.devices();
        let bytes = devices.entry(device).or_default();
        bytes.now = bytes.now.max(used);
        bytes.most_used = bytes.most_used.max(bytes.now);
        bytes.most_reserved = bytes.most_reserved.max(bytes.now);
    }

    /// Gives back what no graph uses, beside this much.
    pub(crate) fn trim(&self, device: u32, used: u64) {
        self.devices().entry(device).or_default().now = used;
    }

    /// An attribute of a device's memory of graphs, in bytes.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    pub(crate) fn attribute(&self, device: u32, attribute: u32) -> Result<u64> {
        let bytes = self.devices().get(&device).copied().unwrap_or_default();
        Ok(match Attribute::of(attribute)? {
            // What graphs take is theirs as a whole.
            Attribute::UsedMemCurrent | Attribute::ReservedMemCurrent => bytes.now,
            Attribute::UsedMemHigh => bytes.most_used,
            Attribute::ReservedMemHigh => bytes.most_reserved,
        })
    }

    /// Forgets one of the two that are the most: from now on it is what there is now.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    pub(crate) fn reset(&self, device: u32, attribute: u32) -> Result {
        let mut devices = self.devices();
        let bytes = devices.entry(device).or_default();
        match Attribute::of(attribute)? {
            Attribute::UsedMemHigh => bytes.most_used = bytes.now,
            Attribute::ReservedMemHigh => bytes.most_reserved = bytes.now,
            Attribute::UsedMemCurrent | Attribute::ReservedMemCurrent => {
                return Err(Code::INVALID_VALUE
                    .because(format!("attribute {attribute} of memory of graphs can't be set")));
            }
        }
        Ok(())
    }
}
