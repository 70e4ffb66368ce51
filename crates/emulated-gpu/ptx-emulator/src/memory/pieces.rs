//! Allocator of address ranges: free pieces are split when they are taken, and merged when they are
//! freed.

use std::collections::{BTreeMap, BTreeSet};

/// The free pieces. See the module's comment.
#[derive(Debug)]
pub(super) struct Pieces {
    /// The granularity of addresses and lengths.
    granularity: u64,
    /// The length of the piece at each address.
    by_address: BTreeMap<u64, u64>,
    /// All free pieces as (length, address), sorted by length.
    by_length: BTreeSet<(u64, u64)>,
}

impl Pieces {
    /// Starts with one free piece, whose bounds are multiples of `granularity`.
    pub(super) fn new(granularity: u64, start: u64, len: u64) -> Self {
        let mut pieces =
            Self { granularity, by_address: BTreeMap::new(), by_length: BTreeSet::new() };
        if len > 0 {
            pieces.insert(start, len);
        }
        pieces
    }

    /// Takes `len` bytes (a multiple of the granularity) at a multiple of `align`. Best fit: they
    /// come from the shortest piece that is certain to be large enough.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let slack = align.max(self.granularity) - self.granularity;
        let &(length, start) = self.by_length.range((len.checked_add(slack)?, 0)..).next()?;
        self.remove(start, length);
        let address = start.next_multiple_of(align.max(1));
        let (end, taken) = (start + length, address + len);
        if address > start {
            self.insert(start, address - start);
        }
        if end > taken {
            self.insert(taken, end - taken);
        }
        Some(address)
    }

    /// Frees a piece, merges it with its free neighbours, and returns the address and length of the
    /// result.
    pub(super) fn release(&mut self, mut address: u64, mut length: u64) -> (u64, u64) {
        if let Some((&below, &its)) = self.by_address.range(..address).next_back()
            && below + its == address
        {
            self.remove(below, its);
            (address, length) = (below, length + its);
        }
        if let Some(&its) = self.by_address.get(&(address + length)) {
            self.remove(address + length, its);
            length += its;
        }
        self.insert(address, length);
        (address, length)
    }

    /// Address and length of each free piece.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<(u64, u64)> {
        self.by_address.iter().map(|(&address, &length)| (address, length)).collect()
    }

    fn insert(&mut self, address: u64, length: u64) {
        self.by_address.insert(address, length);
        self.by_length.insert((length, address));
    }

    fn remove(&mut self, address: u64, length: u64) {
        self.by_address.remove(&address);
        self.by_length.remove(&(length, address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_and_merged() {
        let mut pieces = Pieces::new(16, 0x1010, 0x10_0000);
        let taken: Vec<(u64, u64)> = [16, 64, 4096, 16, 256]
            .into_iter()
            .map(|align| {
                let address = pieces.take(48, align).unwrap();
                assert!(address.is_multiple_of(align), "{address:#x} {align}");
                (address, 48)
            })
            .collect();
        let mut sorted = taken.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0].0 + 48 <= pair[1].0), "{sorted:x?}");
        let last = taken.into_iter().map(|(address, len)| pieces.release(address, len)).last();
        assert_eq!(last, Some((0x1010, 0x10_0000)));
        assert_eq!(pieces.take(0x10_0000, 16), Some(0x1010));
        assert_eq!(pieces.take(16, 16), None);
    }

    #[test]
    fn take_is_best_fit() {
        let mut pieces = Pieces::new(16, 0, 0);
        pieces.release(0x1000, 0x1000);
        pieces.release(0x4000, 0x100);
        assert_eq!(pieces.take(0x100, 16), Some(0x4000));
        assert_eq!(pieces.take(u64::MAX - 15, 64), None);
        assert_eq!(pieces.take(0x2000, 16), None);
    }
}
