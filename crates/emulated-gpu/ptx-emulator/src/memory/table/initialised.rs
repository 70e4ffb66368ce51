//! Tracking of initialised bytes in allocations, for initcheck.

use super::{LiveAllocation, Table};
use crate::memory::initialised_bytes::InitialisedBytes;

/// The part of a range that is in one allocation: its address and length, its offset in the
/// allocation, and the allocation's shadow.
struct RangePart<'table> {
    address: u64,
    len: u64,
    offset: usize,
    shadow: Option<&'table InitialisedBytes>,
}

impl Table {
    /// Splits a range that is inside one allocation or adjacent mappings at the ends of mappings.
    /// Stops at the first address without memory.
    fn parts(&self, address: u64, len: u64) -> impl Iterator<Item = RangePart<'_>> {
        let mut left = (address, len);
        std::iter::from_fn(move || {
            let (address, len) = left;
            let (&base, live): (_, &LiveAllocation) =
                self.live_allocations.range(..=address).next_back()?;
            let at = address - base;
            if len == 0 || at >= live.size {
                return None;
            }
            let own = len.min(live.size - at);
            left = (address + own, len - own);
            Some(RangePart {
                address,
                len: own,
                offset: at as usize,
                shadow: live.shadow.as_deref(),
            })
        })
    }

    pub(in crate::memory) fn set_initialised(&self, address: u64, len: u64) {
        for part in self.parts(address, len) {
            if let Some(shadow) = part.shadow {
                shadow.set(part.offset, part.len as usize, true);
            }
        }
    }

    pub(in crate::memory) fn first_uninitialised(&self, address: u64, len: u64) -> Option<u64> {
        self.parts(address, len).find_map(|part| {
            let found = part.shadow?.first_uninitialised(part.offset, part.len as usize)?;
            Some(part.address + (found - part.offset) as u64)
        })
    }

    /// Copies the state of bytes. Copying uninitialised bytes is not an error; the copies are
    /// uninitialised too.
    pub(in crate::memory) fn copy_initialised(&self, to: u64, from: u64, len: u64) {
        if !self.tracks_initialisation {
            return;
        }
        // If both ranges are inside one allocation, copy at once, which handles overlaps.
        let is_one = |address| self.parts(address, len).take(1).all(|part| part.len == len);
        if is_one(to) && is_one(from) {
            return self.copy_part(to, from, len);
        }
        let mut cuts = Vec::new();
        let mut done = 0;
        while done < len {
            let own = |address: u64| self.parts(address + done, len - done).next().map(|p| p.len);
            let (Some(one), Some(other)) = (own(to), own(from)) else { return };
            cuts.push((done, one.min(other)));
            done += one.min(other);
        }
        // The ranges may overlap.
        if to > from {
            cuts.reverse();
        }
        for (at, len) in cuts {
            self.copy_part(to + at, from + at, len);
        }
    }

    /// Copies which bytes are initialised; each of the two ranges is inside one allocation.
    fn copy_part(&self, to: u64, from: u64, len: u64) {
        let Some(target) = self.parts(to, len).next() else { return };
        let Some(shadow) = target.shadow else { return };
        match self.parts(from, len).next() {
            Some(RangePart { offset: at, shadow: Some(source), .. }) => {
                shadow.copy(target.offset, source, at, len as usize);
            }
            _ => shadow.set(target.offset, len as usize, true),
        }
    }
}
