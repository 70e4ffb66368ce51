//! The table of allocations: live ones, recently freed ones (the quarantine), and the surroundings
//! of an address.

mod describe;
mod heaps;
mod initialised;
mod interprocess;
mod mappings;
mod registered;

pub(crate) use describe::{no_access, read_only, unmapped};
pub use mappings::{MapError, Mapping};
use mappings::{Reservation, Rights};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::allocation::{Allocation, AllocationKind};
use super::error::AccessError;
use super::heap::Heap;
use super::initialised_bytes::InitialisedBytes;
use super::mapped;
use super::pages::PAGE_BYTES;
use super::reach::{Devices, Home, Reach, wrong_device};
use super::space::{Block, Space};
use crate::room::OutOfMemory;

/// The unused gap on either side of an allocation.
const GUARD: u64 = 256;
/// The alignment of CUDA's allocations.
const ALIGN: u64 = 256;
/// The freed bytes that are kept in quarantine, so that a use after free is detected.
const QUARANTINE_BYTES: u64 = 64 << 20;
/// The maximum number of allocations in quarantine.
const QUARANTINE_COUNT: usize = 4096;

/// The shadow of an allocation's initialised bytes, if initialisation is tracked.
pub(crate) type Shadow = Option<Arc<InitialisedBytes>>;

/// The result of looking up an access in the table.
#[derive(Clone, Debug)]
pub(crate) enum Lookup {
    /// The range is inside a live allocation.
    Live {
        base: u64,
        size: u64,
        shadow: Shadow,
        /// Whether the allocation is constant memory, which kernels can't write.
        constant: bool,
    },
    /// The range overlaps freed memory.
    Freed,
    /// The access writes to memory that was registered as read-only.
    ReadOnly { base: u64, size: u64 },
    /// The range is inside registered memory, and the host has unmapped a part of that memory.
    Unmapped { base: u64, size: u64 },
    /// The range is on another device, to whose memory the accessing device has no access.
    OtherDevice { home: Home, reach: Reach },
    /// The range is in mapped memory whose access rights don't allow the access.
    NoAccess { base: u64, size: u64, write: bool, from: Option<u32> },
    /// The range spans several adjacent mappings that all allow the access.
    SpansMappings,
    /// The range is not inside any memory.
    Outside,
}

/// The surroundings of an address, as a sentence for a report.
pub(crate) type Neighbourhood = String;

/// A live allocation.
#[derive(Debug)]
struct LiveAllocation {
    size: u64,
    /// The memory of the allocation and the gap around it; `None` if the program or a heap owns the
    /// memory.
    host: Option<Block>,
    /// The owner of the heap that the allocation is in, if any.
    heap: Option<u64>,
    kind: AllocationKind,
    name: Option<String>,
    shadow: Shadow,
    writable: bool,
    /// Whether the allocation will be freed in a stream's order, and no longer counts as used
    /// memory.
    is_marked_freed: bool,
    home: Home,
    /// The mapped memory and its access rights, if the allocation is a mapping.
    rights: Option<Rights>,
}

impl LiveAllocation {
    /// A writable allocation without memory, heap, name, shadow or access rights of a mapping.
    fn new(size: u64, kind: AllocationKind, home: Home) -> Self {
        Self {
            size,
            host: None,
            heap: None,
            kind,
            name: None,
            shadow: None,
            writable: true,
            is_marked_freed: false,
            home,
            rights: None,
        }
    }

    /// Whether the block of the allocation (including the gap around it) overlaps a range. False if
    /// it owns no block.
    fn has_block_at(&self, address: u64, end: u64) -> bool {
        self.host.as_ref().is_some_and(|host| host.touches(address, end))
    }

    /// The allocation as the leak report shows it.
    fn to_allocation(&self, address: u64) -> Allocation {
        Allocation { address, size: self.size, kind: self.kind, name: self.name.clone() }
    }
}

/// An allocation in quarantine: freed, but not yet returned to the host.
#[derive(Debug)]
struct QuarantinedAllocation {
    address: u64,
    size: u64,
    /// The allocation's memory and the gap around it.
    host: Block,
    /// Leases with lower numbers may have found it.
    before: u64,
}

/// The used bytes of a device's memory.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    all: u64,
    variables: u64,
}

/// All allocations of all devices.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The address range for allocations, unless they come from the process's heap.
    space: Option<Arc<Space>>,
    live_allocations: BTreeMap<u64, LiveAllocation>,
    freed: VecDeque<QuarantinedAllocation>,
    freed_bytes: u64,
    /// The heaps of kernels, by owner.
    heaps: BTreeMap<u64, Heap>,
    /// Heaps of destroyed owners. Leases with numbers below the given one may have found them.
    retired: Vec<(Heap, u64)>,
    tracks_initialisation: bool,
    /// The size of each device's memory, and the bytes that are in use.
    max_bytes: u64,
    used: BTreeMap<u32, Usage>,
    /// The used bytes of physical memory (`cuMemCreate`) on each device.
    physical: BTreeMap<u32, Arc<AtomicU64>>,
    /// Reserved address ranges, by start.
    reservations: BTreeMap<u64, Reservation>,
}

