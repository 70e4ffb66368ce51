//! Copies and fills of rows that no other thread accesses, such as register rows.

#![allow(unsafe_code, reason = "rows are moved between device memory and registers")]

use crate::words::Word;

/// Copies a row whose length is known at compile time.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, they don't overlap, and no other thread
/// accesses either.
#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { to.copy_from_nonoverlapping(from, bytes) };
}

/// Copies a row whose length is known at compile time, for WebAssembly: with vector instructions.
/// The compiler would turn a plain copy into `memory.copy`, which is a function call in a browser
/// and takes longer than the rest of a load.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, they don't overlap, and no other thread
/// accesses either.
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::wasm32::{v128, v128_load, v128_store};
    const VECTOR: usize = size_of::<v128>();
    // Four vectors per iteration, because the compiler would turn a loop over single vectors into
    // the slow `memory.copy`.
    const BLOCK: usize = 4 * VECTOR;
    let blocks = bytes - bytes % BLOCK;
    for at in (0..blocks).step_by(BLOCK) {
        // SAFETY: the vectors are inside both ranges, which are valid as the caller promises; a
        // vector needs no alignment.
        unsafe {
            let (to, from) = (to.add(at), from.add(at));
            let vectors = [0, 1, 2, 3].map(|index| v128_load(from.add(index * VECTOR).cast()));
            for (index, vector) in vectors.into_iter().enumerate() {
                v128_store(to.add(index * VECTOR).cast(), vector);
            }
        }
    }
    for at in blocks..bytes {
        // SAFETY: as above.
        unsafe { to.add(at).write(from.add(at).read()) };
    }
}

/// Copies one row of registers.
#[inline(always)]
pub fn copy_row<T: Word, const N: usize>(to: &mut [T; N], from: &[T; N]) {
    if cfg!(not(target_family = "wasm")) {
        // A plain assignment, which the compiler can optimise.
        *to = *from;
        return;
    }
    // SAFETY: both are arrays of the same length, and the destination is borrowed uniquely.
    unsafe { copy(to.as_mut_ptr().cast(), from.as_ptr().cast(), size_of_val(to)) };
}

/// Fills a part of a row of registers with one word.
#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
#[inline(always)]
pub fn fill_row<T: Word>(to: &mut [T], word: T) {
    to.fill(word);
}

/// Fills a part of a row of registers with one word. On WebAssembly, this uses vector instructions:
/// the compiler would store word by word, and a vector load soon after would stall until all of
/// the stores have completed.
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
#[inline(always)]
pub fn fill_row<T: Word>(to: &mut [T], word: T) {
    use std::arch::wasm32::{u32x4_splat, u64x2_splat, v128, v128_store};
    // SAFETY: words have 4 or 8 bytes, and every bit pattern is a valid number.
    let vector = unsafe {
        match size_of::<T>() {
            4 => u32x4_splat(std::mem::transmute_copy(&word)),
            8 => u64x2_splat(std::mem::transmute_copy(&word)),
            _ => return to.fill(word),
        }
    };
    let mut vectors = to.chunks_exact_mut(size_of::<v128>() / size_of::<T>());
    for to in &mut vectors {
        // SAFETY: the chunk has the size of a vector; a vector store needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), vector) };
    }
    vectors.into_remainder().fill(word);
}
