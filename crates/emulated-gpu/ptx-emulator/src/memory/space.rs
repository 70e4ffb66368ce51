//! Placement of allocations: in a reserved address range, or else on the process's heap.
//!
//! CUDA functions accept device addresses and host addresses in the same parameters, and have to
//! tell them apart. NVIDIA's driver reserves a range for all devices and all pinned memory (CUDA
//! C++ Programming Guide, "Unified Virtual Address Space"), so an address in this range is never in
//! the program's own memory. In a process that can't reserve that many addresses, allocations come
//! from the heap; then an address far from all of them may also be the program's.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::Pages;
use super::pieces::Pieces;
use super::shared::Addresses;
use crate::room::{OutOfMemory, Zeroed};

/// The size of the reserved address range: 256 GiB, which is more memory than a card has. Unused
/// addresses cost nothing.
const RESERVED_BYTES: u64 = 1 << 38;
/// The granularity of blocks.
const GRAIN: u64 = 256;

/// The address range of the devices.
#[derive(Debug)]
pub(super) struct Space {
    start: u64,
    end: u64,
    contents: Mutex<Contents>,
}

#[derive(Debug)]
struct Contents {
    pages: Pages,
    /// The free pieces. Those backed by memory are zeroed.
    free: Pieces,
}

impl Space {
    /// Reserves the range, if the process can have one.
    pub(super) fn reserve() -> Option<Arc<Self>> {
        let pages = Pages::reserve(RESERVED_BYTES)?;
        let (start, len) = pages.range();
        let free = Pieces::new(GRAIN, start, len);
        let contents = Mutex::new(Contents { pages, free });
        Some(Arc::new(Self { start, end: start + len, contents }))
    }

    /// Whether an address range overlaps this space.
    pub(super) fn touches(&self, address: u64, end: u64) -> bool {
        address < self.end && end > self.start
    }

    /// Takes a zeroed block; `None` if there are not enough addresses left.
    fn take(self: &Arc<Self>, len: u64, align: u64) -> Result<Option<Piece>, OutOfMemory> {
        let out_of_memory = OutOfMemory { size: len };
        let len = len.max(1).checked_next_multiple_of(GRAIN).ok_or(out_of_memory)?;
        let mut contents = self.lock();
        let Some(start) = contents.free.take(len, align) else { return Ok(None) };
        if !contents.pages.grow(start + len) {
            contents.free.release(start, len);
            return Err(out_of_memory);
        }
        Ok(Some(Piece { start, len, space: Arc::clone(self) }))
    }

