//! `atom` and `red`. Blocks run on several host threads, so these are host atomics for all state
//! spaces, including shared memory. Lanes take turns, starting from the lowest.

#![allow(unsafe_code, reason = "host atomics are applied to checked device memory")]

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::access::instruction::Access;
use super::core::{Core, Outcome, Problem};
use super::race::{Effect, Races};
use super::registers::{LANES, Slot, lanes};
use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use crate::arithmetic::{self, host};
use crate::fault::FaultKind;
use crate::memory::words::Word;
use crate::program::{Atomic, FloatBinary, FloatMode, IntBinary, Type};

/// `atom` or `red`.
#[derive(Clone, Debug)]
pub(super) struct AtomicAccess {
    pub(super) op: Atomic,
    pub(super) ty: Type,
    /// `values` holds the first operand.
    pub(super) access: Access,
    pub(super) compare_with: Option<Slot>,
    pub(super) d: Option<Slot>,
    /// Whether the operation acquires the writes that other threads have released, and releases the
    /// writes of the thread that executes it.
    pub(super) acquires: bool,
    pub(super) releases: bool,
}

/// The result of an atomic operation (PTX ISA, "Parallel Synchronization and Communication
/// Instructions: atom"). `add.f32` flushes subnormal numbers in global memory, but not in `shared`
/// memory.
fn combine((op, ty): (Atomic, Type), shared: bool, old: u64, b: u64, c: u64) -> u64 {
    let integer = |op| arithmetic::int_binary(op, ty, old, b);
    let float = |op| {
        let mode = FloatMode { flush: ty == Type::F32 && !shared, ..FloatMode::NEAREST };
        arithmetic::float_binary(op, mode, ty, old, b)
    };
    let is_float =
        matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F64);
    match op {
        Atomic::Add if is_float => float(FloatBinary::Add),
        Atomic::Min if is_float => float(FloatBinary::Min { nan: false, xorsign_abs: false }),
        Atomic::Max if is_float => float(FloatBinary::Max { nan: false, xorsign_abs: false }),
        Atomic::Add => integer(IntBinary::Add { saturate: false }),
        Atomic::Min => integer(IntBinary::Min),
        Atomic::Max => integer(IntBinary::Max),
        Atomic::And => old & b,
        Atomic::Or => old | b,
        Atomic::Xor => old ^ b,
        // Counts up to b and restarts at 0; counts down to 0 and restarts at b.
        Atomic::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Atomic::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        Atomic::Exchange => b,
        Atomic::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
    }
}

/// Applies `change` atomically to `bytes` bytes and returns the old value.
///
/// # Safety
/// `at` is readable and writable for `bytes` bytes (2, 4 or 8), and its address is a multiple of
/// `bytes`.
unsafe fn update(at: *mut u8, bytes: u64, mut change: impl FnMut(u64) -> u64) -> u64 {
    macro_rules! cas_loop {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: as the caller promises.
            let atomic = unsafe { <$atomic>::from_ptr(at.cast()) };
            let mut old = atomic.load(Ordering::Relaxed);
            loop {
                let new = change(u64::from(old)) as $word;
                match atomic.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed) {
                    Ok(_) => return u64::from(old),
                    Err(now) => old = now,
                }
            }
        }};
    }
    match bytes {
        2 => cas_loop!(AtomicU16, u16),
        4 => cas_loop!(AtomicU32, u32),
        _ => cas_loop!(AtomicU64, u64),
    }
}

/// Atomically combines a value in global memory with `b`, without returning the old value.
///
/// # Safety
/// `at` is readable and writable for the size of the type (2, 4 or 8 bytes), and its address is a
/// multiple of that size.
pub(super) unsafe fn reduce(at: *mut u8, (op, ty): (Atomic, Type), b: u64) {
    // SAFETY: as the caller promises.
    unsafe { update(at, ty.bytes(), |old| combine((op, ty), false, old, b, 0)) };
}

