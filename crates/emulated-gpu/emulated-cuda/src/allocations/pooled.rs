//! What pools and graphs have of a device's memory.

use ptx_emulator::memory::Devices;

use super::{AllocationKind, Allocations, units};
use crate::abi::Handle;
use crate::driver::driver;
use crate::error::Result;

impl Allocations {
    /// Lets other devices into what was allocated from a pool.
    ///
    /// # Errors
    /// Before `cuInit`.
    pub(crate) fn share_pool(&self, pool: Handle, with: Devices) -> Result {
        let memory = driver()?.emulator.memory();
        let table = self.table();
        for one in table.list.values() {
            if matches!(one.kind, AllocationKind::Pooled(from) if from == pool) {
                memory.share(one.address, with);
            }
        }
        Ok(())
    }

    /// Bytes on a device that belong to graphs, and how many of them are in use.
    pub(crate) fn of_graphs(&self, device: u32) -> [u64; 2] {
        let table = self.table();
        let own = table.list.values().filter(|one| one.reserved && one.device == device);
        own.fold([0; 2], |[all, used], one| {
            let size = units(one.size);
            [all + size, used + if one.live { size } else { 0 }]
        })
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
