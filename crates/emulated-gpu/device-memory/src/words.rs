//! Access to device memory by words; each word is read or written by one relaxed atomic access.
//!
//! Kernel threads, host copies and fills access the same bytes at the same time, as on a GPU. If a
//! kernel forgets to synchronise, that is the kernel's data race (PTX ISA, "Memory Consistency
//! Model"): it reads an old or a new word. With plain accesses it would also be a data race of this
//! program, and undefined behaviour (`std::sync::atomic`, "Memory model for atomic accesses").
//! Neither model defines racing accesses of different sizes; here they give the result that the
//! host's processor gives.
//!
//! Besides single words, this module moves rows: neighbouring words that one instruction moves at
//! once, such as those of the 16 lanes of a half warp. Copies of any length are made of blocks of 32
//! bytes.
//!
//! Compilers don't merge atomic accesses. Moving the 16 words of a row one at a time would take half
//! of the time of an emulated load instruction. So on x86-64 rows and blocks are moved by
//! hand-written vector instructions, which access each naturally aligned word of a vector at once;
//! the Java virtual machine's array copies rely on this too. WebAssembly without threads has no
//! other thread that could see half of a row, so it moves rows with [`rows`]. All other targets, and
//! Miri, move word by word.

#![allow(unsafe_code, reason = "device memory is raw memory: all accesses to it are in this file")]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::rows;

/// A number that is read or written by a single access.
///
/// # Safety
/// Its size equals its alignment, and every bit pattern of that size is a valid value.
pub unsafe trait Word: Copy + Default {
    /// The size of the number in bytes.
    const BYTES: u64;
    /// Reads one word.
    ///
    /// # Safety
    /// `at` is readable for `BYTES` bytes, and its address is a multiple of `BYTES`.
    unsafe fn load(at: *const u8) -> Self;
    /// Writes one word.
    ///
    /// # Safety
    /// `at` is writable for `BYTES` bytes, and its address is a multiple of `BYTES`.
    unsafe fn store(self, at: *mut u8);
}

macro_rules! words {
    ($($word:ty: $atomic:ty;)*) => {
        $(
            // SAFETY: the type has no padding, and its alignment equals its size on all supported targets.
            unsafe impl Word for $word {
                const BYTES: u64 = size_of::<$word>() as u64;
                #[inline(always)]
                unsafe fn load(at: *const u8) -> Self {
                    // SAFETY: guaranteed by the trait's contract. An atomic load of read-only
                    // memory is sound because the word is no larger than a register.
                    unsafe { <$atomic>::from_ptr(at.cast_mut().cast()) }.load(Ordering::Relaxed)
                }
                #[inline(always)]
                unsafe fn store(self, at: *mut u8) {
                    // SAFETY: guaranteed by the trait's contract.
                    unsafe { <$atomic>::from_ptr(at.cast()) }.store(self, Ordering::Relaxed);
                }
            }
        )*
    };
}

words! {
    u8: AtomicU8;
    u16: AtomicU16;
    u32: AtomicU32;
    u64: AtomicU64;
}

/// Floats are moved as integer words with the same bits.
macro_rules! floats {
    ($($float:ty: $bits:ty;)*) => {
        $(
            // SAFETY: a float has the size and alignment of the integer with its bits, and every bit pattern is a valid
            // float.
            unsafe impl Word for $float {
                const BYTES: u64 = <$bits>::BYTES;
                #[inline(always)]
                unsafe fn load(at: *const u8) -> Self {
                    // SAFETY: guaranteed by the trait's contract.
                    Self::from_bits(unsafe { <$bits>::load(at) })
                }
                #[inline(always)]
                unsafe fn store(self, at: *mut u8) {
                    // SAFETY: guaranteed by the trait's contract.
                    unsafe { self.to_bits().store(at) };
                }
            }
        )*
    };
}

floats! {
    f32: u32;
    f64: u64;
}

