//! Reusable memory for intermediate results: new memory from the system would cost more time than
//! copying the data.

#![allow(unsafe_code, reason = "one buffer holds numbers of any type")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use crate::{Number, Result, filled};

/// The maximum number of bytes of idle buffers: enough for several products at the same time.
const MAX_IDLE_BYTES: usize = 64 << 20;

/// The number of words that a buffer holds inline, so that in a batch of millions of small products
/// most buffers need no lock.
const INLINE_WORDS: usize = 4;

/// Idle buffers, kept for reuse.
static IDLE_BUFFERS: Mutex<Vec<Vec<u128>>> = Mutex::new(Vec::new());

/// A buffer of numbers with arbitrary initial values.
pub(crate) struct Scratch<T> {
    /// The storage, aligned more strictly than any number needs: `words`, or `inline` if `words` is
    /// empty.
    inline: [u128; INLINE_WORDS],
    words: Vec<u128>,
    count: usize,
    numbers: PhantomData<T>,
}

impl<T: Number> Scratch<T> {
    /// A buffer of `count` numbers.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    pub(crate) fn new(count: usize) -> Result<Self> {
        let needed = count.saturating_mul(size_of::<T>()).div_ceil(size_of::<u128>());
        let numbers = PhantomData;
        if needed <= INLINE_WORDS {
            return Ok(Self { inline: [0; INLINE_WORDS], words: Vec::new(), count, numbers });
        }
        let kept = {
            let mut kept = IDLE_BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
            let large = kept.iter().rposition(|words| words.len() >= needed);
            large.map(|index| kept.swap_remove(index))
        };
        let words = kept.map_or_else(|| filled(0, needed), Ok)?;
        Ok(Self { inline: [0; INLINE_WORDS], words, count, numbers })
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        if self.words.is_empty() {
            return;
        }
        let bytes = |words: &Vec<u128>| size_of_val(words.as_slice());
        let mut kept = IDLE_BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().map(bytes).sum::<usize>() + bytes(&self.words) <= MAX_IDLE_BYTES {
            kept.push(std::mem::take(&mut self.words));
        }
    }
}

impl<T: Number> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let words = if self.words.is_empty() { &self.inline[..] } else { &self.words };
        // SAFETY: `new` has allocated `count` numbers, and every bit pattern is a valid number.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), self.count) }
    }
}

impl<T: Number> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let words = if self.words.is_empty() { &mut self.inline[..] } else { &mut self.words };
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c64;

    #[test]
    fn buffers_are_reused_for_other_types() {
        let size = 1 << 17;
        let mut doubles = Scratch::<f64>::new(size).unwrap();
        doubles.fill(1.5);
        drop(doubles);
        let pairs = Scratch::<c64>::new(size / 2).unwrap();
        assert_eq!(pairs.len(), size / 2);
        for count in [0, 3, 16, 17] {
            let mut more = Scratch::<f32>::new(count).unwrap();
            more.fill(2.5);
            assert_eq!(*more, vec![2.5; count]);
        }
    }

    #[test]
    fn idle_buffers_stay_within_the_limit() {
        for _ in 0..3 {
            drop(Scratch::<f64>::new(MAX_IDLE_BYTES / 8 + 1).unwrap());
        }
        let all = IDLE_BUFFERS.lock().unwrap();
        assert!(
            all.iter().map(|words| size_of_val(words.as_slice())).sum::<usize>() <= MAX_IDLE_BYTES
        );
    }
}
