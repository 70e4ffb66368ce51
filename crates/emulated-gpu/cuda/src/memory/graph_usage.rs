//! The memory that graphs use on each device, currently and at its peak (CUDA Driver API, `CUgraphMem_attribute`). A
//! graph takes memory when it is launched. The memory stays reserved for further launches when graphs have finished
//! and when they are destroyed, until `cuDeviceGraphMemTrim` frees what no graph uses.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result};

enumeration! {
    /// `CUgraphMem_attribute`
    Attribute, "graph memory has no attribute {}" {
        UsedMemCurrent = 0, UsedMemHigh = 1, ReservedMemCurrent = 2, ReservedMemHigh = 3,
    }
}

/// The bytes reserved for graphs on each device, and the peaks since the last reset.
#[derive(Debug, Default)]
pub(crate) struct GraphUsage(Mutex<HashMap<u32, Bytes>>);

#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    current: u64,
    /// The peak of the used memory, which can be reset independently of the peak of the reserved memory.
    peak_used: u64,
    peak_reserved: u64,
}

impl GraphUsage {
    fn devices(&self) -> MutexGuard<'_, HashMap<u32, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that graphs use `used` bytes.
    pub(crate) fn update_peak(&self, device: u32, used: u64) {
        let mut devices = self.devices();
        let bytes = devices.entry(device).or_default();
        bytes.current = bytes.current.max(used);
        bytes.peak_used = bytes.peak_used.max(bytes.current);
        bytes.peak_reserved = bytes.peak_reserved.max(bytes.current);
    }

    /// Frees reserved memory except for the `used` bytes in use.
    pub(crate) fn trim(&self, device: u32, used: u64) {
        self.devices().entry(device).or_default().current = used;
    }

    /// The value of an attribute of a device's graph memory, in bytes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the attribute is unknown.
    pub(crate) fn attribute(&self, device: u32, attribute: u32) -> Result<u64> {
        let bytes = self.devices().get(&device).copied().unwrap_or_default();
        Ok(match Attribute::from_number(attribute)? {
            // In this implementation, used and reserved memory are the same.
            Attribute::UsedMemCurrent | Attribute::ReservedMemCurrent => bytes.current,
            Attribute::UsedMemHigh => bytes.peak_used,
            Attribute::ReservedMemHigh => bytes.peak_reserved,
        })
    }

    /// Resets one of the peaks to the current value.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the attribute is unknown or not a peak.
    pub(crate) fn reset(&self, device: u32, attribute: u32) -> Result {
        let mut devices = self.devices();
        let bytes = devices.entry(device).or_default();
        match Attribute::from_number(attribute)? {
            Attribute::UsedMemHigh => bytes.peak_used = bytes.current,
            Attribute::ReservedMemHigh => bytes.peak_reserved = bytes.current,
            Attribute::UsedMemCurrent | Attribute::ReservedMemCurrent => {
                return Err(Code::INVALID_VALUE
                    .because(format!("attribute {attribute} of graph memory can't be set")));
            }
        }
        Ok(())
    }
}
