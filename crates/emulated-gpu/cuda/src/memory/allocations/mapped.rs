//! Memory mapped with `cuMemMap` at reserved addresses. Such memory belongs to no context, and is counted as physical
//! memory.

use std::sync::Arc;

use ptx_emulator::memory::Physical;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};
use crate::memory::allocations::{Allocation, AllocationKind, Allocations};
use crate::memory::virtual_memory::{PhysicalHandle, map_error};

impl Allocations {
    /// Creates physical memory, which counts as used memory as long as it exists.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the device or the host has too little.
    pub(crate) fn physical(&self, size: u64, device: u32, exported: bool) -> Result<Arc<Physical>> {
        let free = self.free_bytes(device);
        if size > free {
            return Err(self.out_of_memory(size, free));
        }
        let created = self.memory().create_physical(size, device, exported);
        created.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))
    }

    /// Maps physical memory, and records the mapping.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the addresses are not reserved or are mapped already; `OUT_OF_MEMORY` if the process can't
    /// have more mappings.
    pub(crate) fn map(&self, address: Pointer, size: u64, handle: &PhysicalHandle) -> Result {
        let mut table = self.table();
        self.memory().map(address, size, &handle.memory).map_err(map_error)?;
        table.add((address, size), AllocationKind::Mapped, (0, handle.memory.device()), 0);
        Ok(())
    }

    /// Removes whole mappings, after waiting for work that uses them.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the range doesn't consist of whole mappings.
    pub(crate) fn unmap(&self, address: Pointer, size: u64) -> Result {
        let remove = || {
            let is_unmapped = |one: &Allocation| {
                matches!(one.kind, AllocationKind::Mapped)
                    && (address..address.saturating_add(size)).contains(&one.address)
            };
            self.table().list.retain(|_, one| !is_unmapped(one));
        };
        self.memory().unmap(address, size, remove).map_err(map_error)
    }
}
