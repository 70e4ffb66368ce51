//! A shadow of the bytes that something has written: one byte more for each, 1 where it is known. Accesses are of
//! words, so eight of these bytes are asked and set at once.

#![allow(unsafe_code, reason = "a range of raw memory is viewed as atomic bytes and words")]

use crate::room::{OutOfMemory, Zeroed};
use device_memory::words::Word;

/// Each byte of a word of which all is known.
const ONES: u64 = 0x0101_0101_0101_0101;

/// See the module's comment.
#[derive(Debug)]
pub(crate) struct Known {
    /// In whole words.
    room: Zeroed,
    len: usize,
}

impl Known {
    /// Nothing is known of this many bytes.
    ///
    /// # Errors
    /// When the host has not the room.
    pub(crate) fn new(len: usize) -> Result<Self, OutOfMemory> {
        let whole = len.checked_next_multiple_of(8).ok_or(OutOfMemory { size: len as u64 })?;
        Ok(Self { room: Zeroed::new(whole, 8)?, len })
    }

    /// Whether something has written all of `len` bytes from `at` on. Of bytes that there are none
    /// of, nothing is known.
    #[inline]
    pub(crate) fn all(&self, at: usize, len: usize) -> bool {
        if !self.holds(at, len) {
            return false;
        }
        let (mut at, end) = (at, at + len);
        while at < end {
            // SAFETY: each is inside `len` and aligned, as the room begins at a multiple of 8.
            let step = unsafe {
                let here = self.room.as_ptr().add(at);
                match Self::step(at, end) {
                    8 if u64::load(here) == ONES => 8,
                    4 if u32::load(here) == ONES as u32 => 4,
                    1 if u8::load(here) == 1 => 1,
                    _ => return false,
                }
            };
            at += step;
        }
        true
    }

    /// The first of `len` bytes from `at` on that nothing has written.
    pub(crate) fn first_unknown(&self, at: usize, len: usize) -> Option<usize> {
        if self.all(at, len) {
            return None;
        }
        (at..at + len).find(|&at| !self.all(at, 1))
    }

    /// Notes that something has written `len` bytes from `at` on, or that they are as new.
    #[inline]
    pub(crate) fn set(&self, at: usize, len: usize, known: bool) {
        if !self.holds(at, len) {
            return;
        }
        let (mut at, end) = (at, at + len);
        let ones = if known { ONES } else { 0 };
        while at < end {
            let step = Self::step(at, end);
            // SAFETY: as in `all`.
            unsafe {
                let here = self.room.as_ptr().add(at);
                match step {
                    8 => ones.store(here),
                    4 => (ones as u32).store(here),
                    _ => (ones as u8).store(here),
                }
            }
            at += step;
        }
    }

    /// What is known of `len` bytes of another, from `from` on, is known here from `to` on. The
    /// ranges may overlap.
    pub(crate) fn copy(&self, to: usize, other: &Self, from: usize, len: usize) {
        let copy = |index: usize| self.set(to + index, 1, other.all(from + index, 1));
        if to <= from { (0..len).for_each(copy) } else { (0..len).rev().for_each(copy) }
    }

    fn holds(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len)
    }

    /// How many bytes are looked at together.
    #[inline(always)]
    fn step(at: usize, end: usize) -> usize {
        match end - at {
            8.. if at.is_multiple_of(8) => 8,
            4.. if at.is_multiple_of(4) => 4,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_known_and_nothing_beside_it() {
        for at in 0..20 {
            for len in 0..40 {
                let known = Known::new(64).unwrap();
                known.set(at, len, true);
                for byte in 0..64 {
                    assert_eq!(known.all(byte, 1), (at..at + len).contains(&byte));
                }
                assert!(known.all(at, len) && known.first_unknown(at, len).is_none());
                assert_eq!(known.first_unknown(at, 44), Some(at + len));
                assert!(at == 0 || !known.all(at - 1, len + 1));
                known.set(at + len / 2, 1, false);
                assert!(!known.all(at, len.max(1)));
            }
        }
    }

    #[test]
    fn copies_may_overlap() {
        for (to, from) in [(0, 3), (3, 0), (8, 16)] {
            let known = Known::new(40).unwrap();
            known.set(from, 5, true);
            known.set(from + 9, 2, true);
            known.copy(to, &known, from, 12);
            let copied: Vec<bool> = (to..to + 12).map(|at| known.all(at, 1)).collect();
            let expected = (0..12).map(|at| at < 5 || at == 9 || at == 10);
            assert_eq!(copied, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn of_bytes_beyond_the_end_nothing_is_known() {
        let known = Known::new(5).unwrap();
        known.set(0, 5, true);
        known.set(0, 6, false);
        assert!(known.all(0, 5) && !known.all(0, 6) && !known.all(usize::MAX, 2));
    }
}
