//! Access patterns of half a warp: all the same, or one element behind the other, as nearly
//! always. It is found in the register row that holds them, before they are written out: a loop
//! over 16 words of a width that every host's vectors have.
//!
//! Half a warp is a row of the blocks of 16 × 16 threads that are so common.

#![allow(
    unsafe_code,
    reason = "on some hosts the compiler is kept from knowing a number too well, or vectors are loaded"
)]

use super::instruction::{Access, Kept};
use crate::engine::core::{Core, Region, Stretch};
use crate::engine::registers::{LANES, Width};

/// Lanes of half a warp.
pub(super) const HALF: usize = LANES / 2;

/// An address as a register holds it.
trait Address: Copy + PartialEq {
    fn wide(self) -> u64;
    /// The low bits.
    fn cut(wide: u64) -> Self;
    fn minus(self, other: Self) -> Self;
    /// This many bytes further.
    fn further(self, bytes: i64) -> Self;
    fn or(self, other: Self) -> Self;
    /// Where a lane takes part itself, and 0 where not.
    fn only(self, mask: u32, lane: usize) -> Self;
    /// Whether each is as far from the next.
    fn steady(row: &[Self; HALF], gap: Self) -> bool;
}

macro_rules! addresses {
    ($($word:ident),*) => {
        $(
            impl Address for $word {
                #[inline(always)]
                fn wide(self) -> u64 {
                    u64::from(self)
                }
                #[inline(always)]
                fn cut(wide: u64) -> Self {
                    wide as Self
                }
                #[inline(always)]
                fn minus(self, other: Self) -> Self {
                    self.wrapping_sub(other)
                }
                #[inline(always)]
                fn further(self, bytes: i64) -> Self {
                    self.wrapping_add(bytes as Self)
                }
                #[inline(always)]
                fn or(self, other: Self) -> Self {
                    self | other
                }
                #[inline(always)]
                fn only(self, mask: u32, lane: usize) -> Self {
                    self & (Self::from(mask) >> lane & 1).wrapping_neg()
                }
                #[inline(always)]
                fn steady(row: &[Self; HALF], gap: Self) -> bool {
                    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
                    return vectors::$word(row, gap);
                    #[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
                    steady(row, gap)
                }
            }
        )*
    };
}

addresses!(u32, u64);

/// The number itself, of which the compiler knows nothing: else it takes the loops below for 16
/// comparisons and joins them one by one, which takes longer than all the rest.
#[inline(always)]
fn opaque(word: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut word = word;
        // SAFETY: it does nothing.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
        }
        word
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    word
}

/// The stretch of half a warp, all of whose lanes take part: each is as far from the next as the first
/// from the second.
#[inline(always)]
fn whole<A: Address>(row: &[A; HALF], bytes: u32) -> Option<Stretch> {
    let gap = A::cut(opaque(row[1].minus(row[0]).wide()));
    // 0 or as many, which is one bit; of two comparisons the compiler makes a table of places to go to.
    debug_assert!(bytes.is_power_of_two());
    if gap.wide() & !u64::from(bytes) != 0 {
        return None;
    }
    let uniform = gap.wide() == 0;
    if !A::steady(row, gap) {
        return None;
    }
    let start = row[0].wide();
    let bytes = if uniform { u64::from(bytes) } else { HALF as u64 * u64::from(bytes) };
    (!wraps::<A>(start, bytes)).then_some(Stretch { start, bytes, uniform })
}

#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
#[inline(always)]
fn steady<A: Address>(row: &[A; HALF], gap: A) -> bool {
    // Fifteen distances, four at a time; one of them twice.
    let mut apart = [A::cut(0); 4];
    for start in [0, 4, 8, 11] {
        for (lane, apart) in apart.iter_mut().enumerate() {
            let distance = row[start + lane + 1].minus(row[start + lane]);
            *apart = apart.or(distance.minus(gap));
        }
    }
    let [a, b, c, d] = apart;
    opaque(a.or(b).or(c.or(d)).wide()) == 0
}

