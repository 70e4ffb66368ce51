//! Access patterns of half a warp: equal addresses, or consecutive elements, as nearly always. They
//! are detected directly in the register row, by a loop over 16 words of a width that the vector
//! units of all hosts have.
//!
//! Half a warp is one row of the common blocks of 16 × 16 threads.

#![allow(unsafe_code, reason = "hides a number from the optimiser, and loads vectors")]

use super::instruction::{Access, PatternReuse};
use crate::engine::core::{Core, Region, Stretch};
use crate::engine::registers::{LANES, Width};

/// The number of lanes in half a warp.
pub(super) const HALF: usize = LANES / 2;

/// An address as stored in a register.
trait Address: Copy + PartialEq {
    fn to_wide(self) -> u64;
    /// Truncates to the width of the register.
    fn from_wide(wide: u64) -> Self;
    fn difference(self, other: Self) -> Self;
    /// Adds a number of bytes.
    fn add_bytes(self, bytes: i64) -> Self;
    fn or(self, other: Self) -> Self;
    /// The address if the lane is in the mask, and 0 otherwise.
    fn masked(self, mask: u32, lane: usize) -> Self;
    /// Whether all adjacent lanes differ by `gap`.
    fn has_constant_gap(row: &[Self; HALF], gap: Self) -> bool;
}

macro_rules! addresses {
    ($($word:ident),*) => {
        $(
            impl Address for $word {
                #[inline(always)]
                fn to_wide(self) -> u64 {
                    u64::from(self)
                }
                #[inline(always)]
                fn from_wide(wide: u64) -> Self {
                    wide as Self
                }
                #[inline(always)]
                fn difference(self, other: Self) -> Self {
                    self.wrapping_sub(other)
                }
                #[inline(always)]
                fn add_bytes(self, bytes: i64) -> Self {
                    self.wrapping_add(bytes as Self)
                }
                #[inline(always)]
                fn or(self, other: Self) -> Self {
                    self | other
                }
                #[inline(always)]
                fn masked(self, mask: u32, lane: usize) -> Self {
                    self & (Self::from(mask) >> lane & 1).wrapping_neg()
                }
                #[inline(always)]
                fn has_constant_gap(row: &[Self; HALF], gap: Self) -> bool {
                    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
                    return vectors::$word(row, gap);
                    #[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
                    has_constant_gap_throughout(row, gap)
                }
            }
        )*
    };
}

addresses!(u32, u64);

/// Returns its argument in a way that the optimiser can't see through. Otherwise the compiler would
/// turn the loops below into 16 separate comparisons, which takes longer than everything else here.
#[inline(always)]
fn opaque(word: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut word = word;
        // SAFETY: the assembly is empty.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
        }
        word
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    word
}

/// The stretch of half a warp whose lanes are all active. All adjacent lanes must differ by the
/// same amount.
#[inline(always)]
fn full_stretch<A: Address>(row: &[A; HALF], bytes: u32) -> Option<Stretch> {
    let gap = A::from_wide(opaque(row[1].difference(row[0]).to_wide()));
    // The gap must be 0 or `bytes`, which is a single bit; for two comparisons the compiler would
    // create a jump table.
    debug_assert!(bytes.is_power_of_two());
    if gap.to_wide() & !u64::from(bytes) != 0 {
        return None;
    }
    let uniform = gap.to_wide() == 0;
    if !A::has_constant_gap(row, gap) {
        return None;
    }
    let start = row[0].to_wide();
    let bytes = if uniform { u64::from(bytes) } else { HALF as u64 * u64::from(bytes) };
    (!wraps::<A>(start, bytes)).then_some(Stretch { start, bytes, uniform })
}

#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
#[inline(always)]
fn has_constant_gap_throughout<A: Address>(row: &[A; HALF], gap: A) -> bool {
    // Fifteen differences, four at a time; one is computed twice.
    let mut apart = [A::from_wide(0); 4];
    for start in [0, 4, 8, 11] {
        for (lane, apart) in apart.iter_mut().enumerate() {
            let distance = row[start + lane + 1].difference(row[start + lane]);
            *apart = apart.or(distance.difference(gap));
        }
    }
    let [a, b, c, d] = apart;
    opaque(a.or(b).or(c.or(d)).to_wide()) == 0
}

