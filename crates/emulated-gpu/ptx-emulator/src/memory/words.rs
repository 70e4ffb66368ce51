//! How device memory is moved: by words, each of them by one relaxed atomic access.
//!
//! Threads of kernels, copies of the host's and fills reach the same bytes at the same time, as on a
//! GPU. What a kernel does wrong there is the kernel's data race (PTX ISA, "Memory Consistency Model"),
//! which reads an old or a new word; by plain accesses it would be one of this program's too, and
//! undefined (`std::sync::atomic`, "Memory model for atomic accesses"). Accesses of different sizes
//! that race are left open by both models; here they give what the host's processor gives.
//!
//! No compiler joins atomic accesses, and a row of 16 words by single ones takes as long as all the rest
//! of a load. So on x86-64 rows and blocks are moved by vector instructions written out: there each
//! naturally aligned word of a vector is accessed at once, on which the Java virtual machine's copies
//! of arrays rely too. WebAssembly without threads has no other thread that could see half of a row, and moves it
//! as [`rows`](super::rows) does. Elsewhere, and under Miri, the same is done word by word.

#![allow(unsafe_code, reason = "device memory is raw memory: every access to it is made here")]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::rows;

/// What one access moves.
pub(crate) trait Word: Copy + Default {
    /// Its size.
    const BYTES: u64;
    /// # Safety
    /// `at` is readable for `BYTES` bytes and aligned to them.
    unsafe fn load(at: *const u8) -> Self;
    /// # Safety
    /// `at` is writable for `BYTES` bytes and aligned to them.
    unsafe fn store(self, at: *mut u8);
}