/// Applies `change` atomically to 16 bytes. Hosts have no such atomics, so one of a set of locks
/// protects each address. Narrower accesses to the same bytes are not atomic with respect to this
/// access; PTX doesn't guarantee that.
///
/// # Safety
/// `at` is readable and writable for 16 bytes, and its address is a multiple of 16.
unsafe fn update_wide(at: *mut u8, change: impl Fn(u128) -> u128) -> u128 {
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let lock = &LOCKS[at as usize / 16 % LOCKS.len()];
    let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as the caller promises.
    unsafe {
        let high = at.wrapping_add(8);
        let old = u128::from(u64::load(at)) | u128::from(u64::load(high)) << 64;
        let new = change(old);
        (new as u64).store(at);
        ((new >> 64) as u64).store(high);
        old
    }
}

/// `atom.exch.b128` and `atom.cas.b128` of one lane.
fn run_wide(core: &mut Core<'_>, atomic: &AtomicAccess, source: Slot, lane: usize, host: *mut u8) {
    let b = core.registers.get_whole(source, lane);
    let c = atomic.compare_with.map(|slot| core.registers.get_whole(slot, lane));
    // SAFETY: the caller has resolved 16 bytes, and their alignment.
    let old = unsafe {
        update_wide(host, |old| match c {
            Some(c) if old == b => c,
            Some(_) => old,
            None => b,
        })
    };
    if let Some(d) = atomic.d {
        core.registers.set_whole(d, lane, old);
    }
}

/// Specialised code for the most common operations and types; `None` for all others, which use
/// [`combine`].
macro_rules! common {
    ($what:expr, $shared:expr, |$change:ident| $then:expr) => {
        match $what {
            (Atomic::Add, Type::F32) if $shared => {
                let $change = |old: u64, b: u64| {
                    let (old, b) = (f32::from_bits(old as u32), f32::from_bits(b as u32));
                    u64::from(host::add_f32(old, b).to_bits())
                };
                Some($then)
            }
            (Atomic::Add, Type::F32) => {
                let $change = |old: u64, b: u64| {
                    let (old, b) = (f32::from_bits(old as u32), f32::from_bits(b as u32));
                    u64::from(host::add_ftz_f32(old, b).to_bits())
                };
                Some($then)
            }
            (Atomic::Add, Type::U32 | Type::S32) => {
                let $change = |old: u64, b: u64| u64::from((old as u32).wrapping_add(b as u32));
                Some($then)
            }
            (Atomic::Add, Type::U64) => {
                let $change = u64::wrapping_add;
                Some($then)
            }
            (Atomic::Exchange, Type::B32 | Type::B64) => {
                let $change = |_: u64, b: u64| b;
                Some($then)
            }
            _ => None,
        }
    };
}

/// Combines the operations of all active lanes on one word, as in sums: one atomic update instead
/// of one per lane. The result is the same as if the lanes ran from lowest to highest without
/// interruption. Returns false if the operations can't be combined.
fn run_combined(
    core: &mut Core<'_>,
    atomic: &AtomicAccess,
    source: Slot,
    mask: u32,
) -> Outcome<bool> {
    let access = &atomic.access;
    let what = (atomic.op, atomic.ty);
    let lowest = mask.trailing_zeros() as usize % LANES;
    let addresses = access.addresses(core);
    let address = addresses[lowest];
    let apart = (0..LANES).fold(0, |apart, lane| {
        apart | (addresses[lane] ^ address) & u64::from(mask >> lane & 1).wrapping_neg()
    });
    let shared = is_shared(access, address);
    if apart != 0 || common!(what, shared, |_change| ()).is_none() {
        return Ok(false);
    }
    let host = core.resolve(access.lane_access(address, access.bytes, lowest), true)?;
    let (b, mut before) = (core.registers.all_lanes(source), [0; LANES]);
    common!(what, shared, |change| {
        // SAFETY: `resolve` has checked the range and its alignment.
        unsafe {
            update(host, access.bytes, |old| {
                let mut now = old;
                for lane in lanes(mask) {
                    before[lane] = now;
                    now = change(now, b[lane]);
                }
                now
            })
        }
    });
    if let Some(d) = atomic.d {
        lanes(mask).for_each(|lane| core.registers.set(d, lane, before[lane]));
    }
    Ok(true)
}

