//! Shadow of initialised memory: one byte per byte of memory, 1 if that byte has been written.
//! Accesses are words, so eight shadow bytes are read or set at once.

#![allow(unsafe_code, reason = "a range of raw memory is viewed as atomic bytes and words")]

use crate::room::{OutOfMemory, Zeroed};
use device_memory::words::Word;

/// Shadow of eight initialised bytes.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Records which bytes are initialised. See the module's comment.
#[derive(Debug)]
pub(crate) struct InitialisedBytes {
    /// The shadow bytes; their number is rounded up to whole words.
    shadow: Zeroed,
    len: usize,
}

impl InitialisedBytes {
    /// Creates a shadow of `len` uninitialised bytes.
    pub(crate) fn new(len: usize) -> Result<Self, OutOfMemory> {
        let whole = len.checked_next_multiple_of(8).ok_or(OutOfMemory { size: len as u64 })?;
        Ok(Self { shadow: Zeroed::new(whole, 8)?, len })
    }

    /// Whether all of `len` bytes from `at` on have been written. False if the range ends beyond
    /// the shadow.
    #[inline]
    pub(crate) fn are_initialised(&self, at: usize, len: usize) -> bool {
        if !self.holds(at, len) {
            return false;
        }
        let (mut at, end) = (at, at + len);
        while at < end {
            // SAFETY: each step is inside `len` and aligned, because the shadow starts at a
            // multiple of 8.
            let step = unsafe {
                let here = self.shadow.as_ptr().add(at);
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

    /// The index of the first of `len` bytes from `at` on that has not been written.
    pub(crate) fn first_uninitialised(&self, at: usize, len: usize) -> Option<usize> {
        if self.are_initialised(at, len) {
            return None;
        }
        (at..at + len).find(|&at| !self.are_initialised(at, 1))
    }

    /// Marks `len` bytes from `at` on as written or as uninitialised.
    #[inline]
    pub(crate) fn set(&self, at: usize, len: usize, initialised: bool) {
        if !self.holds(at, len) {
            return;
        }
        let (mut at, end) = (at, at + len);
        let ones = if initialised { ONES } else { 0 };
        while at < end {
            let step = Self::step(at, end);
            // SAFETY: as in `are_initialised`.
            unsafe {
                let here = self.shadow.as_ptr().add(at);
                match step {
                    8 => ones.store(here),
                    4 => (ones as u32).store(here),
                    _ => (ones as u8).store(here),
                }
            }
            at += step;
        }
    }

    /// Copies the state of `len` bytes of another shadow, from `from` on, to `to`. The ranges may
    /// overlap.
    pub(crate) fn copy(&self, to: usize, other: &Self, from: usize, len: usize) {
        let copy = |index: usize| self.set(to + index, 1, other.are_initialised(from + index, 1));
        if to <= from { (0..len).for_each(copy) } else { (0..len).rev().for_each(copy) }
    }

    fn holds(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len)
    }

    /// The number of shadow bytes that are read or set together.
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
    fn set_marks_exactly_its_range() {
        for at in 0..20 {
            for len in 0..40 {
                let shadow = InitialisedBytes::new(64).unwrap();
                shadow.set(at, len, true);
                for byte in 0..64 {
                    assert_eq!(shadow.are_initialised(byte, 1), (at..at + len).contains(&byte));
                }
                assert!(
                    shadow.are_initialised(at, len)
                        && shadow.first_uninitialised(at, len).is_none()
                );
                assert_eq!(shadow.first_uninitialised(at, 44), Some(at + len));
                assert!(at == 0 || !shadow.are_initialised(at - 1, len + 1));
                shadow.set(at + len / 2, 1, false);
                assert!(!shadow.are_initialised(at, len.max(1)));
            }
        }
    }

    #[test]
    fn copies_may_overlap() {
        for (to, from) in [(0, 3), (3, 0), (8, 16)] {
            let shadow = InitialisedBytes::new(40).unwrap();
            shadow.set(from, 5, true);
            shadow.set(from + 9, 2, true);
            shadow.copy(to, &shadow, from, 12);
            let copied: Vec<bool> = (to..to + 12).map(|at| shadow.are_initialised(at, 1)).collect();
            let expected = (0..12).map(|at| at < 5 || at == 9 || at == 10);
            assert_eq!(copied, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn bytes_beyond_the_end_are_uninitialised() {
        let shadow = InitialisedBytes::new(5).unwrap();
        shadow.set(0, 5, true);
        shadow.set(0, 6, false);
        assert!(
            shadow.are_initialised(0, 5)
                && !shadow.are_initialised(0, 6)
                && !shadow.are_initialised(usize::MAX, 2)
        );
    }
}
