//! Affinity of cards to processors and memory nodes. Each card is near all of them, because the host executes the
//! card's work.

use std::ffi::{c_uint, c_ulong};

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::host;
use crate::session::{self, Handle};

/// `NVML_AFFINITY_SCOPE_NODE` and `…_SOCKET`
const SCOPES: [c_uint; 2] = [0, 1];

/// Writes a bitmask to `len` words, padded with zeros.
///
/// # Safety
/// The pointer must be null or writable for `len` words.
unsafe fn write(set: &[c_ulong], len: c_uint, to: Out<'_, c_ulong>) -> Result {
    to.required()?;
    if len == 0 {
        return Err(Status::InvalidArgument);
    }
    to.set_all(set.iter().copied().chain(std::iter::repeat(0)).take(len as usize));
    Ok(())
}

fn check(scope: c_uint) -> Result {
    if SCOPES.contains(&scope) { Ok(()) } else { Err(Status::InvalidArgument) }
}

export! {
    /// Returns a bitmask of the processors near a card.
    fn nvmlDeviceGetCpuAffinity(device: Handle, len: c_uint, to: Out<'_, c_ulong>) {
        device.number()?;
        write(&host::processors()?, len, to)
    }

    /// Returns a bitmask of the processors near a card, for a given scope.
    fn nvmlDeviceGetCpuAffinityWithinScope(
        device: Handle, len: c_uint, to: Out<'_, c_ulong>, scope: c_uint,
    ) {
        device.number()?;
        check(scope)?;
        write(&host::processors()?, len, to)
    }

    /// Returns a bitmask of the memory nodes near a card.
    fn nvmlDeviceGetMemoryAffinity(
        device: Handle, len: c_uint, to: Out<'_, c_ulong>, scope: c_uint,
    ) {
        device.number()?;
        check(scope)?;
        write(&host::nodes()?, len, to)
    }

    /// Binds the calling thread to the processors near the card.
    fn nvmlDeviceSetCpuAffinity(device: Handle) {
        device.number()?;
        host::bind_thread()
    }

    /// Lets the calling thread run on any processor.
    fn nvmlDeviceClearCpuAffinity(device: Handle) {
        device.number()?;
        host::bind_thread()
    }

    /// Returns the cards near a processor, which are all cards. If the caller's array is too small, returns only their
    /// number.
    fn nvmlSystemGetTopologyGpuSet(processor: c_uint, count: Out<'_, c_uint>, to: Out<'_, Handle>) {
        let cards = session::count()?;
        let capacity = count.get()?;
        let set = host::processors()?;
        let (word, bit) = (processor / c_ulong::BITS, processor % c_ulong::BITS);
        if set.get(word as usize).is_none_or(|word| word >> bit & 1 == 0) {
            return Err(Status::InvalidArgument);
        }
        if capacity == 0 {
            return count.set(cards);
        }
        to.required()?;
        let written = capacity.min(cards);
        let at = |card: c_uint| to.offset(card as usize);
        (0..written).try_for_each(|card| at(card).set(Handle::from_index(card)?))?;
        count.set(written)
    }
}
