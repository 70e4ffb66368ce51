//! The heap from which the kernels of one owner allocate with `malloc`: a range of fixed size. The
//! heap isn't moved or freed while its owner exists, so that a kernel that uses memory after
//! freeing it only accesses the heap's memory.

use std::collections::VecDeque;
use std::sync::Arc;

use super::pieces::Pieces;
use super::space::{Block, Space};
use crate::room::OutOfMemory;

/// Alignment of blocks (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation").
const ALIGN: u64 = 16;
/// The unused gap after each block.
const GUARD: u64 = 16;

/// A heap of kernels. See the module's comment.
#[derive(Debug)]
pub(super) struct Heap {
    block: Block,
    free: Pieces,
    /// Quarantine: freed blocks that can't be allocated yet, so that a use after free is detected
    /// (address and size).
    freed: VecDeque<(u64, u64)>,
}

impl Heap {
    pub(super) fn new(space: Option<&Arc<Space>>, bytes: u64) -> Result<Self, OutOfMemory> {
        let block = Block::new(space, bytes, ALIGN)?;
        let free = Pieces::new(ALIGN, block.start(), bytes / ALIGN * ALIGN);
        Ok(Self { block, free, freed: VecDeque::new() })
    }

    /// The memory of the whole heap.
    pub(super) fn block(&self) -> &Block {
        &self.block
    }

    /// Allocates a block of `size` bytes, if there is space.
    pub(super) fn allocate(&mut self, size: u64) -> Option<u64> {
        let len = occupied_bytes(size)?;
        loop {
            if let Some(address) = self.free.take(len, ALIGN) {
                return Some(address);
            }
            let (address, size) = self.freed.pop_front()?;
            self.free.release(address, occupied_bytes(size)?);
        }
    }

    /// Frees a block from [`allocate`](Self::allocate).
    pub(super) fn free(&mut self, address: u64, size: u64) {
        self.freed.push_back((address, size));
    }

    /// The most recently freed blocks.
    pub(super) fn freed(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.freed.iter().copied()
    }
}

/// The bytes that a block of `size` bytes occupies in a heap.
fn occupied_bytes(size: u64) -> Option<u64> {
    size.max(1).checked_next_multiple_of(ALIGN)?.checked_add(GUARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_are_reused() {
        let mut heap = Heap::new(None, 1 << 20).unwrap();
        let mut blocks: Vec<(u64, u64)> =
            (0..100).map(|i| (heap.allocate(i * 40).unwrap(), i * 40)).collect();
        blocks.sort_unstable();
        for pair in blocks.windows(2) {
            assert!(pair[0].0.is_multiple_of(ALIGN));
            assert!(pair[0].0 + pair[0].1.max(1) + GUARD <= pair[1].0);
        }
        blocks.into_iter().for_each(|(address, size)| heap.free(address, size));
        assert_eq!(heap.freed().count(), 100);
        // The free pieces have been merged into one.
        let all = (1 << 20) - GUARD;
        let whole = heap.allocate(all).unwrap();
        assert_eq!((heap.freed().count(), heap.allocate(1)), (0, None));
        heap.free(whole, all);
        assert!(heap.allocate(1).is_some());
    }

    #[test]
    fn too_large_allocations_fail() {
        let mut heap = Heap::new(None, 4096).unwrap();
        for size in [4096, 1 << 40, u64::MAX, u64::MAX - 15] {
            assert_eq!(heap.allocate(size), None, "{size}");
        }
        assert!(heap.allocate(4080).is_some());
        assert_eq!(Heap::new(None, 0).unwrap().allocate(1), None);
        assert!(Heap::new(None, u64::MAX).is_err());
    }
}