/// Whether an address of an access is in shared memory.
fn is_shared(access: &Access, address: u64) -> bool {
    match access.state_space {
        StateSpace::Generic => in_window(address, SHARED_WINDOW),
        state_space => state_space == StateSpace::Shared,
    }
}

/// Runs an `atom` or `red` for the lanes of a mask.
pub(super) fn run(core: &mut Core<'_>, atomic: &AtomicAccess, mask: u32) -> Outcome {
    let access = &atomic.access;
    let Some(&source) = access.values.first() else { return Ok(()) };
    let (op, ty) = (atomic.op, atomic.ty);
    let watched = core.threads.is_some() || core.initialisation;
    let addressed = !matches!(access.state_space, StateSpace::Local | StateSpace::Param);
    let several = mask & mask.wrapping_sub(1) != 0;
    if addressed && several && !watched && run_combined(core, atomic, source, mask)? {
        return Ok(());
    }
    let races = core.races;
    let _turn = races.map(Races::lock_strong_accesses);
    if core.threads.is_some() && addressed {
        let addresses = access.addresses(core);
        core.race(access, &addresses, mask, (access.bytes, access.semantics), Effect::Update)?;
    }
    for lane in lanes(mask) {
        let address = access.lane_address(core, lane);
        if !addressed {
            return Err(Problem::new(
                FaultKind::InvalidInstruction,
                "an atomic operation takes global, shared or generic addresses",
            )
            .lane(lane)
            .address(address));
        }
        let at = access.lane_access(address, access.bytes, lane);
        let host = core.resolve(at, true)?;
        core.check_written(at, Effect::Update)?;
        core.publish(access, lane, atomic.releases);
        if access.bytes == 16 {
            run_wide(core, atomic, source, lane, host);
            core.observe(access, lane, address, atomic.acquires);
            continue;
        }
        let b = core.registers.get(source, lane);
        let c = atomic.compare_with.map_or(0, |slot| core.registers.get(slot, lane));
        let shared = is_shared(access, address);
        // SAFETY: `resolve` has checked the range and its alignment.
        let old = unsafe {
            common!((op, ty), shared, |change| update(host, access.bytes, |old| change(old, b)))
                .unwrap_or_else(|| {
                    update(host, access.bytes, |old| combine((op, ty), shared, old, b, c))
                })
        };
        core.observe(access, lane, address, atomic.acquires);
        if let Some(d) = atomic.d {
            core.registers.set(d, lane, old);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_operations_equal_the_general_ones() {
        let words = [
            0,
            1,
            0x8000_0000,
            0x8000_0001,
            0x007f_ffff,
            0x0080_0000,
            0x3f80_0000,
            0xbf80_0001,
            0x7f7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7fa0_0001,
            0xffff_ffff,
        ];
        let mut compared = 0;
        for op in [Atomic::Add, Atomic::Exchange, Atomic::Min, Atomic::And] {
            for ty in [Type::F32, Type::U32, Type::S32, Type::U64, Type::B32, Type::B64, Type::F64]
            {
                for shared in [false, true] {
                    for (old, b) in words.iter().flat_map(|&a| words.map(|b| (a, b))) {
                        let Some(found) = common!((op, ty), shared, |change| change(old, b)) else {
                            continue;
                        };
                        let general = combine((op, ty), shared, old, b, 0);
                        assert_eq!(found, general, "{op:?} {ty:?} {shared} {old:x} {b:x}");
                        compared += 1;
                    }
                }
            }
        }
        assert_eq!(compared, 14 * 14 * 2 * 6);
    }
}
