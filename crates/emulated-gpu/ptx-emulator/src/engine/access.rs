//! Loads and stores. A half warp whose addresses are all the same, or are consecutive words, is
//! served by one check and one copy; every other lane is checked and served by itself.

#![allow(
    unsafe_code,
    reason = "device memory is read and written here, through pointers that have been checked"
)]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::code::Transfer;
use super::core::{Core, Outcome, Region};
use super::initialised::Resolved;
use super::race::Manner;
use super::registers::{LANES, Slot, Width, lanes};
use super::space::Room;
use super::vector::Lane;
use crate::emulator::Checks;

/// An access to memory.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) room: Room,
    /// The register, or constant, that holds the address.
    pub(super) address: Slot,
    /// Added to it.
    pub(super) offset: u64,
    /// Bytes of one element.
    pub(super) bytes: u64,
    /// Destinations or sources, one for each element.
    pub(super) values: Vec<Slot>,
    /// Elements are sign-extended to their destination.
    pub(super) signed: bool,
    /// Its place in [`Core::sites`].
    pub(super) site: u32,
    /// A fence follows a load that acquires, and precedes a store that releases.
    pub(super) fence: bool,
    /// Every lane on its own, as volatile and atomic accesses are.
    pub(super) strong: bool,
    /// How it takes part in the memory model.
    pub(super) manner: Manner,
    /// Nobody writes there while a kernel runs.
    pub(super) constant: bool,
}

impl Access {
    /// Bytes of all elements.
    pub(super) fn total(&self) -> u64 {
        self.bytes * self.values.len() as u64
    }

    /// The address of one lane.
    pub(super) fn of_lane(&self, core: &Core<'_>, lane: usize) -> u64 {
        core.registers.get(self.address, lane).wrapping_add(self.offset)
    }

    #[inline(always)]
    pub(super) fn addresses(&self, core: &Core<'_>) -> [u64; LANES] {
        let mut out = [0; LANES];
        if self.address.width == Width::Wide {
            let row = core.registers.wide(self.address.index);
            for lane in 0..LANES {
                out[lane] = row[lane].wrapping_add(self.offset);
            }
        } else {
            let row = core.registers.narrow(self.address.index);
            for lane in 0..LANES {
                out[lane] = u64::from(row[lane]).wrapping_add(self.offset);
            }
        }
        out
    }

    #[inline(always)]
    fn region(&self, core: &mut Core<'_>) -> Region {
        match self.room {
            Room::Global | Room::Generic => core.sites[self.site as usize].region,
            Room::Shared => core.shared_region(0),
            Room::Param => core.parameter_region(0),
            Room::Local => Region::NONE,
        }
    }
}

impl Access {
    /// The same for a store: nobody writes to the launch's parameters.
    #[inline(always)]
    fn region_to_write(&self, core: &mut Core<'_>) -> Region {
        if self.room == Room::Param { Region::NONE } else { self.region(core) }
    }
}

/// A word that memory holds. Other host threads may access it at the same time, so that single
/// words go through the host's atomics.
pub(super) trait Word: Lane {
    const BYTES: u64;
    /// # Safety
    /// `at` is readable for `BYTES` bytes and aligned to them.
    unsafe fn load(at: *mut u8) -> Self;
    /// # Safety
    /// `at` is writable for `BYTES` bytes and aligned to them.
    unsafe fn store(self, at: *mut u8);
}

impl Word for u32 {
    const BYTES: u64 = 4;
    #[inline(always)]
    unsafe fn load(at: *mut u8) -> Self {
        // SAFETY: as the trait asks.
        unsafe { AtomicU32::from_ptr(at.cast()) }.load(Ordering::Relaxed)
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: as the trait asks.
        unsafe { AtomicU32::from_ptr(at.cast()) }.store(self, Ordering::Relaxed);
    }
}

impl Word for u64 {
    const BYTES: u64 = 8;
    #[inline(always)]
    unsafe fn load(at: *mut u8) -> Self {
        // SAFETY: as the trait asks.
        unsafe { AtomicU64::from_ptr(at.cast()) }.load(Ordering::Relaxed)
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: as the trait asks.
        unsafe { AtomicU64::from_ptr(at.cast()) }.store(self, Ordering::Relaxed);
    }
}

/// How the addresses of a half warp lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Uniform,
    Contiguous,
    Scattered,
}

