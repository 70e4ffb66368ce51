//! Loads and stores. A half warp whose addresses are all the same, or are consecutive words, is
//! served by one check and one copy; every other lane is checked and served by itself.

#![allow(
    unsafe_code,
    reason = "device memory is read and written here, through pointers that have been checked"
)]

mod watched;
mod words;

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::code::Transfer;
use super::core::{Core, Outcome, Region};
use super::race::Manner;
use super::registers::{LANES, Slot, Width, lanes};
use super::space::Room;
use super::vector::Lane;
use crate::emulator::Checks;
use watched::{
    load_checked, load_raced, load_watched, load_words_raced, store_checked, store_raced,
    store_watched, store_words_raced,
};
use words::{load_vectors, load_words, store_vectors, store_words};

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
    /// A weak load whose value a compare-and-swap of the same address checks.
    pub(super) guess: bool,
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
        let plain = plain && !access.manner.strong && !access.guess;
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
