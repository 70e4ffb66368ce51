//! The table's heaps of kernels (`malloc`).

use std::collections::btree_map::Entry;

use super::{LiveAllocation, Table};
use crate::memory::allocation::{Allocation, AllocationKind};
use crate::memory::heap::Heap;
use crate::memory::{self, Home};

impl Table {
    /// Allocates a block in an owner's heap, which is created first if needed; `None` if the heap
    /// is full.
    pub(in crate::memory) fn allocate_in_heap(
        &mut self,
        wanted: memory::Heap,
        size: u64,
    ) -> Option<u64> {
        let memory::Heap { owner, bytes, device } = wanted;
        // Create the shadow first: the heap can't easily take back a block that was just allocated.
        let shadow = if size <= bytes { self.shadow(size).ok()? } else { None };
        let own = match self.heaps.entry(owner) {
            Entry::Occupied(own) => own.into_mut(),
            Entry::Vacant(none) => none.insert(Heap::new(self.space.as_ref(), bytes).ok()?),
        };
        let address = own.allocate(size)?;
        let live = LiveAllocation {
            heap: Some(owner),
            shadow,
            ..LiveAllocation::new(size, AllocationKind::Heap, Home::on(device))
        };
        self.live_allocations.insert(address, live);
        Some(address)
    }

    /// Frees a block from [`allocate_in_heap`](Self::allocate_in_heap).
    pub(in crate::memory) fn free_in_heap(&mut self, address: u64) -> bool {
        let Some(&LiveAllocation { size, heap: Some(owner), .. }) =
            self.live_allocations.get(&address)
        else {
            return false;
        };
        self.live_allocations.remove(&address);
        if let Some(heap) = self.heaps.get_mut(&owner) {
            heap.free(address, size);
        }
        true
    }

    /// Whether an owner has a heap.
    pub(in crate::memory) fn has_heap(&self, owner: u64) -> bool {
        self.heaps.contains_key(&owner)
    }

    /// Allocations of an owner's kernels that have not been freed.
    pub(in crate::memory) fn heap_allocations(&self, owner: u64) -> Vec<Allocation> {
        let own = self.live_allocations.iter().filter(|(_, live)| live.heap == Some(owner));
        own.map(|(&address, live)| live.to_allocation(address)).collect()
    }

    /// Destroys an owner's heap with all its blocks. `next` is as in [`free`](Self::free).
    pub(in crate::memory) fn end_heap(&mut self, owner: u64, next: impl FnOnce() -> u64) {
        self.live_allocations.retain(|_, live| live.heap != Some(owner));
        if let Some(heap) = self.heaps.remove(&owner) {
            self.retired.push((heap, next()));
        }
    }
}