impl Table {
    pub(super) fn new(space: Option<Arc<Space>>, track: bool, max_bytes: u64) -> Self {
        Self { space, max_bytes, tracks_initialisation: track, ..Self::default() }
    }

    pub(super) fn allocate(
        &mut self,
        size: u64,
        align: u64,
        kind: AllocationKind,
        name: Option<String>,
        home: Home,
    ) -> Result<u64, OutOfMemory> {
        if !align.is_power_of_two() {
            return Err(OutOfMemory { size });
        }
        let align = align.max(ALIGN);
        // The block and the leading gap are aligned, so the allocation after the gap is aligned
        // too.
        let front = GUARD.max(align);
        let total = size.max(1).checked_add(front).and_then(|size| size.checked_add(GUARD));
        // Host memory doesn't count as device memory.
        if kind != AllocationKind::Host && !self.has_room_for(home.device, size)
            || kind == AllocationKind::Host && size > self.max_bytes
        {
            return Err(OutOfMemory { size });
        }
        let mut total = total.ok_or(OutOfMemory { size })?;
        if kind == AllocationKind::Host {
            // The host may write to its memory at any time, so no other allocation may share its
            // pages.
            total = total.checked_next_multiple_of(PAGE_BYTES).ok_or(OutOfMemory { size })?;
        }
        let host =
            Block::new(self.space.as_ref(), total, align).map_err(|_| OutOfMemory { size })?;
        // Module variables and registered memory are initialised by the host; other allocations are
        // not.
        let shadow = if kind == AllocationKind::Device { self.shadow(size)? } else { None };
        let address = host.start() + front;
        self.adjust_usage(kind, home, |bytes| *bytes += size);
        let live = LiveAllocation {
            host: Some(host),
            name,
            shadow,
            ..LiveAllocation::new(size, kind, home)
        };
        self.live_allocations.insert(address, live);
        Ok(address)
    }

    /// Creates a shadow of `size` uninitialised bytes if initialisation is tracked.
    fn shadow(&self, size: u64) -> Result<Shadow, OutOfMemory> {
        if !self.tracks_initialisation {
            return Ok(None);
        }
        let size = usize::try_from(size).map_err(|_| OutOfMemory { size })?;
        InitialisedBytes::new(size).map(|shadow| Some(Arc::new(shadow)))
    }

    /// Moves an allocation to the quarantine. `next` returns the number of the next lease, and is
    /// called after the removal.
    pub(super) fn free(&mut self, address: u64, next: impl FnOnce() -> u64) -> bool {
        if self.live_allocations.get(&address).is_none_or(|live| live.host.is_none()) {
            return false;
        }
        if let Some(LiveAllocation {
            size, host: Some(host), kind, is_marked_freed, home, ..
        }) = self.live_allocations.remove(&address)
        {
            if !is_marked_freed {
                self.adjust_usage(kind, home, |bytes| *bytes -= size);
            }
            self.freed_bytes += size;
            self.freed.push_back(QuarantinedAllocation { address, size, host, before: next() });
        }
        true
    }

    /// Counts an allocation as freed before it is freed, which happens when the work of its stream
    /// reaches that point.
    pub(super) fn mark_freed(&mut self, address: u64) {
        if let Some(live) = self.live_allocations.get_mut(&address)
            && !std::mem::replace(&mut live.is_marked_freed, true)
        {
            let (kind, home, size) = (live.kind, live.home, live.size);
            self.adjust_usage(kind, home, |bytes| *bytes -= size);
        }
    }

    /// Changes the used bytes of a kind of allocation.
    fn adjust_usage(&mut self, kind: AllocationKind, home: Home, change: impl Fn(&mut u64)) {
        let usage = self.used.entry(home.device).or_default();
        if !matches!(kind, AllocationKind::Host | AllocationKind::OtherProcess) {
            change(&mut usage.all);
        }
        if kind == AllocationKind::Variable {
            change(&mut usage.variables);
        }
    }

    /// Whether a device has `size` bytes left.
    fn has_room_for(&self, device: u32, size: u64) -> bool {
        let used = self.usage(device).all.saturating_add(self.physical_bytes(device));
        used.checked_add(size).is_some_and(|used| used <= self.max_bytes)
    }

    fn usage(&self, device: u32) -> Usage {
        self.used.get(&device).copied().unwrap_or_default()
    }