const HALF: usize = LANES / 2;

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
fn load_words<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let to = access.values[0].index;
    let mut out = *T::row(&core.registers, to);
    let mut region = access.region(core);
    for which in 0..2 {
        let active = mask >> (which * HALF) & 0xffff;
        if active == 0xffff && !access.strong {
            let own = half(&addresses, which);
            let pattern = pattern::<T>(&own);
            let len = if pattern == Pattern::Uniform { T::BYTES } else { T::BYTES * HALF as u64 };
            if pattern != Pattern::Scattered
                && own[0].is_multiple_of(T::BYTES)
                && let Some(host) = region.host(own[0], len)
            {
                let target = &mut out[which * HALF..(which + 1) * HALF];
                if pattern == Pattern::Uniform {
                    // SAFETY: inside the region, and aligned.
                    target.fill(unsafe { T::load(host) });
                } else {
                    // SAFETY: 16 words inside the region; `target` is 16 words of our own.
                    unsafe {
                        std::ptr::copy_nonoverlapping(host.cast::<T>(), target.as_mut_ptr(), HALF);
                    }
                }
                continue;
            }
        }
        for lane in lanes(active << (which * HALF)) {
            let address = addresses[lane];
            let host = match region.host(address, T::BYTES) {
                Some(host) if address.is_multiple_of(T::BYTES) => host,
                _ => {
                    let host =
                        core.resolve(access.room, access.site, address, T::BYTES, lane, false)?;
                    region = access.region(core);
                    host
                }
            };
            // SAFETY: inside a region, and aligned.
            out[lane] = unsafe { T::load(host) };
        }
    }
    T::write(&mut core.registers, to, &out, u32::MAX);
    Ok(())
}

#[inline(always)]
fn store_words<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let values = *T::row(&core.registers, access.values[0].index);
    let mut region = access.region_to_write(core);
    for which in 0..2 {
        let active = mask >> (which * HALF) & 0xffff;
        if active == 0xffff && !access.strong {
            let own = half(&addresses, which);
            if pattern::<T>(&own) == Pattern::Contiguous
                && own[0].is_multiple_of(T::BYTES)
                && let Some(host) = region.host(own[0], T::BYTES * HALF as u64)
            {
                let source = &values[which * HALF..(which + 1) * HALF];
                // SAFETY: 16 words inside the region; `source` is 16 words of our own.
                unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), host.cast::<T>(), HALF) };
                continue;
            }
        }
        for lane in lanes(active << (which * HALF)) {
            let address = addresses[lane];
            let host = match region.host(address, T::BYTES) {
                Some(host) if address.is_multiple_of(T::BYTES) => host,
                _ => {
                    let host =
                        core.resolve(access.room, access.site, address, T::BYTES, lane, true)?;
                    region = access.region_to_write(core);
                    host
                }
            };
            // SAFETY: inside a region, and aligned.
            unsafe { values[lane].store(host) };
        }
    }
    Ok(())
}

/// Loads of several words for each lane. A lane whose words are not all in the region that the
/// last one was in, and aligned, is served by the general way.
#[inline(always)]
fn load_vectors<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let total = access.total();
    let mut hosts = [std::ptr::null_mut(); LANES];
    let mut region = access.region(core);
    for lane in lanes(mask) {
        let address = addresses[lane];
        hosts[lane] = match region.host(address, total) {
            Some(host) if address & (total - 1) == 0 => host,
            _ => {
                let host = core.resolve(access.room, access.site, address, total, lane, false)?;
                region = access.region(core);
                host
            }
        };
    }
    for (index, to) in access.values.iter().enumerate() {
        let mut out = *T::row(&core.registers, to.index);
        for lane in lanes(mask) {
            // SAFETY: all words of the lane are inside a region, and aligned.
            out[lane] = unsafe { T::load(hosts[lane].add(index * T::BYTES as usize)) };
        }
        T::write(&mut core.registers, to.index, &out, u32::MAX);
    }
    Ok(())
}

/// As [`load_vectors`].
#[inline(always)]
fn store_vectors<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    let total = access.total();
    let mut hosts = [std::ptr::null_mut(); LANES];
    let mut region = access.region_to_write(core);
    for lane in lanes(mask) {
        let address = addresses[lane];
        hosts[lane] = match region.host(address, total) {
            Some(host) if address & (total - 1) == 0 => host,
            _ => {
                let host = core.resolve(access.room, access.site, address, total, lane, true)?;
                region = access.region_to_write(core);
                host
            }
        };
    }
    for (index, from) in access.values.iter().enumerate() {
        let row = *T::row(&core.registers, from.index);
        for lane in lanes(mask) {
            // SAFETY: all words of the lane are inside a region, and aligned.
            unsafe { row[lane].store(hosts[lane].add(index * T::BYTES as usize)) };
        }
    }
    Ok(())
}

