//! Accounting of the device memory used by pools and graphs.

use ptx_emulator::memory::Devices;

use crate::abi::{Handle, Pointer};
use crate::memory::allocations::{AllocationKind, Allocations, rounded};

impl Allocations {
    /// Changes which other devices may access a pool's allocations.
    pub(crate) fn share_pool(&self, pool: Handle, devices: Devices) {
        let table = self.table();
        for allocation in table.list.values() {
            if matches!(allocation.kind, AllocationKind::Pooled(from) if from == pool) {
                self.memory().share(allocation.address, devices);
            }
        }
    }

    /// The number of bytes on a device that graphs have allocated and not freed.
    pub(crate) fn graph_bytes(&self, device: u32) -> u64 {
        let table = self.table();
        let own = table
            .list
            .values()
            .filter(|allocation| allocation.reserved && allocation.device == device);
        own.filter(|allocation| allocation.live).map(|allocation| rounded(allocation.size)).sum()
    }

    /// Bytes that launching the graph would add to `graph_bytes` for this allocation.
    pub(crate) fn unused_graph_bytes(&self, address: Pointer) -> u64 {
        let unused = self.with_allocation(address, |allocation| {
            if allocation.live { 0 } else { rounded(allocation.size) }
        });
        unused.unwrap_or_default()
    }

    /// Bytes that were allocated from a pool and not freed.
    pub(crate) fn pool_bytes(&self, pool: Handle) -> u64 {
        let table = self.table();
        let own = table.list.values().filter(|allocation| {
            matches!(allocation.kind, AllocationKind::Pooled(from) if from == pool)
                && !allocation.being_freed
        });
        own.map(|allocation| rounded(allocation.size)).sum()
    }
}
