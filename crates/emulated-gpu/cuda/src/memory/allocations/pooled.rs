//! Accounting of the device memory used by pools and graphs.

use ptx_emulator::memory::Devices;

use crate::abi::{Handle, Pointer};
use crate::memory::allocations::{AllocationKind, Allocations, rounded};

impl Allocations {
    /// Changes which other devices may access a pool's allocations.
    pub(crate) fn share_pool(&self, pool: Handle, devices: Devices) {
        let table = self.table();
        for one in table.list.values() {
            if matches!(one.kind, AllocationKind::Pooled(from) if from == pool) {
                self.memory().share(one.address, devices);
            }
        }
    }

    /// Bytes on a device that graphs have allocated and not freed.
    pub(crate) fn graph_bytes(&self, device: u32) -> u64 {
        let table = self.table();
        let own = table.list.values().filter(|one| one.reserved && one.device == device);
        own.filter(|one| one.live).map(|one| rounded(one.size)).sum()
    }

    /// Bytes that launching the graph would add to `graph_bytes` for this allocation.
    pub(crate) fn unused_graph_bytes(&self, address: Pointer) -> u64 {
        let unused =
            self.with_allocation(address, |one| if one.live { 0 } else { rounded(one.size) });
        unused.unwrap_or_default()
    }

    /// Bytes that were allocated from a pool and not freed.
    pub(crate) fn pool_bytes(&self, pool: Handle) -> u64 {
        let table = self.table();
        let own = table.list.values().filter(|one| {
            matches!(one.kind, AllocationKind::Pooled(from) if from == pool) && !one.being_freed
        });
        own.map(|one| rounded(one.size)).sum()
    }
}
