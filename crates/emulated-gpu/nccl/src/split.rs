//! `ncclCommSplit`: ranks with the same colour form a new communicator.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::communicator::Communicator;
use crate::ffi::{Error, Result};
use crate::id::UniqueId;
use crate::membership::BarrierKind;
use crate::region::Slot;

/// `NCCL_SPLIT_NOCOLOR`
const NO_COLOR: c_int = -1;

/// Splits a communicator, together with all other ranks. Returns `None` if this rank belongs to no
/// part.
///
/// # Errors
/// If the colour is invalid, a rank does not call, or the new communicator can't be created.
pub(crate) fn split(
    whole: &Communicator,
    color: c_int,
    key: c_int,
) -> Result<Option<Arc<Communicator>>> {
    if color < 0 && color != NO_COLOR {
        return Err(Error::argument(format!(
            "color is {color}: it must be at least 0, or NCCL_SPLIT_NOCOLOR"
        )));
    }
    let region = &whole.membership.region;
    let this_slot = region.slot(whole.rank());
    this_slot.color.store(color, Relaxed);
    this_slot.key.store(key, Relaxed);
    whole.membership.barrier(BarrierKind::Call)?;
    let slot = |rank: usize| region.slot(rank);
    let mut members: Vec<usize> =
        (0..whole.ranks()).filter(|rank| slot(*rank).color.load(Relaxed) == color).collect();
    members.sort_by_key(|rank| (slot(*rank).key.load(Relaxed), *rank));
    let first = members.first().copied().unwrap_or(whole.rank());
    if first == whole.rank() {
        publish_id(this_slot, &UniqueId::new()?);
    }
    whole.membership.barrier(BarrierKind::Call)?;
    let id = read_id(slot(first));
    // No rank may split again before all ranks have read the id.
    whole.membership.barrier(BarrierKind::Call)?;
    if color == NO_COLOR {
        return Ok(None);
    }
    let rank = members.iter().position(|rank| *rank == whole.rank()).unwrap_or(0);
    let place = (whole.context, whole.device);
    Communicator::join(&id, (members.len(), rank), place).map(Some)
}

fn publish_id(slot: &Slot, id: &UniqueId) {
    for (word, bytes) in slot.id.iter().zip(id.0.chunks_exact(8)) {
        let bytes = bytes.try_into().unwrap_or_default();
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
}

fn read_id(slot: &Slot) -> UniqueId {
    let mut bytes = [0; 128];
    for (word, bytes) in slot.id.iter().zip(bytes.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
    }
    UniqueId(bytes)
}
