//! Reserved addresses, and the physical memory that is mapped there (`cuMemMap`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{LiveAllocation, Lookup, Table};
use crate::memory::allocation::AllocationKind;
use crate::memory::physical::{GRANULARITY, Physical};
use crate::memory::reach::{Devices, Home, Reach};
use crate::memory::shared::Addresses;
use crate::room::OutOfMemory;

/// Why addresses can't be reserved, mapped, unmapped or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The system has no more memory, addresses or mappings.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// There is no such reservation.
    #[error(
        "no {size} bytes of addresses are reserved at {address:#x}: address and size must be those of \
         a call of cuMemAddressReserve"
    )]
    NotReserved {
        /// The first address.
        address: u64,
        /// The size in bytes.
        size: u64,
    },
    /// Something is mapped there.
    #[error("some of the {size} bytes at {address:#x} are mapped: unmap them first (cuMemUnmap)")]
    InUse {
        /// The first address.
        address: u64,
        /// The size in bytes.
        size: u64,
    },
    /// The range does not consist of whole mappings.
    #[error(
        "{size} bytes at {address:#x} are not whole mappings: the range must reach from the beginning \
         of the first to the end of the last mapping of cuMemMap, without a gap"
    )]
    NotWhole {
        /// The first address.
        address: u64,
        /// The size in bytes.
        size: u64,
    },
    /// A number is not a multiple of the granularity, or the physical memory is smaller.
    #[error(
        "{size} bytes at {address:#x} can't be mapped to {whole} bytes of memory: addresses and sizes \
         must be multiples of {GRANULARITY}, and the mapping can't be larger than the memory"
    )]
    Size {
        /// The first address.
        address: u64,
        /// The size in bytes.
        size: u64,
        /// The size of the physical memory.
        whole: u64,
    },
}

/// The memory that is mapped at some addresses, and who may access it.
#[derive(Debug)]
pub(in crate::memory) struct Rights {
    physical: Arc<Physical>,
    readable: Devices,
    writable: Devices,
}

/// A description of a mapping.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The first address of the mapping.
    pub base: u64,
    /// The size of the mapping in bytes.
    pub size: u64,
    /// The physical memory that is mapped there.
    pub physical: Arc<Physical>,
    /// Devices that may read the memory through this mapping.
    pub readable: Devices,
    /// Devices that may write the memory through this mapping.
    pub writable: Devices,
}

/// Reserved addresses.
#[derive(Debug)]
pub(in crate::memory) struct Reservation {
    addresses: Addresses,
    /// Mappings that are being removed: start and length.
    unmapping: BTreeMap<u64, u64>,
}

impl Rights {
    /// Whether a device may access the memory. The host may if any device may.
    fn permits_access(&self, write: bool, from: Option<Reach>) -> bool {
        let devices = if write { self.writable } else { self.readable };
        from.map_or(devices != Devices::default(), |from| devices.contains(from.device))
    }
}

impl Table {
    pub(in crate::memory) fn physical_bytes(&self, device: u32) -> u64 {
        self.physical.get(&device).map_or(0, |bytes| bytes.load(Ordering::Relaxed))
    }

    /// The counter of a device's physical memory, if the device has `size` bytes left.
    pub(in crate::memory) fn counter(&mut self, device: u32, size: u64) -> Option<Arc<AtomicU64>> {
        self.has_room_for(device, size)
            .then(|| Arc::clone(self.physical.entry(device).or_default()))
    }

    pub(in crate::memory) fn reserve(
        &mut self,
        size: u64,
        align: u64,
        hint: u64,
    ) -> Result<u64, MapError> {
        let addresses = Addresses::reserve(size, align, hint).ok_or(OutOfMemory { size })?;
        let start = addresses.start;
        self.reservations.insert(start, Reservation { addresses, unmapping: BTreeMap::new() });
        Ok(start)
    }

    /// The start and length of a reservation that overlaps a range.
    pub(in crate::memory) fn reserved_at(&self, address: u64, end: u64) -> Option<(u64, u64)> {
        let (_, last) = self.reservations.range(..end).next_back()?;
        let Addresses { start, len } = last.addresses;
        (start + len > address).then_some((start, len))
    }

    pub(in crate::memory) fn release(&mut self, address: u64, size: u64) -> Result<(), MapError> {
        let own = self.reservations.get(&address).filter(|own| own.addresses.len == size);
        let own = own.ok_or(MapError::NotReserved { address, size })?;
        if !own.unmapping.is_empty() || self.overlapping_mapping(address, size).is_some() {
            return Err(MapError::InUse { address, size });
        }
        self.reservations.remove(&address);
        Ok(())
    }

    /// A mapping that overlaps a range, if there is one.
    fn overlapping_mapping(&self, address: u64, size: u64) -> Option<u64> {
        let end = address.saturating_add(size);
        let touches = |(base, live): &(&u64, &LiveAllocation)| **base + live.size > address;
        let mut list = self.live_allocations.range(..end).rev().take_while(touches);
        list.find(|(_, live)| live.rights.is_some()).map(|(base, _)| *base)
    }

