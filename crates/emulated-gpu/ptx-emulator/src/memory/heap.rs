//! The heap that kernels of one owner allocate from with `malloc`: a range of fixed size, of which
//! blocks are taken and given back. It stays where it is for as long as the owner lives, so that a
//! kernel that goes on using what it has freed reaches the heap's memory and no other.

use std::collections::VecDeque;
use std::sync::Arc;

use super::pieces::Pieces;
use super::space::{Block, Space};
use crate::room::OutOfMemory;

/// Blocks begin at multiples of this (CUDA C++ Programming Guide, "Dynamic Global Memory
/// Allocation").
const ALIGN: u64 = 16;
/// Space behind a block that belongs to none.
const GUARD: u64 = 16;

/// See the module's comment.
#[derive(Debug)]
pub(super) struct Heap {
    block: Block,
    free: Pieces,
    /// Freed and not yet given out again, so that its use is noticed: address and size.
    freed: VecDeque<(u64, u64)>,
}

impl Heap {
    pub(super) fn new(space: Option<&Arc<Space>>, bytes: u64) -> Result<Self, OutOfMemory> {
        let block = Block::new(space, bytes, ALIGN)?;
        let free = Pieces::new(ALIGN, block.start(), bytes / ALIGN * ALIGN);
        Ok(Self { block, free, freed: VecDeque::new() })
    }

    /// All of it.
    pub(super) fn block(&self) -> &Block {
        &self.block
    }

    /// A block of `size` bytes, where there is still one to be had.
    pub(super) fn allocate(&mut self, size: u64) -> Option<u64> {
        let len = taken(size)?;
        loop {
            if let Some(address) = self.free.take(len, ALIGN) {
                return Some(address);
            }
            let (address, size) = self.freed.pop_front()?;
            self.free.give(address, taken(size)?);
        }
    }

    /// Takes back a block that [`allocate`](Self::allocate) gave.
    pub(super) fn free(&mut self, address: u64, size: u64) {
        self.freed.push_back((address, size));
    }

    /// The blocks that were freed last.
    pub(super) fn freed(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.freed.iter().copied()
    }
}

/// What a block of `size` bytes takes of a heap.
fn taken(size: u64) -> Option<u64> {
    size.max(1).checked_next_multiple_of(ALIGN)?.checked_add(GUARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_and_come_back() {
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
        // All of it in one piece again.
        let all = (1 << 20) - GUARD;
        let whole = heap.allocate(all).unwrap();
        assert_eq!((heap.freed().count(), heap.allocate(1)), (0, None));
        heap.free(whole, all);
        assert!(heap.allocate(1).is_some());
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let mut heap = Heap::new(None, 4096).unwrap();
        for size in [4096, 1 << 40, u64::MAX, u64::MAX - 15] {
            assert_eq!(heap.allocate(size), None, "{size}");
        }
        assert!(heap.allocate(4080).is_some());
        assert_eq!(Heap::new(None, 0).unwrap().allocate(1), None);
        assert!(Heap::new(None, u64::MAX).is_err());
    }
}
