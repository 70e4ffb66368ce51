//! The common accesses: one or several words for each lane, of 32 or 64 bits.

#![allow(
    unsafe_code,
    reason = "device memory is read and written here, through pointers that have been checked"
)]

use super::super::core::{Core, Outcome, Problem, Region};
use super::super::registers::{LANES, lanes};
use super::{Access, Word};

const HALF: usize = LANES / 2;

/// The addresses of the lanes of a mask, and for the other lanes that of the first of them.
#[inline(always)]
fn addresses(core: &Core<'_>, access: &Access, mask: u32) -> [u64; LANES] {
    let mut addresses = access.addresses(core);
    if mask != u32::MAX {
        let first = addresses[mask.trailing_zeros() as usize % LANES];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if mask & 1 << lane != 0 { *address } else { first };
        }
    }
    addresses
}

/// Where the host has `bytes` bytes (a power of two) at each address, all checked.
#[inline(always)]
fn locate(
    core: &mut Core<'_>,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
    write: bool,
) -> Result<[u64; LANES], Box<Problem>> {
    let region = if write { access.region_to_write(core) } else { access.region(core) };
    let host = (region.host as u64).wrapping_sub(region.base);
    let room = region.len.wrapping_sub(bytes);
    let (mut outside, mut low) = (bytes > region.len, 0);
    let mut hosts = [0; LANES];
    for lane in 0..LANES {
        outside |= addresses[lane].wrapping_sub(region.base) > room;
        low |= addresses[lane];
        hosts[lane] = addresses[lane].wrapping_add(host);
    }
    if outside || low & (bytes - 1) != 0 {
        return locate_each(core, access, addresses, mask, bytes, write);
    }
    Ok(hosts)
}

/// The same, where not all of them are where the last access of this site was.
#[cold]
fn locate_each(
    core: &mut Core<'_>,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
    write: bool,
) -> Result<[u64; LANES], Box<Problem>> {
    let mut hosts = [0; LANES];
    for lane in lanes(mask) {
        let host = core.resolve(access.room, access.site, addresses[lane], bytes, lane, write)?;
        hosts[lane] = host as u64;
    }
    let first = hosts[mask.trailing_zeros() as usize % LANES];
    for (lane, host) in hosts.iter_mut().enumerate() {
        *host = if mask & 1 << lane != 0 { *host } else { first };
    }
    Ok(hosts)
}

/// How some neighbouring lanes' addresses lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All the same.
    Uniform,
    /// One word after the other.
    Contiguous,
    Scattered,
}

#[inline(always)]
fn pattern<T: Word>(addresses: &[u64; HALF]) -> Pattern {
    let first = addresses[0];
    let (mut apart, mut gaps) = (0, 0);
    for (lane, address) in addresses.iter().enumerate() {
        let distance = address.wrapping_sub(first);
        apart |= distance;
        gaps |= distance ^ (lane as u64 * T::BYTES);
    }
    match (apart, gaps) {
        (0, _) => Pattern::Uniform,
        (_, 0) => Pattern::Contiguous,
        _ => Pattern::Scattered,
    }
}

/// The same of the lanes of a mask, from the first of them, `from`.
#[inline(always)]
fn pattern_of<T: Word>(addresses: &[u64; LANES], mask: u32, from: usize) -> Pattern {
    let first = addresses[from];
    let (mut apart, mut gaps) = (0, 0);
    for (lane, address) in addresses.iter().enumerate() {
        let distance = address.wrapping_sub(first);
        let wanted = (lane as u64).wrapping_sub(from as u64).wrapping_mul(T::BYTES);
        apart |= distance;
        gaps |= if mask & 1 << lane != 0 { distance ^ wanted } else { 0 };
    }
    match (apart, gaps) {
        (0, _) => Pattern::Uniform,
        (_, 0) => Pattern::Contiguous,
        _ => Pattern::Scattered,
    }
}

#[inline(always)]
fn half(addresses: &[u64; LANES], which: usize) -> [u64; HALF] {
    let mut out = [0; HALF];
    out.copy_from_slice(&addresses[which * HALF..(which + 1) * HALF]);
    out
}

