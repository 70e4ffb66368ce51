//! The program's own memory: registered ranges, and addresses that can't be the program's.

use super::{LiveAllocation, Lookup, Table};
use crate::memory::allocation::AllocationKind;
use crate::memory::error::RegisterError;
use crate::memory::reach::Home;

impl Table {
    pub(in crate::memory) fn register(
        &mut self,
        address: u64,
        len: u64,
        writable: bool,
    ) -> Result<(), RegisterError> {
        let range = RegisterError::Range { address, len };
        let Some(end) = address.checked_add(len) else { return Err(range) };
        let overlaps = self
            .live_allocations
            .range(..end)
            .next_back()
            .is_some_and(|(base, live)| base + live.size.max(1) > address);
        if len == 0 || address == 0 || overlaps {
            return Err(range);
        }
        if self.is_reserved(address, end) {
            return Err(RegisterError::NoAccess { address, len, writable });
        }
        let live = LiveAllocation {
            writable,
            ..LiveAllocation::new(len, AllocationKind::Registered, Home::everywhere())
        };
        self.live_allocations.insert(address, live);
        Ok(())
    }

    pub(in crate::memory) fn unregister(&mut self, address: u64) -> bool {
        if self
            .live_allocations
            .get(&address)
            .is_none_or(|live| live.kind != AllocationKind::Registered)
        {
            return false;
        }
        self.live_allocations.remove(&address).is_some()
    }

    /// Whether a range overlaps device memory or the gaps around it without being inside one
    /// allocation, so that it can't be the program's own memory.
    pub(in crate::memory) fn is_astray(&self, address: u64, len: u64) -> bool {
        let end = address.saturating_add(len);
        if len == 0
            || matches!(self.find(address, len), Lookup::Live { .. } | Lookup::SpansMappings)
        {
            return false;
        }
        if self.is_reserved(address, end) {
            return true;
        }
        // Blocks don't overlap, so of the blocks that start before the end, the last block also
        // ends last.
        let is_block = |(_, live): &(&u64, &LiveAllocation)| live.host.is_some();
        let below = self.live_allocations.range(..end).rev().find(is_block);
        let above = self.live_allocations.range(end..).find(is_block);
        let heaps = self.heaps.values().chain(self.retired.iter().map(|(heap, _)| heap));
        below.into_iter().chain(above).any(|(_, live)| live.has_block_at(address, end))
            || heaps.into_iter().any(|heap| heap.block().touches(address, end))
            || self.freed.iter().any(|freed| freed.host.touches(address, end))
    }

    /// Whether a range overlaps the addresses that are reserved for the devices.
    fn is_reserved(&self, address: u64, end: u64) -> bool {
        self.space.as_ref().is_some_and(|space| space.touches(address, end))
            || self.reserved_at(address, end).is_some()
    }
}