    /// The devices that can access an allocation.
    pub(super) fn home(&self, address: u64) -> Option<Home> {
        let (base, live) = self.live_allocations.range(..=address).next_back()?;
        (address - base < live.size).then_some(live.home)
    }

    /// Sets the devices that may access an allocation.
    pub(super) fn share(&mut self, base: u64, devices: Devices) {
        if let Some(live) = self.live_allocations.get_mut(&base) {
            live.home.shared_with = devices;
        }
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.max_bytes
    }

    pub(super) fn tracks(&self) -> bool {
        self.tracks_initialisation
    }

    pub(super) fn variable_bytes(&self, device: u32) -> u64 {
        self.usage(device).variables
    }

    /// Returns the oldest allocations in quarantine to the host while it is over its limits and all
    /// leases before `oldest` have ended. Returns whether it is still over its limits.
    pub(super) fn shrink_quarantine(&mut self, oldest: u64) -> bool {
        self.retired.retain(|(_, before)| *before > oldest);
        while self.freed.len() > QUARANTINE_COUNT || self.freed_bytes > QUARANTINE_BYTES {
            if self.freed.front().is_some_and(|freed| freed.before > oldest) {
                return true;
            }
            let Some(freed) = self.freed.pop_front() else { break };
            self.freed_bytes -= freed.size;
        }
        false
    }

    pub(super) fn find(&self, address: u64, len: u64) -> Lookup {
        let below = self.live_allocations.range(..=address).next_back();
        if let Some((&base, live)) = below
            && address - base <= live.size
            && len <= live.size - (address - base)
        {
            let constant = live.kind == AllocationKind::Constant;
            return Lookup::Live { base, size: live.size, shadow: live.shadow.clone(), constant };
        }
        if self.is_mapped_through(address, len) {
            return Lookup::SpansMappings;
        }
        let touches = |(freed, size): (u64, u64)| {
            address < freed + size && freed < address.saturating_add(len)
        };
        if self.quarantined().any(touches) { Lookup::Freed } else { Lookup::Outside }
    }

    /// Whether a range is inside one allocation or adjacent mappings.
    pub(super) fn holds(&self, address: u64, len: u64) -> bool {
        matches!(self.find(address, len), Lookup::Live { .. } | Lookup::SpansMappings)
    }

    /// The address and size of each allocation in quarantine, latest first.
    fn quarantined(&self) -> impl Iterator<Item = (u64, u64)> {
        let own = self.freed.iter().rev().map(|freed| (freed.address, freed.size));
        own.chain(self.heaps.values().flat_map(|heap| heap.freed().rev()))
    }

    /// Like [`find`](Self::find), with a check of access rights. Every address that is converted to
    /// a pointer is checked by this function. The host (`None`) can access every device.
    pub(super) fn open(
        &self,
        address: u64,
        len: u64,
        write: bool,
        from: impl Into<Option<Reach>>,
    ) -> Lookup {
        let lookup = self.find(address, len);
        let from = from.into();
        if matches!(lookup, Lookup::SpansMappings) {
            return self.no_access(address, len, write, from).unwrap_or(lookup);
        }
        let Lookup::Live { base, size, .. } = lookup else { return lookup };
        let live = self.live_allocations.get(&base);
        if live.is_some_and(|live| live.rights.is_some()) {
            return self.no_access(address, len, write, from).unwrap_or(lookup);
        }
        if let (Some(live), Some(reach)) = (live, from)
            && !reach.includes(live.home)
        {
            return Lookup::OtherDevice { home: live.home, reach };
        }
        match live {
            Some(live) if write && !live.writable => Lookup::ReadOnly { base, size },
            Some(LiveAllocation { kind: AllocationKind::Registered, .. })
                if !mapped::is_mapped(base, size) =>
            {
                Lookup::Unmapped { base, size }
            }
            _ => lookup,
        }
    }

    /// Fails unless the range is inside one allocation and may be accessed. An empty range always
    /// passes.
    pub(super) fn require(
        &self,
        address: u64,
        len: u64,
        write: bool,
        from: impl Into<Option<Reach>>,
    ) -> Result<(), AccessError> {
        if len == 0 {
            return Ok(());
        }
        let nearest = match self.open(address, len, write, from) {
            Lookup::Live { .. } | Lookup::SpansMappings => return Ok(()),
            Lookup::NoAccess { base, size, write, from } => no_access(base, size, write, from),
            Lookup::ReadOnly { base, size } => read_only(base, size),
            Lookup::Unmapped { base, size } => unmapped(base, size),
            Lookup::OtherDevice { home, reach } => wrong_device(home, reach),
            Lookup::Freed | Lookup::Outside => self.neighbourhood(address),
        };
        Err(AccessError { address, len, nearest })
    }

    pub(super) fn allocations(&self) -> Vec<Allocation> {
        self.live_allocations.iter().map(|(&address, live)| live.to_allocation(address)).collect()
    }
}