/// Reads up to 8 bytes.
///
/// # Safety
/// `at` is readable for `bytes` bytes and aligned to them.
pub(super) unsafe fn read_bits(at: *mut u8, bytes: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            1 => u64::from(AtomicU8::from_ptr(at).load(Ordering::Relaxed)),
            2 => u64::from(AtomicU16::from_ptr(at.cast()).load(Ordering::Relaxed)),
            4 => u64::from(u32::load(at)),
            _ => u64::load(at),
        }
    }
}

/// Writes up to 8 bytes.
///
/// # Safety
/// `at` is writable for `bytes` bytes and aligned to them.
pub(super) unsafe fn write_bits(at: *mut u8, bytes: u64, value: u64) {
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(at).store(value as u8, Ordering::Relaxed),
            2 => AtomicU16::from_ptr(at.cast()).store(value as u16, Ordering::Relaxed),
            4 => (value as u32).store(at),
            _ => value.store(at),
        }
    }
}

/// Any load: every width, sign, and vector.
fn load_any(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let address = access.of_lane(core, lane);
        let host = core.resolve(access.room, access.site, address, access.total(), lane, false)?;
        for (index, &to) in access.values.iter().enumerate() {
            let at = host.wrapping_add(index * access.bytes as usize);
            if access.bytes == 16 {
                let (low, high) = to.halves();
                // SAFETY: `resolve` has checked all elements, and their alignment.
                let (a, b) = unsafe { (u64::load(at), u64::load(at.wrapping_add(8))) };
                core.registers.set(low, lane, a);
                core.registers.set(high, lane, b);
                continue;
            }
            // SAFETY: `resolve` has checked all elements, and their alignment.
            let bits = unsafe { read_bits(at, access.bytes) };
            let unused = 64 - 8 * access.bytes as u32;
            let value =
                if access.signed { ((bits << unused) as i64 >> unused) as u64 } else { bits };
            core.registers.set(to, lane, value);
        }
    }
    if access.fence {
        std::sync::atomic::fence(Ordering::Acquire);
    }
    Ok(())
}

fn require_all_written(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let (room, site, bytes) = (access.room, access.site, access.total());
        let address = access.of_lane(core, lane);
        core.resolve(room, site, address, bytes, lane, false)?;
        core.require_written(Resolved { room, site, address, bytes, lane })?;
    }
    Ok(())
}

/// A load that has to find what something has written.
fn load_checked(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    require_all_written(core, access, mask)?;
    load_any(core, access, mask)
}

fn mark_all_written(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let (room, site, bytes) = (access.room, access.site, access.total());
        let address = access.of_lane(core, lane);
        core.resolve(room, site, address, bytes, lane, true)?;
        core.mark_written(Resolved { room, site, address, bytes, lane });
    }
    Ok(())
}

/// A store that is remembered.
fn store_checked(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    mark_all_written(core, access, mask)?;
    store_any(core, access, mask)
}

/// Any store.
fn store_any(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    if access.fence {
        std::sync::atomic::fence(Ordering::Release);
    }
    for lane in lanes(mask) {
        let address = access.of_lane(core, lane);
        let host = core.resolve(access.room, access.site, address, access.total(), lane, true)?;
        for (index, &from) in access.values.iter().enumerate() {
            let at = host.wrapping_add(index * access.bytes as usize);
            if access.bytes == 16 {
                let (low, high) = from.halves();
                let (a, b) = (core.registers.get(low, lane), core.registers.get(high, lane));
                // SAFETY: `resolve` has checked all elements, and their alignment.
                unsafe {
                    a.store(at);
                    b.store(at.wrapping_add(8));
                }
                continue;
            }
            let value = core.registers.get(from, lane);
            // SAFETY: `resolve` has checked all elements, and their alignment.
            unsafe { write_bits(at, access.bytes, value) };
        }
    }
    Ok(())
}

/// A load that is remembered, to find races.
fn load_raced(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    core.race(access, &addresses, mask, (access.total(), access.manner), false)?;
    if !access.manner.strong {
        return load_any(core, access, mask);
    }
    load_any(core, access, mask)?;
    lanes(mask).for_each(|lane| core.look(access, lane, addresses[lane], access.fence));
    Ok(())
}

/// A store that is remembered, to find races.
fn store_raced(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    core.race(access, &addresses, mask, (access.total(), access.manner), true)?;
    if access.manner.strong {
        lanes(mask).for_each(|lane| core.publish(access, lane, access.fence));
    }
    store_any(core, access, mask)
}

#[inline(always)]
fn load_words_raced<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    if !core.quiet(access, &addresses, mask) {
        core.race(access, &addresses, mask, (T::BYTES, access.manner), false)?;
    }
    load_words::<T>(core, access, mask)
}

#[inline(always)]
fn store_words_raced<T: Word>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    let addresses = access.addresses(core);
    core.race(access, &addresses, mask, (T::BYTES, access.manner), true)?;
    store_words::<T>(core, access, mask)
}

