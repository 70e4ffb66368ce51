//! The common accesses, 1, 2 or 4 elements of 32 or 64 bits per lane: by whole rows if the
//! addresses of each half warp form a [`Stretch`], and lane by lane otherwise.
//!
//! `AVX` if the host has AVX2 and FMA, `FULL` if all lanes of the warp are active.

#![allow(unsafe_code, reason = "accesses device memory through pointers that have been checked")]

use super::choose::Checked;
use super::each::{mark_all_written, require_all_written};
use super::element::Element;
use super::instruction::Access;
use super::pattern::{HALF, host_addresses_inside, stretches};
use crate::engine::core::{Core, Outcome, Stretch};
use crate::engine::race::Effect;
use crate::engine::registers::{LANES, lanes};
use crate::memory::rows::fill_row;
use crate::memory::words::{load_row, store_row};

macro_rules! by_rows {
    ($($name:ident = $stretches:ident, $scattered:ident;)*) => {$(
        #[inline(always)]
        pub(super) fn $name<T: Element, W: Checked, const N: usize, const AVX: bool>(
            core: &mut Core<'_>,
            access: &Access,
            mask: u32,
        ) -> Outcome {
            let done = if mask == u32::MAX {
                $stretches::<T, W, N, AVX, true>(core, access, mask)?
            } else {
                $stretches::<T, W, N, AVX, false>(core, access, mask)?
            };
            if done { Ok(()) } else { $scattered::<T, W, N>(core, access, mask) }
        }
    )*};
}

by_rows! {
    load = load_stretches, load_scattered;
    store = store_stretches, store_scattered;
}

/// Loads both [`Stretch`]es of a warp. Returns false if the access has to be done lane by lane.
#[inline(always)]
fn load_stretches<T: Element, W: Checked, const N: usize, const AVX: bool, const FULL: bool>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome<bool> {
    let bytes = T::BYTES * N as u64;
    let Some(found) = stretches::<FULL>(core, access, mask, bytes) else { return Ok(false) };
    let region = access.region(core, found[0].start);
    let Some(hosts) = host_addresses_inside(region, &found, bytes) else { return Ok(false) };
    if W::INIT && !core.stretches_are_written(access, &found) {
        return Ok(false);
    }
    if W::RACE && !core.can_skip_stretches(access, &found) {
        core.race_by_rows(access, &found, mask, bytes, Effect::Read)?;
    }
    let mut columns = [[[T::default(); N]; HALF]; 2];
    if N > 1 {
        for (which, columns) in columns.iter_mut().enumerate() {
            // SAFETY: `host_addresses_inside` has checked the stretch, and its alignment.
            unsafe { read_elements::<T, N, AVX>(hosts[which], found[which], columns) };
        }
    }
    for (index, to) in access.values.iter().enumerate().take(N) {
        let mut out = [T::default(); LANES];
        let row = if FULL { T::row_mut(&mut core.registers, to.index) } else { &mut out };
        for (which, half) in row.chunks_exact_mut(HALF).enumerate() {
            if N > 1 {
                for (lane, to) in half.iter_mut().enumerate() {
                    *to = columns[which][lane][index];
                }
            } else if found[which].uniform {
                // SAFETY: as above.
                fill_row(half, unsafe { T::load(hosts[which]) });
            } else {
                // SAFETY: as above.
                unsafe { load_row::<T, AVX>(hosts[which], half) };
            }
        }
        if !FULL {
            T::write::<AVX>(&mut core.registers, to.index, &out, mask);
        }
    }
    Ok(true)
}

/// Reads the elements of half a warp.
///
/// # Safety
/// The stretch is readable at `host`, and aligned; `AVX` is only true if the processor has AVX.
#[inline(always)]
unsafe fn read_elements<T: Element, const N: usize, const AVX: bool>(
    host: *const u8,
    stretch: Stretch,
    to: &mut [[T; N]; HALF],
) {
    if !stretch.uniform {
        // SAFETY: as the caller promises.
        return unsafe { load_row::<T, AVX>(host, to.as_flattened_mut()) };
    }
    let mut one = [T::default(); N];
    for (index, to) in one.iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *to = unsafe { T::load(host.add(index * size_of::<T>())) };
    }
    to.fill(one);
}

