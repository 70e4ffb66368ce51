//! AVX2 code that the compiler doesn't generate for loops over lanes: if each lane tests its own
//! bit of a word, it creates 32 branches or 32 loads. With AVX2 this takes a few instructions for
//! eight lanes.
//!
//! Loops count groups, and vectors are passed by value; otherwise the compiler stores temporary
//! rows in memory, lane by lane.

#![allow(unsafe_code, reason = "converts between lanes of a row and vectors")]

use std::arch::x86_64::{
    __m256, __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_movemask_ps, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_setr_epi64x,
};
use std::mem::transmute;

use crate::engine::registers::LANES;

/// The number of 32-bit lanes in a vector.
const NARROW: usize = 8;
/// The number of 64-bit lanes in a vector.
const WIDE: usize = 4;

/// Converts a row whose lanes are all ones or all zeros to a word with one bit per lane.
#[expect(clippy::needless_range_loop, reason = "an iterator leaves the row in memory")]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn signs(row: &[u32; LANES]) -> u32 {
    let (groups, _) = row.as_chunks::<NARROW>();
    let mut bits = 0;
    for group in 0..LANES / NARROW {
        // SAFETY: both have 32 bytes, and every bit pattern is valid.
        let vector = unsafe { transmute::<[u32; NARROW], __m256>(groups[group]) };
        bits |= (_mm256_movemask_ps(vector) as u32) << (group * NARROW);
    }
    bits
}

/// Functions that copy the active lanes from another row.
macro_rules! merges {
    ($($merge:ident: $word:ident, $signed:ident, $lanes:ident, $set:ident($($bit:literal),*), $set1:ident, $equal:ident;)*) => {$(
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::engine) fn $merge(to: &mut [$word; LANES], from: &[$word; LANES], mask: u32) {
            /// Selects `new` in lanes whose bit is set.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn blend(old: [$word; $lanes], new: [$word; $lanes], mask: u32) -> [$word; $lanes] {
                let bits = $set($($bit),*);
                let own = _mm256_and_si256($set1(mask as $signed), bits);
                let taken = $equal(own, bits);
                // SAFETY: all have 32 bytes, and every bit pattern is valid.
                unsafe {
                    let old = transmute::<[$word; $lanes], __m256i>(old);
                    let new = transmute::<[$word; $lanes], __m256i>(new);
                    transmute::<__m256i, [$word; $lanes]>(_mm256_blendv_epi8(old, new, taken))
                }
            }

            let (to, _) = to.as_chunks_mut::<$lanes>();
            let (from, _) = from.as_chunks::<$lanes>();
            for group in 0..LANES / $lanes {
                to[group] = blend(to[group], from[group], mask >> (group * $lanes));
            }
        }
    )*};
}

merges! {
    merge_narrow: u32, i32, NARROW, _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), _mm256_set1_epi32,
        _mm256_cmpeq_epi32;
    merge_wide: u64, i64, WIDE, _mm256_setr_epi64x(1, 2, 4, 8), _mm256_set1_epi64x, _mm256_cmpeq_epi64;
}
