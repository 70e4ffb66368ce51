//! Allocations shared between processes.

use super::{AllocationKind, Block, LiveAllocation, Table};
use crate::memory::reach::Home;
use crate::memory::shared_memory::{ShareError, SharedMemory};

impl Table {
    /// The description with which other processes find the allocation that holds an address, if it
    /// is already shared. All of a shared allocation counts as initialised.
    ///
    /// # Errors
    /// If the address is not in an allocation of a device.
    pub(in crate::memory) fn shared(
        &self,
        address: u64,
    ) -> Result<Option<SharedMemory>, ShareError> {
        let (base, live) =
            self.live_allocations.range(..=address).next_back().ok_or(ShareError::NotDevice)?;
        let is_device = live.kind == AllocationKind::Device && address - base < live.size.max(1);
        let host = live.host.as_ref().filter(|_| is_device).ok_or(ShareError::NotDevice)?;
        let look =
            |file: &_, offset| SharedMemory::new(file, offset + base - host.start(), live.size);
        let found = host.shared(look).flatten();
        // Other processes' writes are not tracked, so all of the allocation counts as initialised.
        if let (Some(_), Some(shadow)) = (found, &live.shadow) {
            shadow.set(0, live.size as usize, true);
        }
        Ok(found)
    }

    /// Shares the allocation that holds an address. No work may still use any memory.
    ///
    /// # Errors
    /// If the address is not in an allocation of a device, or can't be shared.
    pub(in crate::memory) fn share_with_processes(
        &mut self,
        address: u64,
    ) -> Result<SharedMemory, ShareError> {
        let _ = self.shared(address)?;
        if let Some((_, live)) = self.live_allocations.range(..=address).next_back() {
            let _ = live.host.as_ref().is_some_and(Block::share);
        }
        self.shared(address)?.ok_or(ShareError::Unavailable)
    }

    /// Adds memory of another process, which starts `offset` bytes into a block, to the table.
    pub(in crate::memory) fn insert_other(
        &mut self,
        block: Block,
        (offset, size): (u64, u64),
        home: Home,
    ) -> u64 {
        let address = block.start() + offset;
        let live = LiveAllocation {
            host: Some(block),
            ..LiveAllocation::new(size, AllocationKind::OtherProcess, home)
        };
        self.live_allocations.insert(address, live);
        address
    }
}
