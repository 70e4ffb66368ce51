//! Allocations that several processes have.

use super::{AllocationKind, Block, Live, Table};
use crate::memory::reach::Home;
use crate::memory::shared_memory::{ShareError, SharedMemory};

impl Table {
    /// By what other processes find the allocation that holds an address, if they can have it already. All of it
    /// counts as written then.
    ///
    /// # Errors
    /// When it is no memory of a device's.
    pub(in crate::memory) fn shared(
        &self,
        address: u64,
    ) -> Result<Option<SharedMemory>, ShareError> {
        let (base, live) = self.live.range(..=address).next_back().ok_or(ShareError::NotDevice)?;
        let is_device = live.kind == AllocationKind::Device && address - base < live.size.max(1);
        let host = live.host.as_ref().filter(|_| is_device).ok_or(ShareError::NotDevice)?;
        let look =
            |file: &_, offset| SharedMemory::new(file, offset + base - host.start(), live.size);
        let found = host.shared(look).flatten();
        // Nobody here knows what the others write.
        if let (Some(_), Some(known)) = (found, &live.shadow) {
            known.set(0, live.size as usize, true);
        }
        Ok(found)
    }

    /// Makes it so that they can. No work may have found anything that it still uses.
    ///
    /// # Errors
    /// When it is no memory of a device's, or can't be shared.
    pub(in crate::memory) fn share_with_processes(
        &mut self,
        address: u64,
    ) -> Result<SharedMemory, ShareError> {
        let _ = self.shared(address)?;
        if let Some((_, live)) = self.live.range(..=address).next_back() {
            let _ = live.host.as_ref().is_some_and(Block::share);
        }
        self.shared(address)?.ok_or(ShareError::Unavailable)
    }

    /// Lists memory of another process, which begins `offset` bytes into a block.
    pub(in crate::memory) fn insert_other(
        &mut self,
        block: Block,
        (offset, size): (u64, u64),
        home: Home,
    ) -> u64 {
        let address = block.start() + offset;
        let live = Live {
            size,
            host: Some(block),
            heap: None,
            kind: AllocationKind::Other,
            name: None,
            shadow: None,
            writable: true,
            is_leaving: false,
            home,
            rights: None,
        };
        self.live.insert(address, live);
        address
    }
}
