//! What the compiler doesn't find in loops over lanes: of a loop in which each lane asks for its own bit of a
//! word it makes 32 branches, or 32 addresses to load from. With AVX2 it is a few instructions for eight lanes.
//!
//! The loops count groups, and vectors are values: else the compiler leaves rows that are only on their way in
//! memory, lane by lane.

#![allow(unsafe_code, reason = "lanes of a row are taken for a vector, and a vector for lanes")]

use std::arch::x86_64::{
    __m256, __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_movemask_ps, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_setr_epi64x,
};
use std::mem::transmute;

use crate::engine::registers::LANES;

/// How many lanes of 32 bits a vector has.
const NARROW: usize = 8;
/// And of 64 bits.
const WIDE: usize = 4;

/// A word with a bit for each lane, of a row whose lanes have all their bits set or none.
#[expect(clippy::needless_range_loop, reason = "an iterator leaves the row in memory")]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn signs(row: &[u32; LANES]) -> u32 {
    let (groups, _) = row.as_chunks::<NARROW>();
    let mut bits = 0;
    for group in 0..LANES / NARROW {
        // SAFETY: both are 32 bytes, and each pattern of bits is valid.
        let vector = unsafe { transmute::<[u32; NARROW], __m256>(groups[group]) };
        bits |= (_mm256_movemask_ps(vector) as u32) << (group * NARROW);
    }
    bits
}

/// Functions that take the lanes of a mask from another row.
macro_rules! merges {
    ($($merge:ident: $word:ident, $signed:ident, $lanes:ident, $set:ident($($bit:literal),*), $set1:ident, $equal:ident;)*) => {$(
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::engine) fn $merge(to: &mut [$word; LANES], from: &[$word; LANES], mask: u32) {
            /// The second where a lane's bit is set.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn blend(old: [$word; $lanes], new: [$word; $lanes], mask: u32) -> [$word; $lanes] {
                let bits = $set($($bit),*);
                let own = _mm256_and_si256($set1(mask as $signed), bits);
                let taken = $equal(own, bits);
                // SAFETY: all are 32 bytes, and each pattern of bits is valid.
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