/// Reads 1, 2, 4 or 8 bytes.
///
/// # Safety
/// `at` is readable for `bytes` bytes, and its address is a multiple of `bytes`.
#[inline]
pub unsafe fn read_bits(at: *const u8, bytes: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            1 => u64::from(u8::load(at)),
            2 => u64::from(u16::load(at)),
            4 => u64::from(u32::load(at)),
            _ => u64::load(at),
        }
    }
}

/// Writes 1, 2, 4 or 8 bytes.
///
/// # Safety
/// `at` is writable for `bytes` bytes, and its address is a multiple of `bytes`.
#[inline]
pub unsafe fn write_bits(at: *mut u8, bytes: u64, value: u64) {
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            1 => (value as u8).store(at),
            2 => (value as u16).store(at),
            4 => (value as u32).store(at),
            _ => value.store(at),
        }
    }
}

/// Whether the target has a single thread, so that nothing else can access memory while it runs.
const SINGLE_THREADED: bool = cfg!(all(target_family = "wasm", not(target_feature = "atomics")));

/// The number of bytes that [`move_block`] moves.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BLOCK: usize = 32;

/// Copies a block between device memory and this thread's private memory, or inside device memory.
/// `AVX` selects the AVX version.
///
/// # Safety
/// `from` is readable and `to` writable for [`BLOCK`] bytes; `AVX` is only true if the processor
/// has AVX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn move_block<const AVX: bool>(to: *mut u8, from: *const u8) {
    // SAFETY: as the caller promises; only these two blocks are accessed.
    unsafe {
        if AVX {
            std::arch::asm!(
                "vmovdqu ymm0, ymmword ptr [{from}]",
                "vmovdqu ymmword ptr [{to}], ymm0",
                from = in(reg) from,
                to = in(reg) to,
                out("xmm0") _,
                options(nostack, preserves_flags),
            );
        } else {
            std::arch::asm!(
                "movdqu xmm0, xmmword ptr [{from}]",
                "movdqu xmm1, xmmword ptr [{from} + 16]",
                "movdqu xmmword ptr [{to}], xmm0",
                "movdqu xmmword ptr [{to} + 16], xmm1",
                from = in(reg) from,
                to = in(reg) to,
                out("xmm0") _,
                out("xmm1") _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// The minimum length in bytes for which AVX is worth its overhead.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LONG: usize = 4 * BLOCK;

/// Moves whole blocks from the front, four at a time.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, a multiple of [`BLOCK`]; if they overlap, `to` is the
/// lower address.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn move_blocks_avx(to: *mut u8, from: *const u8, len: usize) {
    let long = len - len % LONG;
    // SAFETY: as the caller promises. All four blocks are read before one is written.
    unsafe {
        for at in (0..long).step_by(LONG) {
            std::arch::asm!(
                "vmovdqu ymm0, ymmword ptr [{from}]",
                "vmovdqu ymm1, ymmword ptr [{from} + 32]",
                "vmovdqu ymm2, ymmword ptr [{from} + 64]",
                "vmovdqu ymm3, ymmword ptr [{from} + 96]",
                "vmovdqu ymmword ptr [{to}], ymm0",
                "vmovdqu ymmword ptr [{to} + 32], ymm1",
                "vmovdqu ymmword ptr [{to} + 64], ymm2",
                "vmovdqu ymmword ptr [{to} + 96], ymm3",
                from = in(reg) from.add(at),
                to = in(reg) to.add(at),
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                options(nostack, preserves_flags),
            );
        }
        for at in (long..len).step_by(BLOCK) {
            move_block::<true>(to.add(at), from.add(at));
        }
    }
}

/// Reads a row of words whose length is known at compile time.
///
/// # Safety
/// `from` is readable for the whole row and aligned to a word; `AVX` is only true if the processor
/// has AVX.
#[inline(always)]
pub unsafe fn load_row<T: Word, const AVX: bool>(from: *const u8, to: &mut [T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if AVX && size_of_val(to).is_multiple_of(BLOCK) {
        for at in (0..size_of_val(to)).step_by(BLOCK) {
            // SAFETY: the block is inside the row, which is valid as the caller promises; `to` is borrowed uniquely.
            unsafe { move_block::<AVX>(to.as_mut_ptr().cast::<u8>().add(at), from.add(at)) };
        }
        return;
    }
    if SINGLE_THREADED {
        // SAFETY: as the caller promises; `to` is borrowed uniquely.
        return unsafe { rows::copy(to.as_mut_ptr().cast(), from, size_of_val(to)) };
    }
    for (index, to) in to.iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *to = unsafe { T::load(from.add(index * size_of::<T>())) };
    }
}

/// Writes a row of words whose length is known at compile time.
///
/// # Safety
/// `to` is writable for the whole row and aligned to a word; `AVX` is only true if the processor
/// has AVX.
#[inline(always)]
pub unsafe fn store_row<T: Word, const AVX: bool>(to: *mut u8, from: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if AVX && size_of_val(from).is_multiple_of(BLOCK) {
        for at in (0..size_of_val(from)).step_by(BLOCK) {
            // SAFETY: the block is inside the row, which is valid as the caller promises; `from` is borrowed.
            unsafe { move_block::<AVX>(to.add(at), from.as_ptr().cast::<u8>().add(at)) };
        }
        return;
    }
    if SINGLE_THREADED {
        // SAFETY: as the caller promises; `from` is borrowed.
        return unsafe { rows::copy(to, from.as_ptr().cast(), size_of_val(from)) };
    }
    for (index, word) in from.iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { word.store(to.add(index * size_of::<T>())) };
    }
}

/// Copies as many whole blocks as fit into `len` bytes, starting at the front, and returns the
/// number of bytes copied. Copies nothing and returns 0 on targets without [`move_block`].
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes; if they overlap, `to` is before `from`.
#[inline(always)]
unsafe fn move_blocks(to: *mut u8, from: *const u8, len: usize) -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let blocks = len - len % BLOCK;
        // SAFETY: the blocks are inside the ranges, which are valid as the caller promises; AVX was detected. Blocks
        // are read before they are written, so the ranges may overlap.
        unsafe {
            if blocks >= LONG && std::arch::is_x86_feature_detected!("avx") {
                move_blocks_avx(to, from, blocks);
            } else {
                for at in (0..blocks).step_by(BLOCK) {
                    move_block::<false>(to.add(at), from.add(at));
                }
            }
        }
        blocks
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        let _ = (to, from, len);
        0
    }
}

