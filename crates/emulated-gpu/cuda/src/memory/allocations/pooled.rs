//! Accounts of the device memory that pools and graphs use.

use ptx_emulator::memory::Devices;

use crate::abi::{Handle, Pointer};
use crate::memory::allocations::{AllocationKind, Allocations, units};

impl Allocations {
    /// Lets other devices into what was allocated from a pool.
    pub(crate) fn share_pool(&self, pool: Handle, with: Devices) {
        let table = self.table();
        for one in table.list.values() {
            if matches!(one.kind, AllocationKind::Pooled(from) if from == pool) {
                self.memory().share(one.address, with);
            }
        }
    }

    /// Bytes on a device that graphs have allocated and not freed.
    pub(crate) fn of_graphs(&self, device: u32) -> u64 {
        let table = self.table();
        let own = table.list.values().filter(|one| one.reserved && one.device == device);
        own.filter(|one| one.live).map(|one| units(one.size)).sum()
    }

    /// Bytes that a graph will have allocated there when it is launched, beside those of `of_graphs`.
    pub(crate) fn idle_of_graph(&self, address: Pointer) -> u64 {
        let idle = self.with(address, |one| if one.live { 0 } else { units(one.size) });
        idle.unwrap_or_default()
    }

    /// Bytes that were allocated from a pool and not freed in any stream's order.
    pub(crate) fn of_pool(&self, pool: Handle) -> u64 {
        let table = self.table();
        let own = table.list.values().filter(|one| {
            matches!(one.kind, AllocationKind::Pooled(from) if from == pool) && !one.leaving
        });
        own.map(|one| units(one.size)).sum()
    }
}
