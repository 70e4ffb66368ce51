//! Memory of other processes.

use ptx_emulator::memory::SharedMemory;

use crate::abi::Pointer;
use crate::abi::error::{Code, Result};
use crate::memory::allocations::{AllocationKind, Allocations, Owner};

/// Memory of another process, as a context has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    place: SharedMemory,
    /// How often it was opened, and not closed.
    times: usize,
}

impl Allocations {
    /// Opens memory of another process: what a context has open already is at the same addresses.
    ///
    /// # Errors
    /// `MAP_FAILED` when that process has ended or freed it, or there are no more addresses.
    pub(crate) fn open(&self, place: SharedMemory, owner: Owner) -> Result<Pointer> {
        let mut table = self.table();
        for one in table.list.values_mut().filter(|one| one.context == owner.context) {
            if let AllocationKind::Other(opened) = &mut one.kind
                && opened.place == place
            {
                opened.times += 1;
                return Ok(one.address);
            }
        }
        drop(table);
        self.allocate(place.size, owner, 0, false, || {
            let opened = self.memory().open_shared(&place, owner.home);
            let address = opened.map_err(|error| Code::MAP_FAILED.because(error.to_string()))?;
            Ok((address, AllocationKind::Other(Opened { place, times: 1 })))
        })
    }

    /// Closes it once: whether it was opened as often. `None` where none begins there.
    pub(crate) fn close(&self, address: Pointer) -> Option<bool> {
        let mut table = self.table();
        let AllocationKind::Other(opened) = &mut table.list.get_mut(&address)?.kind else {
            return None;
        };
        opened.times = opened.times.saturating_sub(1);
        Some(opened.times == 0)
    }
}
