//! Access to memory that kernels, copies or other ranks may be writing: by words, each of them one
//! relaxed atomic access. Plain accesses would be undefined there; `device-memory/src/words.rs`
//! explains it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// How many bytes come before the first whole word at an address.
fn head(address: usize, len: usize) -> usize {
    (address.wrapping_neg() % WORD).min(len)
}

/// Reads shared memory.
///
/// # Safety
/// `from` is readable for as many bytes.
pub(crate) unsafe fn read(from: *const u8, into: &mut [u8]) {
    // SAFETY: callers below stay inside, and words are read where `from` is aligned.
    let byte = |at: usize| unsafe { AtomicU8::from_ptr(from.add(at).cast_mut()) }.load(Relaxed);
    let word = |at: usize| {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(from.add(at).cast_mut().cast()) }.load(Relaxed)
    };
    let (first, rest) = into.split_at_mut(head(from as usize, into.len()));
    first.iter_mut().enumerate().for_each(|(at, to)| *to = byte(at));
    let mut at = first.len();
    let mut words = rest.chunks_exact_mut(WORD);
    for to in &mut words {
        to.copy_from_slice(&word(at).to_ne_bytes());
        at += WORD;
    }
    words.into_remainder().iter_mut().enumerate().for_each(|(index, to)| *to = byte(at + index));
}

/// Writes shared memory.
///
/// # Safety
/// `to` is writable for as many bytes.
pub(crate) unsafe fn write(to: *mut u8, bytes: &[u8]) {
    // SAFETY: as in `read`.
    let byte = |at: usize| unsafe { AtomicU8::from_ptr(to.add(at)) };
    // SAFETY: as above.
    let word = |at: usize| unsafe { AtomicU64::from_ptr(to.add(at).cast()) };
    let (first, rest) = bytes.split_at(head(to as usize, bytes.len()));
    first.iter().enumerate().for_each(|(at, from)| byte(at).store(*from, Relaxed));
    let mut at = first.len();
    let (words, last) = rest.as_chunks::<WORD>();
    for from in words {
        word(at).store(u64::from_ne_bytes(*from), Relaxed);
        at += WORD;
    }
    last.iter().enumerate().for_each(|(index, from)| byte(at + index).store(*from, Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_where_they_belong_and_nowhere_else() {
        let source: Vec<u8> = (0..64_u8).map(|at| at.wrapping_mul(37) ^ 0x5a).collect();
        for (offset, len) in (0..9).flat_map(|at| [0, 1, 7, 8, 9, 23, 40].map(|len| (at, len))) {
            let mut expected = vec![0xee; 64];
            expected[offset..offset + len].copy_from_slice(&source[..len]);
            let mut target = vec![0xee; 64];
            // SAFETY: 40 bytes from at most 8 on are inside 64.
            unsafe { write(target.as_mut_ptr().add(offset), &source[..len]) };
            assert_eq!(target, expected, "write {offset} {len}");
            let mut target = vec![0xee; len];
            // SAFETY: as above.
            unsafe { read(source.as_ptr().add(offset), &mut target) };
            assert_eq!(target, source[offset..offset + len], "read {offset} {len}");
        }
    }
}
