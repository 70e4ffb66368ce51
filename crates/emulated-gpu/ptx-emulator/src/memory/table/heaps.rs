//! The heaps that kernels allocate from.

use std::collections::btree_map::Entry;

use super::{Live, Table};
use crate::memory::allocation::{Allocation, AllocationKind};
use crate::memory::heap::Heap;
use crate::memory::{self, Home};

impl Table {
    /// A block of an owner's heap, which has this many bytes when it is made; `None` when it is full.
    pub(in crate::memory) fn allocate_in_heap(
        &mut self,
        wanted: memory::Heap,
        size: u64,
    ) -> Option<u64> {
        let memory::Heap { owner, bytes, device } = wanted;
        // Its shadow first, as a heap takes nothing back that it has just given.
        let shadow = if size <= bytes { self.shadow(size).ok()? } else { None };
        let own = match self.heaps.entry(owner) {
            Entry::Occupied(own) => own.into_mut(),
            Entry::Vacant(none) => none.insert(Heap::new(self.space.as_ref(), bytes).ok()?),
        };
        let address = own.allocate(size)?;
        let live = Live {
            size,
            host: None,
            heap: Some(owner),
            kind: AllocationKind::Heap,
            name: None,
            shadow,
            writable: true,
            is_leaving: false,
            home: Home::on(device),
            rights: None,
        };
        self.live.insert(address, live);
        Some(address)
    }

    /// Takes back what [`allocate_in_heap`](Self::allocate_in_heap) gave.
    pub(in crate::memory) fn free_in_heap(&mut self, address: u64) -> bool {
        let Some(&Live { size, heap: Some(owner), .. }) = self.live.get(&address) else {
            return false;
        };
        self.live.remove(&address);
        if let Some(heap) = self.heaps.get_mut(&owner) {
            heap.free(address, size);
        }
        true
    }

    /// Whether an owner has a heap.
    pub(in crate::memory) fn has_heap(&self, owner: u64) -> bool {
        self.heaps.contains_key(&owner)
    }

    /// What kernels of an owner have allocated and not freed.
    pub(in crate::memory) fn in_heap(&self, owner: u64) -> Vec<Allocation> {
        let own = self.live.iter().filter(|(_, live)| live.heap == Some(owner));
        own.map(|(&address, live)| live.listed(address)).collect()
    }

    /// Ends an owner's heap, with all that is in it. `next` as for [`free`](Self::free).
    pub(in crate::memory) fn end_heap(&mut self, owner: u64, next: impl FnOnce() -> u64) {
        self.live.retain(|_, live| live.heap != Some(owner));
        if let Some(heap) = self.heaps.remove(&owner) {
            self.retired.push((heap, next()));
        }
    }
}