/// Compares the distances with vector instructions in WebAssembly, where the compiler doesn't
/// vectorise the loop.
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod vectors {
    use std::arch::wasm32::{
        i32x4_add, i64x2_add, u32x4, u32x4_splat, u64x2, u64x2_splat, v128_any_true, v128_load,
        v128_or, v128_xor,
    };

    use super::HALF;

    macro_rules! compare_distances {
        ($word:ident, [$($lane:expr),*], $make:ident, $splat:ident, $add:ident) => {
            #[inline(always)]
            pub(super) fn $word(row: &[$word; HALF], gap: $word) -> bool {
                const LANES: $word = 16 / size_of::<$word>() as $word;
                let further = |lanes: $word| gap.wrapping_mul(lanes);
                let mut expected = $make($(row[0].wrapping_add(further($lane))),*);
                let mut apart = $splat(0);
                for start in (0..HALF).step_by(LANES as usize) {
                    // SAFETY: the load is inside the row.
                    let here = unsafe { v128_load(row.as_ptr().add(start).cast()) };
                    apart = v128_or(apart, v128_xor(here, expected));
                    expected = $add(expected, $splat(further(LANES)));
                }
                !v128_any_true(apart)
            }
        };
    }

    compare_distances!(u32, [0, 1, 2, 3], u32x4, u32x4_splat, i32x4_add);
    compare_distances!(u64, [0, 1], u64x2, u64x2_splat, i64x2_add);
}

/// The stretch of the active lanes of half a warp; at least one lane is active. The first two
/// active lanes determine the expected distance.
#[inline(always)]
fn masked_stretch<A: Address>(row: &[A; HALF], mask: u32, bytes: u32) -> Option<Stretch> {
    let from = mask.trailing_zeros() as usize % HALF;
    let second = (mask & mask.wrapping_sub(1)).trailing_zeros() as usize;
    let first = row[from];
    let uniform = row.get(second).is_none_or(|&second| second == first);
    let mut apart = A::from_wide(0);
    for (lane, &address) in row.iter().enumerate() {
        let beyond = (lane as i64 - from as i64) * i64::from(bytes);
        let expected = first.add_bytes(if uniform { 0 } else { beyond });
        apart = apart.or(address.difference(expected).masked(mask, lane));
    }
    if apart.to_wide() != 0 {
        return None;
    }
    if uniform {
        let (start, bytes) = (first.to_wide(), u64::from(bytes));
        return (!wraps::<A>(start, bytes)).then_some(Stretch { start, bytes, uniform });
    }
    // The address that lane 0 would have.
    let start = first.to_wide().wrapping_sub(from as u64 * u64::from(bytes));
    let bytes = HALF as u64 * u64::from(bytes);
    (!wraps::<A>(start, bytes)).then_some(Stretch { start, bytes, uniform })
}

/// Whether a range wraps around in a 32-bit register; then the addresses are not a stretch.
#[inline(always)]
fn wraps<A: Address>(start: u64, bytes: u64) -> bool {
    size_of::<A>() == 4 && start.checked_add(bytes).is_none_or(|end| end > 1 << 32)
}

#[inline(always)]
fn both_stretches<A: Address, const FULL: bool>(
    row: &[A; LANES],
    mask: u32,
    bytes: u32,
) -> Option<[Stretch; 2]> {
    let (low, high) = (row.first_chunk::<HALF>()?, row.last_chunk::<HALF>()?);
    if FULL {
        return Some([full_stretch(low, bytes)?, full_stretch(high, bytes)?]);
    }
    let (low_mask, high_mask) = (mask & 0xffff, mask >> HALF);
    // An inactive half gets the stretch of the other half.
    let low = if low_mask == 0 { None } else { Some(masked_stretch(low, low_mask, bytes)?) };
    let high = if high_mask == 0 { None } else { Some(masked_stretch(high, high_mask, bytes)?) };
    Some([low.or(high)?, high.or(low)?])
}

/// The stretches of both halves of a warp, for elements of `bytes` bytes. `FULL` if all lanes are
/// active.
#[inline(always)]
pub(super) fn stretches<const FULL: bool>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
) -> Option<[Stretch; 2]> {
    let mut found = match (access.pattern, core.last_pattern) {
        // All lanes were also active at the site, because there is no branch between it and this
        // access.
        (PatternReuse::ReusedFrom(site), Some((of, found))) if site == of => found,
        _ => {
            let found = find_stretches::<FULL>(core, access, mask, bytes);
            if access.pattern == PatternReuse::Computed {
                core.last_pattern =
                    if FULL { found.map(|found| (access.site, found)) } else { None };
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
fn find_stretches<const FULL: bool>(
    core: &Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
) -> Option<[Stretch; 2]> {
    if access.address.width == Width::Wide {
        both_stretches::<u64, FULL>(core.registers.wide(access.address.index), mask, bytes as u32)
    } else {
        both_stretches::<u32, FULL>(core.registers.narrow(access.address.index), mask, bytes as u32)
    }
}

/// The host addresses of both stretches, if both are inside a region and each element is aligned.
#[inline(always)]
pub(super) fn host_addresses_inside(
    region: Region,
    found: &[Stretch; 2],
    bytes: u64,
) -> Option<[*mut u8; 2]> {
    let [low, high] = found;
    let aligned = (low.start | high.start) & (bytes - 1) == 0;
    let hosts = [region.host(low.start, low.bytes)?, region.host(high.start, high.bytes)?];
    aligned.then_some(hosts)
}
