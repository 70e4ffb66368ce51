//! Which processors and which memory are near a card: all of the host's, since they are the card.

use std::ffi::{c_uint, c_ulong};

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::host;
use crate::session::{self, Handle};

/// `NVML_AFFINITY_SCOPE_NODE` and `…_SOCKET`
const SCOPES: [c_uint; 2] = [0, 1];

/// Writes a set into this many words; those that it hasn't are 0.
///
/// # Safety
/// The place is null, or has as many words.
unsafe fn write(set: &[c_ulong], len: c_uint, to: Out<'_, c_ulong>) -> Result {
    to.required()?;
    if len == 0 {
        return Err(Status::InvalidArgument);
    }
    // SAFETY: the caller's promise: no more than `len` words are taken.
    unsafe { to.set_all(set.iter().copied().chain(std::iter::repeat(0)).take(len as usize)) };
    Ok(())
}

fn check(scope: c_uint) -> Result {
    if SCOPES.contains(&scope) { Ok(()) } else { Err(Status::InvalidArgument) }
}

export! {
    /// The processors near a card, a bit each.
    fn nvmlDeviceGetCpuAffinity(device: Handle, len: c_uint, to: Out<'_, c_ulong>) {
        device.number()?;
        // SAFETY: the caller vouches for as many words.
        unsafe { write(&host::processors()?, len, to) }
    }

    /// The same.
    fn nvmlDeviceGetCpuAffinityWithinScope(
        device: Handle, len: c_uint, to: Out<'_, c_ulong>, scope: c_uint,
    ) {
        device.number()?;
        check(scope)?;
        // SAFETY: the caller vouches for as many words.
        unsafe { write(&host::processors()?, len, to) }
    }

    /// The nodes of memory near a card, a bit each.
    fn nvmlDeviceGetMemoryAffinity(
        device: Handle, len: c_uint, to: Out<'_, c_ulong>, scope: c_uint,
    ) {
        device.number()?;
        check(scope)?;
        // SAFETY: the caller vouches for as many words.
        unsafe { write(&host::nodes()?, len, to) }
    }

    /// Has the calling thread run near the card.
    fn nvmlDeviceSetCpuAffinity(device: Handle) {
        device.number()?;
        host::bind_thread()
    }

    /// Has the calling thread run anywhere.
    fn nvmlDeviceClearCpuAffinity(device: Handle) {
        device.number()?;
        host::bind_thread()
    }

    /// The cards near a processor: all of them, or how many those are where there is no place for any.
    fn nvmlSystemGetTopologyGpuSet(processor: c_uint, count: Out<'_, c_uint>, to: Out<'_, Handle>) {
        let cards = session::count()?;
        // SAFETY: the caller has written a number there.
        let place = unsafe { count.get()? };
        let set = host::processors()?;
        let (word, bit) = (processor / c_ulong::BITS, processor % c_ulong::BITS);
        if set.get(word as usize).is_none_or(|word| word >> bit & 1 == 0) {
            return Err(Status::InvalidArgument);
        }
        if place == 0 {
            return count.set(cards);
        }
        to.required()?;
        let written = place.min(cards);
        // SAFETY: the caller vouches for `place` of them.
        let at = |card: c_uint| unsafe { to.offset(card as usize) };
        (0..written).try_for_each(|card| at(card).set(Handle::of(card)?))?;
        count.set(written)
    }
}
