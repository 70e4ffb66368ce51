//! Memory that is mapped at addresses which a program has reserved: it belongs to no context, and is
//! counted where it is created.

use std::sync::Arc;

use ptx_emulator::memory::Physical;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};
use crate::memory::allocations::{Allocation, AllocationKind, Allocations};
use crate::memory::virtual_memory::{Held, not_mapped};

impl Allocations {
    /// Physical memory, which is counted for as long as it is there.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`
    pub(crate) fn physical(&self, size: u64, device: u32, exported: bool) -> Result<Arc<Physical>> {
        let free = self.free_bytes(device);
        if size > free {
            return Err(self.too_much(size, free));
        }
        let made = self.memory().create_physical(size, device, exported);
        made.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))
    }

    /// Maps memory, and lists what is there.
    ///
    /// # Errors
    /// `INVALID_VALUE` for addresses that are not reserved, or taken; `OUT_OF_MEMORY` where the process
    /// may not have more mappings.
    pub(crate) fn map(&self, address: Pointer, size: u64, known: &Held) -> Result {
        let mut table = self.table();
        self.memory().map(address, size, &known.memory).map_err(not_mapped)?;
        table.add((address, size), AllocationKind::Mapped, (0, known.memory.device()), 0);
        Ok(())
    }

    /// Takes whole mappings away; work that has found them is waited for.
    ///
    /// # Errors
    /// `INVALID_VALUE` where there are none.
    pub(crate) fn unmap(&self, address: Pointer, size: u64) -> Result {
        let gone = || {
            let is_gone = |one: &Allocation| {
                matches!(one.kind, AllocationKind::Mapped)
                    && (address..address.saturating_add(size)).contains(&one.address)
            };
            self.table().list.retain(|_, one| !is_gone(one));
        };
        self.memory().unmap(address, size, gone).map_err(not_mapped)
    }
}
