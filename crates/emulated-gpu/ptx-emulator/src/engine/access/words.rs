//! The common accesses: one or several words for each lane, of 32 or 64 bits.

#![allow(
    unsafe_code,
    reason = "device memory is read and written here, through pointers that have been checked"
)]

use super::super::core::{Core, Outcome, Problem};
use super::super::registers::{LANES, lanes};
use super::{Access, Word};

const HALF: usize = LANES / 2;

/// Where the host has `bytes` bytes (a power of two) for each lane of a mask, all checked; for the
/// other lanes where it has those of the first.
#[inline(always)]
fn locate(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
    write: bool,
) -> Result<[u64; LANES], Box<Problem>> {
    let mut addresses = access.addresses(core);
    if mask != u32::MAX {
        let first = addresses[mask.trailing_zeros() as usize % LANES];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if mask & 1 << lane != 0 { *address } else { first };
        }
    }
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
        return locate_each(core, access, &addresses, mask, bytes, write);
    }
    Ok(hosts)
}

/// The same, kept out of the way of the patterns that need no such look at each lane.
#[inline(never)]
fn locate_apart(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
    bytes: u64,
    write: bool,
) -> Result<[u64; LANES], Box<Problem>> {
    locate(core, access, mask, bytes, write)
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

/// How the addresses of a half warp lie.
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

#[inline(always)]
fn half(addresses: &[u64; LANES], which: usize) -> [u64; HALF] {
    let mut out = [0; HALF];
    out.copy_from_slice(&addresses[which * HALF..(which + 1) * HALF]);
    out
}

#[inline(always)]
pub(super) fn load_words<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let mut out = [T::default(); LANES];
    let region = access.region(core);
    for which in 0..2 {
        let active = mask >> (which * HALF) & 0xffff;
        if active == 0 {
            continue;
        }
        let target = &mut out[which * HALF..(which + 1) * HALF];
        if active == 0xffff && !access.strong {
            let own = half(&addresses, which);
            let pattern = pattern::<T>(&own);
            let len = if pattern == Pattern::Uniform { T::BYTES } else { T::BYTES * HALF as u64 };
            if pattern != Pattern::Scattered
                && own[0].is_multiple_of(T::BYTES)
                && let Some(host) = region.host(own[0], len)
            {
                if pattern == Pattern::Uniform {
                    // SAFETY: inside the region, and aligned.
                    target.fill(unsafe { T::load(host) });
                } else {
                    // SAFETY: 16 words inside the region; `target` is 16 words of our own. If
                    // another thread writes them meanwhile, that is a race of the kernel's, and it
                    // reads old or new words.
                    unsafe {
                        std::ptr::copy_nonoverlapping(host.cast::<T>(), target.as_mut_ptr(), HALF);
                    }
                }
                continue;
            }
        }
        let hosts = locate_apart(core, access, active << (which * HALF), T::BYTES, false)?;
        for (to, host) in target.iter_mut().zip(half(&hosts, which)) {
            // SAFETY: checked, and aligned.
            *to = unsafe { T::load(host as *mut u8) };
        }
    }
    T::write(&mut core.registers, access.values[0].index, &out, mask);
    Ok(())
}

#[inline(always)]
pub(super) fn store_words<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let region = access.region_to_write(core);
    for which in 0..2 {
        let active = mask >> (which * HALF) & 0xffff;
        if active == 0 {
            continue;
        }
        if active == 0xffff && !access.strong {
            let own = half(&addresses, which);
            if pattern::<T>(&own) == Pattern::Contiguous
                && own[0].is_multiple_of(T::BYTES)
                && let Some(host) = region.host(own[0], T::BYTES * HALF as u64)
            {
                let values = T::row(&core.registers, access.values[0].index);
                let source = &values[which * HALF..(which + 1) * HALF];
                // SAFETY: 16 words inside the region; `source` is 16 words of our own.
                unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), host.cast::<T>(), HALF) };
                continue;
            }
        }
        let mask = active << (which * HALF);
        let hosts = locate_apart(core, access, mask, T::BYTES, true)?;
        let values = T::row(&core.registers, access.values[0].index);
        for lane in lanes(mask) {
            // SAFETY: checked, and aligned.
            unsafe { values[lane].store(hosts[lane] as *mut u8) };
        }
    }
    Ok(())
}

#[inline(always)]
pub(super) fn load_vectors<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let hosts = locate(core, access, mask, access.total(), false)?;
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
    let hosts = locate(core, access, mask, access.total(), true)?;
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