macro_rules! words {
    ($($word:ty: $atomic:ty;)*) => {
        $(
            impl Word for $word {
                const BYTES: u64 = size_of::<$word>() as u64;
                #[inline(always)]
                unsafe fn load(at: *const u8) -> Self {
                    // SAFETY: as the trait asks. An atomic load of memory that is only readable is
                    // sound, as it has the size of a register.
                    unsafe { <$atomic>::from_ptr(at.cast_mut().cast()) }.load(Ordering::Relaxed)
                }
                #[inline(always)]
                unsafe fn store(self, at: *mut u8) {
                    // SAFETY: as the trait asks.
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

/// Reads 1, 2, 4 or 8 bytes.
///
/// # Safety
/// `at` is readable for `bytes` bytes and aligned to them.
pub(crate) unsafe fn read_bits(at: *const u8, bytes: u64) -> u64 {
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
/// `at` is writable for `bytes` bytes and aligned to them.
pub(crate) unsafe fn write_bits(at: *mut u8, bytes: u64, value: u64) {
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

/// There is one thread, and nothing else that reaches its memory while it runs.
const ALONE: bool = cfg!(all(target_family = "wasm", not(target_feature = "atomics")));

/// Bytes that [`move_block`] moves.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BLOCK: usize = 32;

/// Moves a block of words between device memory and memory of this thread's own, or inside device
/// memory. With `AVX` the processor has to have it.
///
/// # Safety
/// `from` is readable and `to` writable for [`BLOCK`] bytes; `AVX` only where the processor has it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn move_block<const AVX: bool>(to: *mut u8, from: *const u8) {
    // SAFETY: as the caller promises; nothing else is touched.
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

/// Reads a row of words, of a length that the compiler knows.
///
/// # Safety
/// `from` is readable for as many words and aligned to them; `AVX` only where the processor has it.
#[inline(always)]
pub(crate) unsafe fn load_row<T: Word, const AVX: bool>(from: *const u8, to: &mut [T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if AVX && size_of_val(to).is_multiple_of(BLOCK) {
        for at in (0..size_of_val(to)).step_by(BLOCK) {
            // SAFETY: a block inside the row, as the caller promises; the other is our own.
            unsafe { move_block::<AVX>(to.as_mut_ptr().cast::<u8>().add(at), from.add(at)) };
        }
        return;
    }
    if ALONE {
        // SAFETY: as the caller promises; the row is our own.
        return unsafe { rows::copy(to.as_mut_ptr().cast(), from, size_of_val(to)) };
    }
    for (index, to) in to.iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *to = unsafe { T::load(from.add(index * size_of::<T>())) };
    }
}

/// Writes a row of words, of a length that the compiler knows.
///
/// # Safety
/// `to` is writable for as many words and aligned to them; `AVX` only where the processor has it.
#[inline(always)]
pub(crate) unsafe fn store_row<T: Word, const AVX: bool>(to: *mut u8, from: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if AVX && size_of_val(from).is_multiple_of(BLOCK) {
        for at in (0..size_of_val(from)).step_by(BLOCK) {
            // SAFETY: a block inside the row, as the caller promises; the other is our own.
            unsafe { move_block::<AVX>(to.add(at), from.as_ptr().cast::<u8>().add(at)) };
        }
        return;
    }
    if ALONE {
        // SAFETY: as the caller promises; the row is our own.
        return unsafe { rows::copy(to, from.as_ptr().cast(), size_of_val(from)) };
    }
    for (index, word) in from.iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { word.store(to.add(index * size_of::<T>())) };
    }
}

/// Goes through `len` bytes from the front: a block, a word of 8 bytes or a byte at a time, the words
/// where `start` and how far it has come are a multiple of 8.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes; where they overlap, `to` is not behind.
#[inline(always)]
unsafe fn forwards(
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
    // A block is read before it is written, so that the ranges may overlap.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    while len - at >= BLOCK {
        // SAFETY: inside the ranges, as the caller promises.
        unsafe { move_block::<false>(to.add(at), from.add(at)) };
        at += BLOCK;
    }
    let _ = (to, from);
    while len - at >= 8 {
        word(at);
        at += 8;
    }
    (at..len).for_each(byte);
}

/// Reads device memory.
///
/// # Safety
/// `from` is readable for as many bytes.
pub(crate) unsafe fn read(from: *const u8, into: &mut [u8]) {
    let (to, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: `forwards` asks for what is inside both ranges, and for words where `from` is aligned.
    unsafe {
        forwards(
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
/// `to` is writable for as many bytes.
pub(crate) unsafe fn write(to: *mut u8, bytes: &[u8]) {
    let (from, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: as in `read`.
    unsafe {
        forwards(
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
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    let alike = (to as usize ^ from as usize).is_multiple_of(8);
    // SAFETY: `at` is inside both ranges; words are moved where both are aligned.
    unsafe {
        let byte = |at: usize| u8::load(from.add(at)).store(to.add(at));
        let word = |at: usize| u64::load(from.add(at)).store(to.add(at));
        if (to as usize).wrapping_sub(from as usize) >= len {
            let word = |at: usize| if alike { word(at) } else { (at..at + 8).for_each(byte) };
            return forwards((to, from, len), to as usize, byte, word);
        }
        let mut left = len;
        while left > 0 {
            if alike && left >= 8 && (to as usize + left).is_multiple_of(8) {
                left -= 8;
                word(left);
            } else {
                left -= 1;
                byte(left);
            }
        }
    }
}

/// Writes a pattern of 1, 2, 4 or 8 bytes `count` times.
///
/// # Safety
/// `to` is writable for as many bytes.
pub(crate) unsafe fn fill(to: *mut u8, pattern: &[u8], count: usize) {
    let len = pattern.len() * count;
    let byte = |at: usize| {
        // SAFETY: callers below ask for what is inside the range.
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
        // SAFETY: inside the range, and aligned behind the head.
        unsafe { word.store(to.add(head + index * 8)) };
    }
    (head + words * 8..len).for_each(byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than two blocks, and bytes that tell where they are from.
    const LEN: usize = 96;

    fn bytes() -> Vec<u8> {
        (0..LEN as u8).map(|at| at.wrapping_mul(37) ^ 0x5a).collect()
    }

    /// Every length from every alignment on either side.
    fn ranges() -> impl Iterator<Item = (usize, usize, usize)> {
        let offsets = (0..9).flat_map(|to| (0..9).map(move |from| (to, from)));
        offsets.flat_map(|(to, from)| {
            [0, 1, 3, 7, 8, 9, 31, 32, 33, 47, 64, 75].map(|len| (to, from, len))
        })
    }

    #[test]
    fn bytes_come_where_they_belong_and_nowhere_else() {
        let source = bytes();
        for (to, from, len) in ranges() {
            let mut expected = vec![0xee; LEN];
            expected[to..to + len].copy_from_slice(&source[from..from + len]);
            let mut target = vec![0xee; LEN];
            // SAFETY: 75 bytes from at most 8 on are inside 96.
            unsafe { write(target.as_mut_ptr().add(to), &source[from..from + len]) };
            assert_eq!(target, expected, "write {to} {from} {len}");
            let mut target = vec![0xee; LEN];
            // SAFETY: as above.
            unsafe { read(source.as_ptr().add(from), &mut target[to..to + len]) };
            assert_eq!(target, expected, "read {to} {from} {len}");
            let mut target = vec![0xee; LEN];
            // SAFETY: as above.
            unsafe { copy(target.as_mut_ptr().add(to), source.as_ptr().add(from), len) };
            assert_eq!(target, expected, "copy {to} {from} {len}");
        }
    }

    #[test]
    fn ranges_that_overlap_are_copied_as_if_they_did_not() {
        for (to, from, len) in ranges().chain([(0, 20, 75), (20, 0, 75), (16, 0, 75), (0, 16, 75)])
        {
            let mut expected = bytes();
            expected.copy_within(from..from + len, to);
            let mut target = bytes();
            let start = target.as_mut_ptr();
            // SAFETY: inside of the one vector.
            unsafe { copy(start.add(to), start.add(from), len) };
            assert_eq!(target, expected, "{to} {from} {len}");
        }
    }

    #[test]
    fn patterns_repeat_from_where_they_begin() {
        for (pattern, to, count) in (1..=8)
            .flat_map(|len| (0..9).map(move |to| (len, to)))
            .flat_map(|(len, to)| [0, 1, 2, 5, 10].map(|count| (&b"abcdefgh"[..len], to, count)))
        {
            let mut expected = vec![0; LEN];
            expected[to..to + pattern.len() * count].copy_from_slice(&pattern.repeat(count));
            let mut target = vec![0; LEN];
            // SAFETY: 80 bytes from at most 8 on.
            unsafe { fill(target.as_mut_ptr().add(to), pattern, count) };
            assert_eq!(target, expected, "{pattern:?} at {to}, {count} times");
        }
    }

    #[test]
    fn rows_are_the_same_in_both_versions() {
        fn both<const AVX: bool>(source: &[u32; 24]) -> (Vec<u32>, Vec<u64>, Vec<u32>) {
            let (mut narrow, mut wide) = ([0u32; 16], [0u64; 8]);
            let mut target = [7u32; 24];
            // SAFETY: rows inside the arrays; `u64` are aligned as the array begins at a multiple of
            // 8, and the tests ask for AVX where there is some.
            unsafe {
                load_row::<u32, AVX>(source.as_ptr().add(3).cast(), &mut narrow);
                load_row::<u64, AVX>(source.as_ptr().add(2).cast(), &mut wide);
                store_row::<u32, AVX>(target.as_mut_ptr().add(5).cast(), &narrow);
            }
            (narrow.into(), wide.into(), target.into())
        }
        #[repr(align(8))]
        struct Aligned([u32; 24]);
        let source = Aligned(std::array::from_fn(|at| at as u32 * 0x0101_0101));
        let portable = both::<false>(&source.0);
        assert_eq!(portable.0, source.0[3..19]);
        assert_eq!((portable.2[4], portable.2[5], portable.2[21]), (7, source.0[3], 7));
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx") {
            assert_eq!(both::<true>(&source.0), portable);
        }
    }
}
