//! How the addresses of half a warp lie: all the same, or one element behind the other, as nearly
//! always. It is found in the register row that holds them, before they are written out: a loop
//! over 16 words of a width that every host's vectors have.
//!
//! Half a warp is a row of the blocks of 16 × 16 threads that are so common.

use super::Access;
use crate::engine::core::{Core, Region};
use crate::engine::registers::{LANES, Width};

/// Lanes of half a warp.
pub(super) const HALF: usize = LANES / 2;

/// The memory that half a warp accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Stretch {
    /// Its first byte.
    pub(in crate::engine) start: u64,
    pub(in crate::engine) bytes: u64,
    /// It is one element, which every lane accesses; else each lane has its own.
    pub(in crate::engine) uniform: bool,
}

/// An address as a register holds it.
trait Address: Copy + PartialEq {
    /// So many bytes further.
    fn further(self, bytes: i64) -> Self;
    /// Zero where both are the same.
    fn apart(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    const ZERO: Self;
    /// Whether the addresses of a stretch that begins there don't wrap around.
    fn holds(start: u64, bytes: u64) -> bool;
    fn wide(self) -> u64;
}

impl Address for u64 {
    const ZERO: Self = 0;
    #[inline(always)]
    fn further(self, bytes: i64) -> Self {
        self.wrapping_add(bytes as Self)
    }
    #[inline(always)]
    fn apart(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn holds(_: u64, _: u64) -> bool {
        true
    }
    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }
}

impl Address for u32 {
    const ZERO: Self = 0;
    #[inline(always)]
    fn further(self, bytes: i64) -> Self {
        self.wrapping_add(bytes as Self)
    }
    #[inline(always)]
    fn apart(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn holds(start: u64, bytes: u64) -> bool {
        start.checked_add(bytes).is_some_and(|end| end <= 1 << 32)
    }
    #[inline(always)]
    fn wide(self) -> u64 {
        u64::from(self)
    }
}

/// The stretch of half a warp, whose lanes are those of a mask.
#[inline(always)]
fn half<A: Address, const FULL: bool>(row: &[A; HALF], mask: u32, bytes: u32) -> Option<Stretch> {
    let from = if FULL { 0 } else { mask.trailing_zeros() % HALF as u32 };
    let first = row[from as usize];
    let takes_part = |lane: usize| FULL || mask & 1 << lane != 0;
    let mut apart = A::ZERO;
    for (lane, &address) in row.iter().enumerate() {
        apart = apart.or(if takes_part(lane) { address.apart(first) } else { A::ZERO });
    }
    if apart == A::ZERO {
        let stretch = Stretch { start: first.wide(), bytes: u64::from(bytes), uniform: true };
        return A::holds(stretch.start, stretch.bytes).then_some(stretch);
    }
    // Where lane 0 would be.
    let start = first.wide().wrapping_sub(u64::from(from * bytes));
    let mut apart = A::ZERO;
    for (lane, &address) in row.iter().enumerate() {
        // So many further than the first, whatever is in front of it.
        let own = address.apart(first.further((lane as i64 - i64::from(from)) * i64::from(bytes)));
        apart = apart.or(if takes_part(lane) { own } else { A::ZERO });
    }
    let stretch = Stretch { start, bytes: HALF as u64 * u64::from(bytes), uniform: false };
    (apart == A::ZERO && A::holds(start, stretch.bytes)).then_some(stretch)
}

#[inline(always)]
fn both<A: Address, const FULL: bool>(
    row: &[A; LANES],
    mask: u32,
    bytes: u32,
) -> Option<[Stretch; 2]> {
    let (low, high) = (row.first_chunk::<HALF>()?, row.last_chunk::<HALF>()?);
    if FULL {
        return Some([half::<A, true>(low, mask, bytes)?, half::<A, true>(high, mask, bytes)?]);
    }
    let (low_mask, high_mask) = (mask & 0xffff, mask >> HALF);
    // A half that does not take part is where the other is.
    let low = if low_mask == 0 { None } else { Some(half::<A, false>(low, low_mask, bytes)?) };
    let high = if high_mask == 0 { None } else { Some(half::<A, false>(high, high_mask, bytes)?) };
    Some([low.or(high)?, high.or(low)?])
}

/// The stretches of both halves of a warp, elements of some bytes; `FULL` where all lanes of the
/// warp take part.
#[inline(always)]
pub(super) fn stretches<const FULL: bool>(
    core: &Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
) -> Option<[Stretch; 2]> {
    let mut found = if access.address.width == Width::Wide {
        both::<u64, FULL>(core.registers.wide(access.address.index), mask, bytes as u32)?
    } else {
        both::<u32, FULL>(core.registers.narrow(access.address.index), mask, bytes as u32)?
    };
    for stretch in &mut found {
        stretch.start = stretch.start.wrapping_add(access.offset);
    }
    Some(found)
}

/// Where the host has both, where both are inside a region and each element is aligned.
#[inline(always)]
pub(super) fn inside(region: Region, found: &[Stretch; 2], bytes: u64) -> Option<[*mut u8; 2]> {
    let [low, high] = found;
    let aligned = (low.start | high.start) & (bytes - 1) == 0;
    let hosts = [region.host(low.start, low.bytes)?, region.host(high.start, high.bytes)?];
    aligned.then_some(hosts)
}