/// Reads a stretch of memory in which the words lie as `pattern` says; false where it is not for
/// this function to do.
#[inline(always)]
fn read_pattern<T: Word>(region: Region, pattern: Pattern, first: u64, to: &mut [T]) -> bool {
    let words = if pattern == Pattern::Uniform { 1 } else { to.len() as u64 };
    if pattern == Pattern::Scattered || !first.is_multiple_of(T::BYTES) {
        return false;
    }
    let Some(host) = region.host(first, T::BYTES * words) else {
        return false;
    };
    if pattern == Pattern::Uniform {
        // SAFETY: inside the region, and aligned.
        to.fill(unsafe { T::load(host) });
    } else {
        // SAFETY: as many words inside the region; `to` is our own. If another thread writes them
        // meanwhile, that is a race of the kernel's, and it reads old or new words.
        unsafe { std::ptr::copy_nonoverlapping(host.cast::<T>(), to.as_mut_ptr(), to.len()) };
    }
    true
}

#[inline(always)]
pub(super) fn load_words<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = addresses(core, access, mask);
    let mut out = [T::default(); LANES];
    let region = access.region(core);
    let done = if access.strong {
        false
    } else if mask == u32::MAX {
        // Half a warp is a row of the blocks of 16 × 16 threads that are so common.
        let (low, high) = out.split_at_mut(HALF);
        let (first, second) = (half(&addresses, 0), half(&addresses, 1));
        read_pattern(region, pattern::<T>(&first), first[0], low)
            && read_pattern(region, pattern::<T>(&second), second[0], high)
    } else {
        let from = mask.trailing_zeros() as usize % LANES;
        let to = LANES - mask.leading_zeros() as usize % LANES;
        let pattern = pattern_of::<T>(&addresses, mask, from);
        read_pattern(region, pattern, addresses[from], &mut out[from..to])
    };
    if !done {
        let hosts = locate(core, access, &addresses, mask, T::BYTES, false)?;
        for (to, host) in out.iter_mut().zip(hosts) {
            // SAFETY: checked, and aligned.
            *to = unsafe { T::load(host as *mut u8) };
        }
    }
    T::write(&mut core.registers, access.values[0].index, &out, mask);
    Ok(())
}

#[inline(always)]
pub(super) fn store_words<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = addresses(core, access, mask);
    let region = access.region_to_write(core);
    let from = mask.trailing_zeros() as usize % LANES;
    if mask == u32::MAX
        && !access.strong
        && pattern_of::<T>(&addresses, mask, from) == Pattern::Contiguous
        && addresses[0].is_multiple_of(T::BYTES)
        && let Some(host) = region.host(addresses[0], T::BYTES * LANES as u64)
    {
        let values = T::row(&core.registers, access.values[0].index);
        // SAFETY: 32 words inside the region; `values` is 32 words of our own.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), host.cast::<T>(), LANES) };
        return Ok(());
    }
    let hosts = locate(core, access, &addresses, mask, T::BYTES, true)?;
    let values = T::row(&core.registers, access.values[0].index);
    for lane in lanes(mask) {
        // SAFETY: checked, and aligned.
        unsafe { values[lane].store(hosts[lane] as *mut u8) };
    }
    Ok(())
}

#[inline(always)]
pub(super) fn load_vectors<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = addresses(core, access, mask);
    let hosts = locate(core, access, &addresses, mask, access.total(), false)?;
    let uniform = hosts.iter().fold(0, |apart, host| apart | host ^ hosts[0]) == 0;
    for (index, to) in access.values.iter().enumerate() {
        let offset = index as u64 * T::BYTES;
        let mut out = [T::default(); LANES];
        if uniform {
            // SAFETY: all words of each lane have been checked, and are aligned.
            out.fill(unsafe { T::load((hosts[0] + offset) as *mut u8) });
        } else {
            for (to, host) in out.iter_mut().zip(hosts) {
                // SAFETY: as above.
                *to = unsafe { T::load((host + offset) as *mut u8) };
            }
        }
        T::write(&mut core.registers, to.index, &out, mask);
    }
    Ok(())
}

#[inline(always)]
pub(super) fn store_vectors<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = addresses(core, access, mask);
    let hosts = locate(core, access, &addresses, mask, access.total(), true)?;
    for (index, from) in access.values.iter().enumerate() {
        let row = T::row(&core.registers, from.index);
        for lane in lanes(mask) {
            let to = hosts[lane] + index as u64 * T::BYTES;
            // SAFETY: all words of the lane have been checked, and are aligned.
            unsafe { row[lane].store(to as *mut u8) };
        }
    }
    Ok(())
}
