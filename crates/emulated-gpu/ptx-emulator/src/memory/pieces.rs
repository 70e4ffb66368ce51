//! Free pieces of a range of addresses: they that are taken, given back, and grow together.

use std::collections::{BTreeMap, BTreeSet};

/// See the module's comment.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Pieces begin at multiples of this, and are multiples of it long.
    grain: u64,
    /// How long the piece at an address is.
    by_address: BTreeMap<u64, u64>,
    /// The same, by length.
    by_length: BTreeSet<(u64, u64)>,
}

impl Pieces {
    /// One piece, whose bounds are multiples of `grain`.
    pub(super) fn new(grain: u64, start: u64, len: u64) -> Self {
        let mut pieces = Self { grain, by_address: BTreeMap::new(), by_length: BTreeSet::new() };
        if len > 0 {
            pieces.insert(start, len);
        }
        pieces
    }

    /// `len` bytes, a multiple of the grain, of the shortest piece that is sure to hold them at a
    /// multiple of `align`.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let slack = align.max(self.grain) - self.grain;
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

    /// Takes back this many bytes, and says which piece they are now in: its address and length.
    pub(super) fn give(&mut self, mut address: u64, mut length: u64) -> (u64, u64) {
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

    /// Address and length of each piece.
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
    fn pieces_are_aligned_and_grow_together() {
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
        let last = taken.into_iter().map(|(address, len)| pieces.give(address, len)).last();
        assert_eq!(last, Some((0x1010, 0x10_0000)));
        assert_eq!(pieces.take(0x10_0000, 16), Some(0x1010));
        assert_eq!(pieces.take(16, 16), None);
    }

    #[test]
    fn the_shortest_piece_that_will_do_is_taken() {
        let mut pieces = Pieces::new(16, 0, 0);
        pieces.give(0x1000, 0x1000);
        pieces.give(0x4000, 0x100);
        assert_eq!(pieces.take(0x100, 16), Some(0x4000));
        assert_eq!(pieces.take(u64::MAX - 15, 64), None);
        assert_eq!(pieces.take(0x2000, 16), None);
    }
}
