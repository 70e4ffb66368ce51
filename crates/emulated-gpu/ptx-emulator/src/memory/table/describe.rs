//! Descriptions of addresses, for reports.

use super::{LiveAllocation, Neighbourhood, Table};
use crate::memory::allocation::AllocationKind;

impl Table {
    pub(in crate::memory) fn neighbourhood(&self, address: u64) -> Neighbourhood {
        let holds = |&(freed, size): &(u64, u64)| address >= freed && address < freed + size;
        if let Some((freed, size)) = self.quarantined().find(holds) {
            return format!(
                "it is {} bytes into an allocation of {size} bytes at {freed:#x} that has been freed",
                address - freed
            );
        }
        if let Some((start, len)) = self.reserved_at(address, address.saturating_add(1))
            && self.mapping(address).is_none()
        {
            return format!(
                "it is {} bytes into the {len} addresses that were reserved at {start:#x} \
                 (cuMemAddressReserve), and no memory is mapped there (cuMemMap)",
                address - start
            );
        }
        let below = self.live_allocations.range(..=address).next_back();
        let above = self.live_allocations.range(address..).next();
        let distance_below = below.map(|(base, live)| (address - base).saturating_sub(live.size));
        let distance_above = above.map(|(base, _)| base - address);
        match (below, above) {
            (Some((&base, live)), _)
                if distance_above.is_none_or(|above| distance_below.unwrap_or(0) <= above) =>
            {
                let what = describe(base, live);
                let into = address - base;
                if into < live.size {
                    format!("it is {into} bytes into {what}")
                } else {
                    format!("it is {} bytes after the end of {what}", into - live.size)
                }
            }
            (_, Some((&base, live))) => {
                format!("it is {} bytes before {}", base - address, describe(base, live))
            }
            _ => "there are no allocations".to_owned(),
        }
    }
}

/// The message for a write to read-only registered memory.
pub(crate) fn read_only(base: u64, size: u64) -> String {
    format!(
        "the {size} bytes at {base:#x} were registered as read-only (CU_MEMHOSTREGISTER_READ_ONLY)"
    )
}

/// The message for an access to a mapping without the access rights.
pub(crate) fn no_access(base: u64, size: u64, write: bool, from: Option<u32>) -> String {
    let verb = if write { "write" } else { "read" };
    let who = from.map_or("no device may".to_owned(), |device| format!("device {device} may not"));
    format!(
        "the {size} bytes at {base:#x} are mapped there (cuMemMap), but {who} {verb} them: set access \
         rights first (cuMemSetAccess)"
    )
}

/// The message for an access to registered memory that was unmapped.
pub(crate) fn unmapped(base: u64, size: u64) -> String {
    format!(
        "the host has unmapped some of the {size} bytes that are registered at {base:#x}; it has to \
         unregister them first"
    )
}

fn describe(base: u64, live: &LiveAllocation) -> String {
    let name = live.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
    let what = match live.kind {
        AllocationKind::Device => "the allocation",
        AllocationKind::Variable => "the variable",
        AllocationKind::Host => "the pinned or managed memory",
        AllocationKind::Constant => "the constant",
        AllocationKind::Registered => "the registered host memory",
        AllocationKind::Heap => "the kernel's own allocation",
        AllocationKind::Mapped => "the mapped memory",
        AllocationKind::OtherProcess => "the memory of another process",
    };
    format!("{what}{name} of {} bytes at {base:#x}", live.size)
}