/// All that is asked of a load.
fn load_watched(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    require_all_written(core, access, mask)?;
    load_raced(core, access, mask)
}

/// All that is asked of a store.
fn store_watched(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    mark_all_written(core, access, mask)?;
    store_raced(core, access, mask)
}

macro_rules! twins {
    ($($portable:ident, $avx2:ident = $function:ident::<$word:ty>;)*) => {
        $(
            fn $portable(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
                $function::<$word>(core, access, mask)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn $avx2(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
                $function::<$word>(core, access, mask)
            }
        )*
    };
}

twins! {
    load_u32, load_u32_avx2 = load_words::<u32>;
    load_u64, load_u64_avx2 = load_words::<u64>;
    store_u32, store_u32_avx2 = store_words::<u32>;
    store_u64, store_u64_avx2 = store_words::<u64>;
    load_vectors_u32, load_vectors_u32_avx2 = load_vectors::<u32>;
    load_vectors_u64, load_vectors_u64_avx2 = load_vectors::<u64>;
    store_vectors_u32, store_vectors_u32_avx2 = store_vectors::<u32>;
    store_vectors_u64, store_vectors_u64_avx2 = store_vectors::<u64>;
    load_raced_u32, load_raced_u32_avx2 = load_words_raced::<u32>;
    load_raced_u64, load_raced_u64_avx2 = load_words_raced::<u64>;
    store_raced_u32, store_raced_u32_avx2 = store_words_raced::<u32>;
    store_raced_u64, store_raced_u64_avx2 = store_words_raced::<u64>;
}

/// What the lowering has to know beside the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// It has AVX2 and FMA.
    pub(super) fast: bool,
    /// What is to be found beside faults.
    pub(super) checks: Checks,
}

/// The function that does an access, for this host.
pub(super) fn transfer(access: &Access, store: bool, host: Host) -> Transfer {
    let fast = host.fast;
    let own = matches!(access.room, Room::Local | Room::Param) || access.constant;
    let races = host.checks.races && !own;
    if host.checks.initialisation {
        return match (store, races) {
            (true, true) => store_watched,
            (true, false) => store_checked,
            (false, true) => load_watched,
            (false, false) => load_checked,
        };
    }
    let plain = access.values.len() == 1 && !access.fence && access.room != Room::Local;
    let width = access.values.first().map(|slot| slot.width);
    macro_rules! choose {
        ($portable:ident, $avx2:ident) => {{
            #[cfg(target_arch = "x86_64")]
            if fast {
                return $avx2;
            }
            let _ = fast;
            $portable
        }};
    }
    if races {
        let plain = plain && !access.manner.strong;
        return match (plain, width, access.bytes, store) {
            (true, Some(Width::Narrow(32)), 4, false) => {
                choose!(load_raced_u32, load_raced_u32_avx2)
            }
            (true, Some(Width::Narrow(32)), 4, true) => {
                choose!(store_raced_u32, store_raced_u32_avx2)
            }
            (true, Some(Width::Wide), 8, false) => choose!(load_raced_u64, load_raced_u64_avx2),
            (true, Some(Width::Wide), 8, true) => choose!(store_raced_u64, store_raced_u64_avx2),
            (_, _, _, false) => load_raced,
            (_, _, _, true) => store_raced,
        };
    }
    let fixed = |width| access.values.iter().all(|slot| slot.width == width);
    let several = access.values.len() > 1 && !access.fence && access.room != Room::Local;
    let vector = match access.bytes {
        4 if several && fixed(Width::Narrow(32)) => Some(Width::Narrow(32)),
        8 if several && fixed(Width::Wide) => Some(Width::Wide),
        _ => None,
    };
    match (plain, width, access.bytes, store) {
        (true, Some(Width::Narrow(32)), 4, false) => choose!(load_u32, load_u32_avx2),
        (true, Some(Width::Narrow(32)), 4, true) => choose!(store_u32, store_u32_avx2),
        (true, Some(Width::Wide), 8, false) => choose!(load_u64, load_u64_avx2),
        (true, Some(Width::Wide), 8, true) => choose!(store_u64, store_u64_avx2),
        _ => match (vector, store) {
            (Some(Width::Narrow(_)), false) => choose!(load_vectors_u32, load_vectors_u32_avx2),
            (Some(Width::Narrow(_)), true) => choose!(store_vectors_u32, store_vectors_u32_avx2),
            (Some(_), false) => choose!(load_vectors_u64, load_vectors_u64_avx2),
            (Some(_), true) => choose!(store_vectors_u64, store_vectors_u64_avx2),
            (None, false) => load_any,
            (None, true) => store_any,
        },
    }
}
