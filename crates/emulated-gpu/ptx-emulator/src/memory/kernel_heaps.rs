//! Heaps of memory that kernels allocate with `malloc`.

use super::{Allocation, Heap, Memory, NotAllocated};

impl Memory {
    /// Allocates `size` bytes for a kernel from its owner's heap. The heap is created, with its
    /// final size, at the first allocation. Returns `None` if the heap is full.
    pub(crate) fn allocate_in_heap(&self, heap: Heap, size: u64) -> Option<u64> {
        self.write_table().allocate_in_heap(heap, size)
    }

    /// Frees memory that a kernel has allocated.
    pub(crate) fn free_in_heap(&self, address: u64) -> Result<(), NotAllocated> {
        if self.write_table().free_in_heap(address) {
            Ok(())
        } else {
            Err(NotAllocated { address })
        }
    }

    /// Whether an owner's heap exists, which means that its size is fixed.
    #[must_use]
    pub fn has_heap(&self, owner: u64) -> bool {
        self.read_table().has_heap(owner)
    }

    /// Allocations in an owner's heap that have not been freed.
    #[must_use]
    pub fn heap_allocations(&self, owner: u64) -> Vec<Allocation> {
        self.read_table().heap_allocations(owner)
    }

    /// Destroys an owner's heap and frees everything in it. The heap's memory stays mapped until
    /// the running work that may have pointers to it has ended.
    pub fn end_heap(&self, owner: u64) {
        let mut table = self.write_table();
        table.end_heap(owner, || self.leases.next());
        self.shrink_quarantine(&mut table);
    }
}