/// Stores to both [`Stretch`]es of a warp. Returns false if the access has to be done lane by lane.
/// If several lanes write to the same place, the last lane wins, as in an access lane by lane.
#[inline(always)]
fn store_stretches<T: Element, W: Checked, const N: usize, const AVX: bool, const FULL: bool>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome<bool> {
    let bytes = T::BYTES * N as u64;
    let Some(found) = stretches::<FULL>(core, access, mask, bytes) else { return Ok(false) };
    let region = access.region_to_write(core, found[0].start);
    let Some(hosts) = host_addresses_inside(region, &found, bytes) else { return Ok(false) };
    // Inactive lanes write nothing, so only the bytes of active lanes are marked.
    if W::INIT && !FULL {
        mark_all_written(core, access, mask)?;
    }
    if W::INIT && FULL {
        core.mark_stretches_written(access, &found);
    }
    if W::RACE {
        core.race_by_rows(access, &found, mask, bytes, Effect::Write)?;
    }
    for which in 0..2 {
        let own = if FULL { 0xffff } else { mask >> (which * HALF) & 0xffff };
        let last = HALF - 1 - (own << 16).leading_zeros() as usize % HALF;
        let mut columns = [[T::default(); N]; HALF];
        for (index, from) in access.values.iter().enumerate().take(N) {
            let row = T::row(&core.registers, from.index);
            let half = &row[which * HALF..][..HALF];
            if N == 1 && FULL && !found[which].uniform {
                // SAFETY: `host_addresses_inside` has checked the stretch, and its alignment.
                unsafe { store_row::<T, AVX>(hosts[which], half) };
                continue;
            }
            for (column, value) in columns.iter_mut().zip(half) {
                column[index] = *value;
            }
        }
        if N == 1 && FULL && !found[which].uniform {
            continue;
        }
        if FULL && !found[which].uniform {
            // SAFETY: as above.
            unsafe { store_row::<T, AVX>(hosts[which], columns.as_flattened()) };
            continue;
        }
        for lane in lanes(if found[which].uniform { own & 1 << last } else { own }) {
            let at = if found[which].uniform { 0 } else { lane * bytes as usize };
            for (index, value) in columns[lane].iter().enumerate() {
                // SAFETY: as above.
                unsafe { value.store(hosts[which].add(at + index * size_of::<T>())) };
            }
        }
    }
    Ok(true)
}

/// The addresses of the active lanes; inactive lanes get the address of the first active one.
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

/// The host addresses of `bytes` bytes (a power of two) at each address, after checking all of
/// them.
#[inline(always)]
fn locate(
    core: &mut Core<'_>,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
    write: bool,
) -> Outcome<[u64; LANES]> {
    let first = addresses[mask.trailing_zeros() as usize % LANES];
    let region =
        if write { access.region_to_write(core, first) } else { access.region(core, first) };
    let host = (region.host as u64).wrapping_sub(region.base);
    let max_offset = region.len.wrapping_sub(bytes);
    let (mut outside, mut low) = (bytes > region.len, 0);
    let mut hosts = [0; LANES];
    for lane in 0..LANES {
        outside |= addresses[lane].wrapping_sub(region.base) > max_offset;
        low |= addresses[lane];
        hosts[lane] = addresses[lane].wrapping_add(host);
    }
    if outside || low & (bytes - 1) != 0 {
        return locate_each(core, access, addresses, mask, bytes, write);
    }
    Ok(hosts)
}

/// Locates each lane separately, for accesses that are not entirely in the region that this site
/// accessed last.
#[cold]
fn locate_each(
    core: &mut Core<'_>,
    access: &Access,
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
    write: bool,
) -> Outcome<[u64; LANES]> {
    let mut hosts = [0; LANES];
    for lane in lanes(mask) {
        let host = core.resolve(access.lane_access(addresses[lane], bytes, lane), write)?;
        hosts[lane] = host as u64;
    }
    let first = hosts[mask.trailing_zeros() as usize % LANES];
    for (lane, host) in hosts.iter_mut().enumerate() {
        *host = if mask & 1 << lane != 0 { *host } else { first };
    }
    Ok(hosts)
}

/// A load that serves each lane separately.
pub(super) fn load_scattered<T: Element, W: Checked, const N: usize>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome {
    let bytes = T::BYTES * N as u64;
    let addresses = addresses(core, access, mask);
    if W::INIT {
        require_all_written(core, access, mask)?;
    }
    if W::RACE && !core.can_skip_lanes(access, &addresses, mask) {
        core.race(access, &addresses, mask, (bytes, access.semantics), Effect::Read)?;
    }
    let hosts = locate(core, access, &addresses, mask, bytes, false)?;
    for (index, to) in access.values.iter().enumerate().take(N) {
        let mut out = [T::default(); LANES];
        for (to, host) in out.iter_mut().zip(hosts) {
            // SAFETY: all words of each lane have been checked, and are aligned.
            *to = unsafe { T::load((host + index as u64 * T::BYTES) as *const u8) };
        }
        T::write::<false>(&mut core.registers, to.index, &out, mask);
    }
    Ok(())
}

/// A store that serves each lane separately.
pub(super) fn store_scattered<T: Element, W: Checked, const N: usize>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome {
    let bytes = T::BYTES * N as u64;
    let addresses = addresses(core, access, mask);
    if W::INIT {
        mark_all_written(core, access, mask)?;
    }
    if W::RACE {
        core.race(access, &addresses, mask, (bytes, access.semantics), Effect::Write)?;
    }
    let hosts = locate(core, access, &addresses, mask, bytes, true)?;
    for lane in lanes(mask) {
        for (index, from) in access.values.iter().enumerate().take(N) {
            let value = T::row(&core.registers, from.index)[lane];
            // SAFETY: all words of the lane have been checked, and are aligned.
            unsafe { value.store((hosts[lane] + index as u64 * T::BYTES) as *mut u8) };
        }
    }
    Ok(())
}