    fn release(&self, start: u64, len: u64) {
        let mut contents = self.lock();
        contents.pages.clear(start, len);
        let (first, length) = contents.free.release(start, len);
        if first + length == self.end {
            contents.pages.shrink(first);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a space, to which it is returned when dropped.
#[derive(Debug)]
struct Piece {
    start: u64,
    len: u64,
    space: Arc<Space>,
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.space.release(self.start, self.len);
    }
}

/// Zeroed memory for allocations.
#[derive(Debug)]
pub(super) struct Block {
    start: u64,
    len: u64,
    /// The owner of the memory, which keeps it alive.
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    /// Part of the address range that the memory reserves.
    Space { piece: Piece },
    /// Memory of the host's allocator.
    Heap { _memory: Zeroed },
    /// A separate address range, at which memory of another process is mapped.
    Other { _addresses: Addresses },
}

impl Block {
    /// Allocates `len` bytes at a multiple of `align` (a power of two): in the space, if there is
    /// one with enough addresses left, or else on the heap.
    pub(super) fn new(
        space: Option<&Arc<Space>>,
        len: u64,
        align: u64,
    ) -> Result<Self, OutOfMemory> {
        if let Some(space) = space
            && let Some(piece) = space.take(len, align)?
        {
            return Ok(Self { start: piece.start, len, owner: Owner::Space { piece } });
        }
        let out_of_memory = |_| OutOfMemory { size: len };
        let memory = Zeroed::new(
            usize::try_from(len).map_err(out_of_memory)?,
            usize::try_from(align).map_err(out_of_memory)?,
        )?;
        Ok(Self { start: memory.as_ptr() as u64, len, owner: Owner::Heap { _memory: memory } })
    }

    /// A block in which memory of another process is mapped.
    pub(super) fn of_other_process(addresses: Addresses) -> Self {
        let (start, len) = (addresses.start, addresses.len);
        Self { start, len, owner: Owner::Other { _addresses: addresses } }
    }

    /// If the block is already shared with other processes, calls `look` with its file and the
    /// offset in it.
    pub(super) fn shared<T>(&self, look: impl FnOnce(&File, u64) -> T) -> Option<T> {
        let Owner::Space { piece } = &self.owner else { return None };
        let contents = piece.space.lock();
        let file = contents.pages.shared(self.start, self.start + self.len)?;
        Some(look(file, self.start - piece.space.start))
    }

    /// Shares the block with other processes. Returns whether it is shared now. No thread may write
    /// to the block or to its neighbours meanwhile.
    pub(super) fn share(&self) -> bool {
        let Owner::Space { piece } = &self.owner else { return false };
        piece.space.lock().pages.share(self.start, self.start + self.len).is_some()
    }

    /// The first address.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Whether an address range overlaps the block.
    pub(super) fn touches(&self, address: u64, end: u64) -> bool {
        self.start < end && address < self.start + self.len
    }
}

#[cfg(test)]
mod tests {
    #![allow(unsafe_code, clippy::mut_from_ref, reason = "looks at raw memory")]

    use super::*;

    fn bytes(block: &Block) -> &mut [u8] {
        // SAFETY: the block has `len` bytes, and each test has its own.
        unsafe { std::slice::from_raw_parts_mut(block.start as *mut u8, block.len as usize) }
    }

    #[test]
    fn blocks_are_zero_aligned_and_inside() {
        let Some(space) = Space::reserve() else {
            skipped::note("no addresses can be reserved here");
            return;
        };
        for round in 0..3 {
            let sizes = [0, 1, 255, 256, 5000, 70_000, 1 << 20, 40 << 20];
            let blocks: Vec<Block> = sizes
                .into_iter()
                .flat_map(|len| [1, 256, 4096, 1 << 16].map(|align| (len, align)))
                .map(|(len, align)| {
                    let block = Block::new(Some(&space), len, align).unwrap();
                    assert!(block.start().is_multiple_of(align), "{align}");
                    assert!(space.touches(block.start, block.start + 1));
                    assert!(bytes(&block).iter().all(|&byte| byte == 0), "round {round}, {len}");
                    block
                })
                .collect();
            let mut ranges: Vec<_> = blocks.iter().map(|block| (block.start, block.len)).collect();
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|two| two[0].0 + two[0].1.max(1) <= two[1].0));
            for (number, block) in blocks.into_iter().enumerate() {
                bytes(&block).fill(0xa5);
                // Drop some at once, and the others at the end of the round, in another order.
                if number % 3 != round {
                    drop(block);
                }
            }
        }
        let contents = space.lock();
        assert_eq!(contents.free.all(), [(space.start, space.end - space.start)]);
    }

    #[test]
    fn out_of_memory_is_reported() {
        let Some(space) = Space::reserve() else {
            skipped::note("no addresses can be reserved here");
            return;
        };
        // Too large for the address range, and then for the heap.
        for len in [u64::MAX, 1 << 62, RESERVED_BYTES + 1] {
            assert_eq!(Block::new(Some(&space), len, 256).unwrap_err().size, len);
        }
        assert!(Block::new(Some(&space), 4096, 4096).is_ok());
    }

    #[test]
    fn without_a_space_blocks_come_from_the_heap() {
        let block = Block::new(None, 1000, 4096).unwrap();
        assert!(block.start().is_multiple_of(4096));
        assert!(block.touches(block.start() + 999, block.start() + 1000));
        assert!(!block.touches(block.start() + 1000, block.start() + 1001));
        assert!(bytes(&block).iter().all(|&byte| byte == 0));
    }
}