    /// Maps the beginning of physical memory inside a reservation, without access rights.
    pub(in crate::memory) fn map(
        &mut self,
        address: u64,
        size: u64,
        physical: &Arc<Physical>,
    ) -> Result<(), MapError> {
        let whole = physical.size();
        let is_whole = address.is_multiple_of(GRANULARITY) && size.is_multiple_of(GRANULARITY);
        if !is_whole || size == 0 || size > whole {
            return Err(MapError::Size { address, size, whole });
        }
        let missing = MapError::NotReserved { address, size };
        let Some(end) = address.checked_add(size) else { return Err(missing) };
        let (_, own) = self.reservations.range(..=address).next_back().ok_or(missing)?;
        if own.addresses.start + own.addresses.len < end {
            return Err(missing);
        }
        let is_unmapping = own.unmapping.iter().any(|(at, len)| *at < end && at + len > address);
        if is_unmapping || self.overlapping_mapping(address, size).is_some() {
            return Err(MapError::InUse { address, size });
        }
        let (file, offset) = physical.place().ok_or(OutOfMemory { size })?;
        if !own.addresses.map_file(address, size, file, offset) {
            return Err(OutOfMemory { size }.into());
        }
        let home =
            Home { device: physical.device(), shared_with: Devices::default(), to_peers: false };
        let none = Devices::default();
        let live = LiveAllocation {
            shadow: physical.shadow.clone(),
            rights: Some(Rights { physical: Arc::clone(physical), readable: none, writable: none }),
            ..LiveAllocation::new(size, AllocationKind::Mapped, home)
        };
        self.live_allocations.insert(address, live);
        Ok(())
    }

    /// The mappings that a range consists of; fails unless they are whole and without a gap.
    fn whole_mappings(&self, address: u64, size: u64) -> Result<Vec<u64>, MapError> {
        let error = MapError::NotWhole { address, size };
        let end = address.checked_add(size).filter(|_| size > 0).ok_or(error)?;
        let (mut bases, mut next) = (Vec::new(), address);
        while next < end {
            let live = self
                .live_allocations
                .get(&next)
                .filter(|live| live.rights.is_some())
                .ok_or(error)?;
            bases.push(next);
            next += live.size;
        }
        if next == end { Ok(bases) } else { Err(error) }
    }

    /// Removes whole mappings from the table. Their memory stays mapped until [`finish_unmap`](Self::finish_unmap).
    pub(in crate::memory) fn unmap(
        &mut self,
        address: u64,
        size: u64,
    ) -> Result<Vec<Mapping>, MapError> {
        let bases = self.whole_mappings(address, size)?;
        let gone =
            bases.iter().filter_map(|base| Some((*base, self.live_allocations.remove(base)?)));
        let gone: Vec<(u64, LiveAllocation)> = gone.collect();
        for (base, live) in &gone {
            if let Some((_, own)) = self.reservations.range_mut(..=base).next_back() {
                own.unmapping.insert(*base, live.size);
            }
        }
        Ok(gone.iter().filter_map(|(base, live)| live.mapping(*base)).collect())
    }

    /// Unmaps the mappings that [`unmap`](Self::unmap) removed, once no pointers into it remain.
    pub(in crate::memory) fn finish_unmap(&mut self, mappings: &[Mapping]) {
        for &Mapping { base, size, .. } in mappings {
            if let Some((_, own)) = self.reservations.range_mut(..=base).next_back() {
                own.unmapping.remove(&base);
                // If the system refuses to unmap (because there are too many mappings), the pages stay until something
                // else is mapped there, or the addresses are released.
                let _ = own.addresses.unmap_file(base, size);
            }
        }
    }

    /// Sets the access rights of a device to whole mappings.
    pub(in crate::memory) fn set_access(
        &mut self,
        (address, size): (u64, u64),
        device: u32,
        read: bool,
        write: bool,
    ) -> Result<(), MapError> {
        for base in self.whole_mappings(address, size)? {
            if let Some(LiveAllocation { rights: Some(rights), .. }) =
                self.live_allocations.get_mut(&base)
            {
                let set = |devices: Devices, on: bool| {
                    if on { devices.with(device) } else { devices.without(device) }
                };
                rights.readable = set(rights.readable, read);
                rights.writable = set(rights.writable, write);
            }
        }
        Ok(())
    }

    /// The mapping that contains an address.
    pub(in crate::memory) fn mapping(&self, address: u64) -> Option<Mapping> {
        let (base, live) = self.live_allocations.range(..=address).next_back()?;
        (address - base < live.size).then(|| live.mapping(*base))?
    }

    /// Whether a range is completely inside adjacent mappings.
    pub(super) fn is_mapped_through(&self, address: u64, len: u64) -> bool {
        let Some(end) = address.checked_add(len) else { return false };
        let mut next = address;
        while next < end {
            match self.mapping(next) {
                Some(mapping) => next = mapping.base + mapping.size,
                None => return false,
            }
        }
        len > 0
    }

    /// The first mapping in a range that doesn't allow the access.
    pub(super) fn no_access(
        &self,
        address: u64,
        len: u64,
        write: bool,
        from: Option<Reach>,
    ) -> Option<Lookup> {
        let end = address.saturating_add(len.max(1));
        let (first, _) = self.live_allocations.range(..=address).next_back()?;
        self.live_allocations.range(first..&end).find_map(|(&base, live)| {
            let rights = live.rights.as_ref()?;
            let from_device = from.map(|from| from.device);
            let lookup = Lookup::NoAccess { base, size: live.size, write, from: from_device };
            (!rights.permits_access(write, from)).then_some(lookup)
        })
    }
}

impl LiveAllocation {
    fn mapping(&self, base: u64) -> Option<Mapping> {
        let Rights { physical, readable, writable } = self.rights.as_ref()?;
        let (readable, writable) = (*readable, *writable);
        Some(Mapping { base, size: self.size, physical: Arc::clone(physical), readable, writable })
    }
}