/// The same in WebAssembly, where the compiler knows too much of words, and nothing of vectors.
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod vectors {
    use std::arch::wasm32::{
        i32x4_add, i64x2_add, u32x4, u32x4_splat, u64x2, u64x2_splat, v128_any_true, v128_load,
        v128_or, v128_xor,
    };

    use super::HALF;

    macro_rules! steady {
        ($word:ident, [$($lane:expr),*], $make:ident, $splat:ident, $add:ident) => {
            #[inline(always)]
            pub(super) fn $word(row: &[$word; HALF], gap: $word) -> bool {
                const LANES: $word = 16 / size_of::<$word>() as $word;
                let further = |lanes: $word| gap.wrapping_mul(lanes);
                let mut expected = $make($(row[0].wrapping_add(further($lane))),*);
                let mut apart = $splat(0);
                for start in (0..HALF).step_by(LANES as usize) {
                    // SAFETY: as many lanes of the row.
                    let here = unsafe { v128_load(row.as_ptr().add(start).cast()) };
                    apart = v128_or(apart, v128_xor(here, expected));
                    expected = $add(expected, $splat(further(LANES)));
                }
                !v128_any_true(apart)
            }
        };
    }

    steady!(u32, [0, 1, 2, 3], u32x4, u32x4_splat, i32x4_add);
    steady!(u64, [0, 1], u64x2, u64x2_splat, i64x2_add);
}

/// The same of lanes of a mask, which are not none. The first two of them say what it would be.
#[inline(always)]
fn some<A: Address>(row: &[A; HALF], mask: u32, bytes: u32) -> Option<Stretch> {
    let from = mask.trailing_zeros() as usize % HALF;
    let second = (mask & mask.wrapping_sub(1)).trailing_zeros() as usize;
    let first = row[from];
    let uniform = row.get(second).is_none_or(|&second| second == first);
    let mut apart = A::cut(0);
    for (lane, &address) in row.iter().enumerate() {
        let beyond = (lane as i64 - from as i64) * i64::from(bytes);
        let expected = first.further(if uniform { 0 } else { beyond });
        apart = apart.or(address.minus(expected).only(mask, lane));
    }
    if apart.wide() != 0 {
        return None;
    }
    if uniform {
        let (start, bytes) = (first.wide(), u64::from(bytes));
        return (!wraps::<A>(start, bytes)).then_some(Stretch { start, bytes, uniform });
    }
    // Where lane 0 would be.
    let start = first.wide().wrapping_sub(from as u64 * u64::from(bytes));
    let bytes = HALF as u64 * u64::from(bytes);
    (!wraps::<A>(start, bytes)).then_some(Stretch { start, bytes, uniform })
}

/// In a register of 32 bits the next address after the last is the first: what lies around the end is
/// no stretch.
#[inline(always)]
fn wraps<A: Address>(start: u64, bytes: u64) -> bool {
    size_of::<A>() == 4 && start.checked_add(bytes).is_none_or(|end| end > 1 << 32)
}

#[inline(always)]
fn both<A: Address, const FULL: bool>(
    row: &[A; LANES],
    mask: u32,
    bytes: u32,
) -> Option<[Stretch; 2]> {
    let (low, high) = (row.first_chunk::<HALF>()?, row.last_chunk::<HALF>()?);
    if FULL {
        return Some([whole(low, bytes)?, whole(high, bytes)?]);
    }
    let (low_mask, high_mask) = (mask & 0xffff, mask >> HALF);
    // A half that does not take part is where the other is.
    let low = if low_mask == 0 { None } else { Some(some(low, low_mask, bytes)?) };
    let high = if high_mask == 0 { None } else { Some(some(high, high_mask, bytes)?) };
    Some([low.or(high)?, high.or(low)?])
}

/// The stretches of both halves of a warp, elements of some bytes; `FULL` where all lanes of the
/// warp take part.
#[inline(always)]
pub(super) fn stretches<const FULL: bool>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
) -> Option<[Stretch; 2]> {
    let mut found = match (access.kept, core.kept) {
        // All lanes took part there, too: no branch lies between.
        (Kept::By(site), Some((of, found))) if site == of => found,
        _ => {
            let found = both_of_row::<FULL>(core, access, mask, bytes);
            if access.kept == Kept::ForOthers {
                core.kept = if FULL { found.map(|found| (access.site, found)) } else { None };
            }
            found?
        }
    };
    for stretch in &mut found {
        stretch.start = stretch.start.wrapping_add(access.offset);
    }
    Some(found)
}

#[inline(always)]
fn both_of_row<const FULL: bool>(
    core: &Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
) -> Option<[Stretch; 2]> {
    if access.address.width == Width::Wide {
        both::<u64, FULL>(core.registers.wide(access.address.index), mask, bytes as u32)
    } else {
        both::<u32, FULL>(core.registers.narrow(access.address.index), mask, bytes as u32)
    }
}

/// Where the host has both, where both are inside a region and each element is aligned.
#[inline(always)]
pub(super) fn inside(region: Region, found: &[Stretch; 2], bytes: u64) -> Option<[*mut u8; 2]> {
    let [low, high] = found;
    let aligned = (low.start | high.start) & (bytes - 1) == 0;
    let hosts = [region.host(low.start, low.bytes)?, region.host(high.start, high.bytes)?];
    aligned.then_some(hosts)
}
