//! Memory of other processes (`cuIpcOpenMemHandle`).

use ptx_emulator::memory::SharedMemory;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};
use crate::memory::allocations::{AllocationKind, Allocations, Owner};

/// Memory of another process that a context has opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignMemory {
    place: SharedMemory,
    /// The number of opens minus the number of closes.
    open_count: usize,
}

impl Allocations {
    /// Opens memory of another process. If the context has opened the memory before, the address is the same.
    ///
    /// # Errors
    /// `MAP_FAILED` if that process has ended or freed the memory, or the address space is exhausted.
    pub(crate) fn open(&self, place: SharedMemory, owner: Owner) -> Result<Pointer> {
        let mut table = self.table();
        for one in table.list.values_mut().filter(|one| one.context == owner.context) {
            if let AllocationKind::Foreign(opened) = &mut one.kind
                && opened.place == place
            {
                opened.open_count += 1;
                return Ok(one.address);
            }
        }
        drop(table);
        self.allocate(place.size, owner, 0, false, || {
            let opened = self.memory().open_shared(&place, owner.home);
            let address = opened.map_err(|error| Code::MAP_FAILED.because(error.to_string()))?;
            Ok((address, AllocationKind::Foreign(ForeignMemory { place, open_count: 1 })))
        })
    }

    /// Closes another process's memory once, and returns whether it is closed now (it may have been opened several
    /// times). `None` if no such memory begins at the address.
    pub(crate) fn close(&self, address: Pointer) -> Option<bool> {
        let mut table = self.table();
        let AllocationKind::Foreign(opened) = &mut table.list.get_mut(&address)?.kind else {
            return None;
        };
        opened.open_count = opened.open_count.saturating_sub(1);
        Some(opened.open_count == 0)
    }
}