/// Reads consecutive words into the caller's memory.
///
/// # Safety
/// `from` is readable for `into.len()` words, and aligned to a word.
pub unsafe fn read_words<T: Word>(from: *const u8, into: &mut [T]) {
    let bytes = size_of_val(into);
    // SAFETY: `from` is readable, as the caller promises; `into` is borrowed uniquely.
    let done = unsafe { move_blocks(into.as_mut_ptr().cast(), from, bytes) } / size_of::<T>();
    for (index, word) in into.iter_mut().enumerate().skip(done) {
        // SAFETY: guaranteed by the caller.
        *word = unsafe { T::load(from.add(index * size_of::<T>())) };
    }
}

/// Writes consecutive words from the caller's memory.
///
/// # Safety
/// `to` is writable for `words.len()` words, and aligned to a word.
pub unsafe fn write_words<T: Word>(to: *mut u8, words: &[T]) {
    let bytes = size_of_val(words);
    // SAFETY: `to` is writable, as the caller promises; `words` is borrowed.
    let done = unsafe { move_blocks(to, words.as_ptr().cast(), bytes) } / size_of::<T>();
    for (index, word) in words.iter().enumerate().skip(done) {
        // SAFETY: guaranteed by the caller.
        unsafe { word.store(to.add(index * size_of::<T>())) };
    }
}

