//! Memory that kernels allocate themselves, with `malloc`.

use super::{Allocation, Heap, Memory, NotAllocated};

impl Memory {
    /// Allocates `size` bytes for a kernel, from its owner's heap, which gets its size when the first
    /// kernel allocates from it; `None` when the heap is full.
    pub(crate) fn allocate_in_heap(&self, heap: Heap, size: u64) -> Option<u64> {
        self.write_table().allocate_in_heap(heap, size)
    }

    /// Frees what a kernel has allocated.
    pub(crate) fn free_in_heap(&self, address: u64) -> Result<(), NotAllocated> {
        if self.write_table().free_in_heap(address) {
            Ok(())
        } else {
            Err(NotAllocated { address })
        }
    }

    /// Whether a kernel has allocated from an owner's heap, so that its size stays as it is.
    #[must_use]
    pub fn has_heap(&self, owner: u64) -> bool {
        self.read_table().has_heap(owner)
    }

    /// What kernels have allocated from an owner's heap and not freed.
    #[must_use]
    pub fn in_heap(&self, owner: u64) -> Vec<Allocation> {
        self.read_table().in_heap(owner)
    }

    /// Ends an owner's heap and frees all that is in it. Where
    /// running work has found it before, it stays where it is until that has ended.
    pub fn end_heap(&self, owner: u64) {
        let mut table = self.write_table();
        table.end_heap(owner, || self.leases.next());
        self.shrink_quarantine(&mut table);
    }
}
