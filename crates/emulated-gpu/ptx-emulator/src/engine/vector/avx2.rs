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

/// Takes the lanes of a mask from another row.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::engine) fn merge_narrow(to: &mut [u32; LANES], from: &[u32; LANES], mask: u32) {
    let (to, _) = to.as_chunks_mut::<NARROW>();
    let (from, _) = from.as_chunks::<NARROW>();
    for group in 0..LANES / NARROW {
        to[group] = blend_narrow(to[group], from[group], mask >> (group * NARROW));
    }
}

/// The second where a lane's bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn blend_narrow(old: [u32; NARROW], new: [u32; NARROW], mask: u32) -> [u32; NARROW] {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let own = _mm256_and_si256(_mm256_set1_epi32(mask as i32), bits);
    let taken = _mm256_cmpeq_epi32(own, bits);
    // SAFETY: all are 32 bytes, and each pattern of bits is valid.
    unsafe {
        let old = transmute::<[u32; NARROW], __m256i>(old);
        let new = transmute::<[u32; NARROW], __m256i>(new);
        transmute::<__m256i, [u32; NARROW]>(_mm256_blendv_epi8(old, new, taken))
    }
}

/// As [`merge_narrow`], of lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::engine) fn merge_wide(to: &mut [u64; LANES], from: &[u64; LANES], mask: u32) {
    let (to, _) = to.as_chunks_mut::<WIDE>();
    let (from, _) = from.as_chunks::<WIDE>();
    for group in 0..LANES / WIDE {
        to[group] = blend_wide(to[group], from[group], mask >> (group * WIDE));
    }
}

/// As [`blend_narrow`].
#[inline]
#[target_feature(enable = "avx2")]
fn blend_wide(old: [u64; WIDE], new: [u64; WIDE], mask: u32) -> [u64; WIDE] {
    let bits = _mm256_setr_epi64x(1, 2, 4, 8);
    let own = _mm256_and_si256(_mm256_set1_epi64x(i64::from(mask)), bits);
    let taken = _mm256_cmpeq_epi64(own, bits);
    // SAFETY: as above.
    unsafe {
        let old = transmute::<[u64; WIDE], __m256i>(old);
        let new = transmute::<[u64; WIDE], __m256i>(new);
        transmute::<__m256i, [u64; WIDE]>(_mm256_blendv_epi8(old, new, taken))
    }
}