/// Copies `len` bytes from front to back, in blocks, 8-byte words and single bytes. Words are only used at offsets for
/// which `start` plus the offset is a multiple of 8.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes; if they overlap, `to` is before `from`.
#[inline(always)]
unsafe fn move_forwards(
    (to, from, len): (*mut u8, *const u8, usize),
    start: usize,
    byte: impl Fn(usize),
    word: impl Fn(usize),
) {
    let mut at = 0;
    while at < len && !(start + at).is_multiple_of(8) {
        byte(at);
        at += 1;
    }
    // SAFETY: the offset is inside the ranges, which are valid as the caller promises.
    at += unsafe { move_blocks(to.add(at), from.add(at), len - at) };
    while len - at >= 8 {
        word(at);
        at += 8;
    }
    (at..len).for_each(byte);
}

/// Reads device memory.
///
/// # Safety
/// `from` is readable for `into.len()` bytes.
pub unsafe fn read(from: *const u8, into: &mut [u8]) {
    let (to, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: `move_forwards` only passes offsets inside both ranges, and uses words where `from`
    // is aligned.
    unsafe {
        move_forwards(
            (to, from, len),
            from as usize,
            |at| to.add(at).write(u8::load(from.add(at))),
            |at| to.add(at).cast::<u64>().write_unaligned(u64::load(from.add(at))),
        );
    }
}

/// Writes device memory.
///
/// # Safety
/// `to` is writable for `bytes.len()` bytes.
pub unsafe fn write(to: *mut u8, bytes: &[u8]) {
    let (from, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: as in `read`.
    unsafe {
        move_forwards(
            (to, from, len),
            to as usize,
            |at| from.add(at).read().store(to.add(at)),
            |at| from.add(at).cast::<u64>().read_unaligned().store(to.add(at)),
        );
    }
}

/// Copies inside device memory; the ranges may overlap.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
pub unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    let same_alignment = (to as usize ^ from as usize).is_multiple_of(8);
    // SAFETY: `at` is inside both ranges; words are only used where both are aligned.
    unsafe {
        let byte = |at: usize| u8::load(from.add(at)).store(to.add(at));
        let word = |at: usize| u64::load(from.add(at)).store(to.add(at));
        if (to as usize).wrapping_sub(from as usize) >= len {
            let word =
                |at: usize| if same_alignment { word(at) } else { (at..at + 8).for_each(byte) };
            return move_forwards((to, from, len), to as usize, byte, word);
        }
        let mut left = len;
        while left > 0 {
            if same_alignment && left >= 8 && (to as usize + left).is_multiple_of(8) {
                left -= 8;
                word(left);
            } else {
                left -= 1;
                byte(left);
            }
        }
    }
}

/// Writes a pattern of 1, 2, 4 or 8 bytes, `count` times.
///
/// # Safety
/// `to` is writable for `pattern.len() * count` bytes.
pub unsafe fn fill(to: *mut u8, pattern: &[u8], count: usize) {
    let len = pattern.len() * count;
    let byte = |at: usize| {
        // SAFETY: the calls below only pass offsets inside the range.
        unsafe { pattern[at % pattern.len()].store(to.add(at)) };
    };
    if len < 16 || !8_usize.is_multiple_of(pattern.len()) {
        return (0..len).for_each(byte);
    }
    let head = to.align_offset(8).min(len);
    (0..head).for_each(byte);
    let word = u64::from_ne_bytes(std::array::from_fn(|at| pattern[(head + at) % pattern.len()]));
    let words = (len - head) / 8;
    for index in 0..words {
        // SAFETY: the word is inside the range, and aligned, because it follows the unaligned head.
        unsafe { word.store(to.add(head + index * 8)) };
    }
    (head + words * 8..len).for_each(byte);
}

#[cfg(test)]
mod tests;
