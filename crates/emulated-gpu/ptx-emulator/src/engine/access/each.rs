//! Accesses lane by lane, the general case: any width, sign and vector length, local memory, and
//! volatile, atomic, acquire and release accesses.

#![allow(unsafe_code, reason = "accesses device memory through pointers that have been checked")]

use std::sync::atomic::{Ordering, fence};

use super::choose::Checked;
use super::instruction::Access;
use crate::engine::core::{Core, Outcome};
use crate::engine::race::{Effect, Races, Semantics};
use crate::engine::registers::lanes;
use crate::memory::words::{Word, read_bits, write_bits};

/// The general load.
pub(super) fn load(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let address = access.lane_address(core, lane);
        let host = core.resolve(access.lane_access(address, access.total_bytes(), lane), false)?;
        for (index, &to) in access.values.iter().enumerate() {
            let at = host.wrapping_add(index * access.bytes as usize);
            if access.bytes == 16 {
                // SAFETY: `resolve` has checked all elements, and their alignment.
                let (a, b) = unsafe { (u64::load(at), u64::load(at.wrapping_add(8))) };
                core.registers.set_whole(to, lane, u128::from(a) | u128::from(b) << 64);
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
        fence(Ordering::Acquire);
    }
    Ok(())
}

/// The general store.
pub(super) fn store(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    if access.fence {
        fence(Ordering::Release);
    }
    for lane in lanes(mask) {
        let address = access.lane_address(core, lane);
        let host = core.resolve(access.lane_access(address, access.total_bytes(), lane), true)?;
        for (index, &from) in access.values.iter().enumerate() {
            let at = host.wrapping_add(index * access.bytes as usize);
            if access.bytes == 16 {
                let value = core.registers.get_whole(from, lane);
                // SAFETY: `resolve` has checked all elements, and their alignment.
                unsafe {
                    (value as u64).store(at);
                    ((value >> 64) as u64).store(at.wrapping_add(8));
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

/// Reports a problem if a lane reads memory that has not been written.
pub(super) fn require_all_written(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let read = access.lane_access(access.lane_address(core, lane), access.total_bytes(), lane);
        core.resolve(read, false)?;
        if access.passes_on && read.is_local() {
            // The value counts as initialised as soon as any part of it is initialised, because it
            // may pack several registers.
            let known = if core.is_uninitialised(read) { 0 } else { u32::MAX };
            for &to in &access.values {
                core.registers.define(to, 1 << lane, known);
            }
            continue;
        }
        core.require_written(read)?;
    }
    Ok(())
}

/// Marks the memory that the lanes write as initialised.
pub(super) fn mark_all_written(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    for lane in lanes(mask) {
        let written =
            access.lane_access(access.lane_address(core, lane), access.total_bytes(), lane);
        core.resolve(written, true)?;
        core.mark_written(written);
        if access.passes_on {
            for (index, &from) in access.values.iter().enumerate() {
                if core.registers.defined(from) & 1 << lane == 0 {
                    let address = written.address.wrapping_add(index as u64 * access.bytes);
                    core.mark_uninitialised(access.lane_access(address, access.bytes, lane));
                }
            }
        }
    }
    Ok(())
}

/// The general load with initcheck or racecheck.
pub(super) fn load_watched<W: Checked>(core: &mut Core<'_>, access: &Access, mask: u32) -> Outcome {
    if W::INIT {
        require_all_written(core, access, mask)?;
    }
    if !W::RACE {
        return load(core, access, mask);
    }
    let addresses = access.addresses(core);
    if !access.semantics.strong {
        let guess = Semantics { strong: true, wide: true, ..Semantics::default() };
        let semantics = if access.is_guess { guess } else { access.semantics };
        core.race(access, &addresses, mask, (access.total_bytes(), semantics), Effect::Read)?;
        return load(core, access, mask);
    }
    let _turn = core.races.map(Races::lock_strong_accesses);
    core.race(access, &addresses, mask, (access.total_bytes(), access.semantics), Effect::Read)?;
    load(core, access, mask)?;
    lanes(mask).for_each(|lane| core.observe(access, lane, addresses[lane], access.fence));
    Ok(())
}

/// The general store with initcheck or racecheck.
pub(super) fn store_watched<W: Checked>(
    core: &mut Core<'_>,
    access: &Access,
    mask: u32,
) -> Outcome {
    if W::INIT {
        mark_all_written(core, access, mask)?;
    }
    if !W::RACE {
        return store(core, access, mask);
    }
    let addresses = access.addresses(core);
    let _turn = core.races.filter(|_| access.semantics.strong).map(Races::lock_strong_accesses);
    core.race(access, &addresses, mask, (access.total_bytes(), access.semantics), Effect::Write)?;
    if access.semantics.strong {
        lanes(mask).for_each(|lane| core.publish(access, lane, access.fence));
    }
    store(core, access, mask)
}
