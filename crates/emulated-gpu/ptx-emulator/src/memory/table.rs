//! The table of allocations: what is alive, what was freed not long ago, what lies near.

mod describe;
mod heaps;
mod initialised;
mod mappings;
mod other;
mod own;

pub(crate) use describe::{closed, read_only, unmapped};
pub use mappings::{MapError, Mapping};
use mappings::{Reservation, Rights};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::allocation::{Allocation, AllocationKind};
use super::error::AccessError;
use super::heap::Heap;
use super::known::Known;
use super::mapped;
use super::pages::PAGE;
use super::reach::{Devices, Home, Reach, elsewhere};
use super::space::{Block, Space};
use crate::room::OutOfMemory;

/// Space on either side of an allocation that belongs to nobody.
const GUARD: u64 = 256;
/// CUDA's allocations are aligned to this.
const ALIGN: u64 = 256;
/// How many freed bytes are kept from the host's allocator, so that their use is noticed.
const QUARANTINE_BYTES: u64 = 64 << 20;
/// How many freed allocations are remembered at most.
const QUARANTINE_COUNT: usize = 4096;

/// One byte for each byte of an allocation: 1 where something has been written.
pub(crate) type Shadow = Option<Arc<Known>>;

/// What an access meets.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// It is inside a living allocation.
    Live {
        base: u64,
        size: u64,
        shadow: Shadow,
        /// A kernel may not write there.
        constant: bool,
    },
    /// It touches a freed one.
    Freed,
    /// It would write to memory that was registered to be read.
    ReadOnly { base: u64, size: u64 },
    /// It is inside memory that was registered, of which the host has unmapped some.
    Unmapped { base: u64, size: u64 },
    /// It is on another device, which has not let this one in.
    Elsewhere { home: Home, reach: Reach },
    /// It is in memory that is mapped there, and that may not be accessed so from where it is.
    Closed { base: u64, size: u64, write: bool, from: Option<u32> },
    /// It goes through several mappings that follow each other, all of which may be accessed so.
    Across,
    /// It leaves every allocation.
    Nothing,
}

/// What lies near an address: a sentence for a report.
pub(crate) type Neighbourhood = String;

/// A living allocation.
#[derive(Debug)]
struct Live {
    size: u64,
    /// Its memory and the space around it; `None` where that is somebody else's: the program's, or a
    /// heap's.
    host: Option<Block>,
    /// Whose heap it is from.
    heap: Option<u64>,
    kind: AllocationKind,
    name: Option<String>,
    shadow: Shadow,
    writable: bool,
    /// It stands in a stream to be freed, and takes up none of the device's memory any longer.
    is_leaving: bool,
    home: Home,
    /// What is mapped there, and who may access it; `None` of all that is no mapping.
    rights: Option<Rights>,
}

impl Live {
    /// Whether it is one of the host's blocks that touches a range, with the space around it.
    fn has_block_at(&self, address: u64, end: u64) -> bool {
        self.host.as_ref().is_some_and(|host| host.touches(address, end))
    }

    /// As the leak report lists it.
    fn listed(&self, address: u64) -> Allocation {
        Allocation { address, size: self.size, kind: self.kind, name: self.name.clone() }
    }
}

/// A freed allocation whose memory is still ours.
#[derive(Debug)]
struct Freed {
    address: u64,
    size: u64,
    /// Its memory and the space around it.
    host: Block,
    /// Leases with lower numbers may have found it.
    before: u64,
}

/// What is in use of a device's memory, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    all: u64,
    variables: u64,
}

/// Every allocation of every device.
#[derive(Debug)]
pub(super) struct Table {
    /// Where allocations lie, if not in the process's heap.
    space: Option<Arc<Space>>,
    live: BTreeMap<u64, Live>,
    freed: VecDeque<Freed>,
    freed_bytes: u64,
    /// By their owners.
    heaps: BTreeMap<u64, Heap>,
    /// Heaps whose owners are gone, and which leases may have found them: those with lower numbers.
    retired: Vec<(Heap, u64)>,
    track: bool,
    /// How many bytes of each device may be in use at once, and how many are.
    most: u64,
    used: BTreeMap<u32, Usage>,
    /// The same of physical memory that is mapped nowhere by itself.
    physical: BTreeMap<u32, Arc<AtomicU64>>,
    /// Addresses that memory is mapped at, by where they begin.
    reservations: BTreeMap<u64, Reservation>,
}

impl Table {
    pub(super) fn new(space: Option<Arc<Space>>, track: bool, most: u64) -> Self {
        Self {
            space,
            most,
            used: BTreeMap::new(),
            physical: BTreeMap::new(),
            reservations: BTreeMap::new(),
            live: BTreeMap::new(),
            freed: VecDeque::new(),
            freed_bytes: 0,
            heaps: BTreeMap::new(),
            retired: Vec::new(),
            track,
        }
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
        // It is aligned and begins with as much guard, so what follows it is aligned too.
        let front = GUARD.max(align);
        let total = size.max(1).checked_add(front).and_then(|size| size.checked_add(GUARD));
        // What is the host's is not the device's.
        if kind != AllocationKind::Host && !self.fits(home.device, size)
            || kind == AllocationKind::Host && size > self.most
        {
            return Err(OutOfMemory { size });
        }
        let mut total = total.ok_or(OutOfMemory { size })?;
        if kind == AllocationKind::Host {
            // The host writes there whenever it likes: nothing else is on its pages.
            total = total.checked_next_multiple_of(PAGE).ok_or(OutOfMemory { size })?;
        }
        let host =
            Block::new(self.space.as_ref(), total, align).map_err(|_| OutOfMemory { size })?;
        // The host zeroes what it gives a module or registers; `malloc`ed memory is as it was.
        let shadow = if kind == AllocationKind::Device { self.shadow(size)? } else { None };
        let address = host.start() + front;
        self.count(kind, home, |bytes| *bytes += size);
        let (host, heap, writable, is_leaving) = (Some(host), None, true, false);
        let rights = None;
        let live =
            Live { size, host, heap, kind, name, shadow, writable, is_leaving, home, rights };
        self.live.insert(address, live);
        Ok(address)
    }

    /// What is known of this many new bytes, where that is asked.
    fn shadow(&self, size: u64) -> Result<Shadow, OutOfMemory> {
        if !self.track {
            return Ok(None);
        }
        let size = usize::try_from(size).map_err(|_| OutOfMemory { size })?;
        Known::new(size).map(|known| Some(Arc::new(known)))
    }

    /// Takes an allocation out of the table. `next` gives the number of the next lease, and is called
    /// when it is out.
    pub(super) fn free(&mut self, address: u64, next: impl FnOnce() -> u64) -> bool {
        if self.live.get(&address).is_none_or(|live| live.host.is_none()) {
            return false;
        }
        if let Some(Live { size, host: Some(host), kind, is_leaving, home, .. }) =
            self.live.remove(&address)
        {
            if !is_leaving {
                self.count(kind, home, |bytes| *bytes -= size);
            }
            self.freed_bytes += size;
            self.freed.push_back(Freed { address, size, host, before: next() });
        }
        true
    }

    /// Counts an allocation as freed, which it is when the work of its stream has come to that.
    pub(super) fn leave(&mut self, address: u64) {
        if let Some(live) = self.live.get_mut(&address)
            && !std::mem::replace(&mut live.is_leaving, true)
        {
            let (kind, home, size) = (live.kind, live.home, live.size);
            self.count(kind, home, |bytes| *bytes -= size);
        }
    }

    /// Counts more or less of a kind.
    fn count(&mut self, kind: AllocationKind, home: Home, change: impl Fn(&mut u64)) {
        let usage = self.used.entry(home.device).or_default();
        if !matches!(kind, AllocationKind::Host | AllocationKind::Other) {
            change(&mut usage.all);
        }
        if kind == AllocationKind::Variable {
            change(&mut usage.variables);
        }
    }

    /// Whether a device has this many bytes left.
    fn fits(&self, device: u32, size: u64) -> bool {
        let used = self.usage(device).all.saturating_add(self.physical_bytes(device));
        used.checked_add(size).is_some_and(|used| used <= self.most)
    }

    fn usage(&self, device: u32) -> Usage {
        self.used.get(&device).copied().unwrap_or_default()
    }

    /// Where an allocation is.
    pub(super) fn home(&self, address: u64) -> Option<Home> {
        let (base, live) = self.live.range(..=address).next_back()?;
        (address - base < live.size).then_some(live.home)
    }

    /// Lets other devices into an allocation.
    pub(super) fn share(&mut self, base: u64, with: Devices) {
        if let Some(live) = self.live.get_mut(&base) {
            live.home.shared_with = with;
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.most
    }

    pub(super) fn tracks(&self) -> bool {
        self.track
    }

    pub(super) fn variable_bytes(&self, device: u32) -> u64 {
        self.usage(device).variables
    }

    /// Gives the oldest of what was freed back to the host, where there is too much of it and all
    /// leases before `oldest` have ended: whether there is still too much.
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

    pub(super) fn find(&self, address: u64, len: u64) -> Found {
        let below = self.live.range(..=address).next_back();
        if let Some((&base, live)) = below
            && address - base <= live.size
            && len <= live.size - (address - base)
        {
            let constant = live.kind == AllocationKind::Constant;
            return Found::Live { base, size: live.size, shadow: live.shadow.clone(), constant };
        }
        if self.is_mapped_through(address, len) {
            return Found::Across;
        }
        let touches = |(freed, size): (u64, u64)| {
            address < freed + size && freed < address.saturating_add(len)
        };
        if self.every_freed().any(touches) { Found::Freed } else { Found::Nothing }
    }

    /// Whether a range is inside one allocation, or goes through mappings.
    pub(super) fn holds(&self, address: u64, len: u64) -> bool {
        matches!(self.find(address, len), Found::Live { .. } | Found::Across)
    }

    /// Address and size of what was freed not long ago, the last first.
    fn every_freed(&self) -> impl Iterator<Item = (u64, u64)> {
        let own = self.freed.iter().rev().map(|freed| (freed.address, freed.size));
        own.chain(self.heaps.values().flat_map(|heap| heap.freed().rev()))
    }

    /// As [`find`](Self::find), for something that is about to read or write there: the one door
    /// through which an address becomes a pointer. The host reaches every device.
    pub(super) fn open(
        &self,
        address: u64,
        len: u64,
        write: bool,
        from: impl Into<Option<Reach>>,
    ) -> Found {
        let found = self.find(address, len);
        let from = from.into();
        if matches!(found, Found::Across) {
            return self.closed(address, len, write, from).unwrap_or(found);
        }
        let Found::Live { base, size, .. } = found else { return found };
        let live = self.live.get(&base);
        if live.is_some_and(|live| live.rights.is_some()) {
            return self.closed(address, len, write, from).unwrap_or(found);
        }
        if let (Some(live), Some(reach)) = (live, from)
            && !reach.includes(live.home)
        {
            return Found::Elsewhere { home: live.home, reach };
        }
        match live {
            Some(live) if write && !live.writable => Found::ReadOnly { base, size },
            Some(Live { kind: AllocationKind::Registered, .. })
                if !mapped::is_mapped(base, size) =>
            {
                Found::Unmapped { base, size }
            }
            _ => found,
        }
    }

    /// An error unless the range is inside one allocation. Nothing is inside anything.
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
            Found::Live { .. } | Found::Across => return Ok(()),
            Found::Closed { base, size, write, from } => closed(base, size, write, from),
            Found::ReadOnly { base, size } => read_only(base, size),
            Found::Unmapped { base, size } => unmapped(base, size),
            Found::Elsewhere { home, reach } => elsewhere(home, reach),
            Found::Freed | Found::Nothing => self.neighbourhood(address),
        };
        Err(AccessError { address, len, nearest })
    }

    pub(super) fn allocations(&self) -> Vec<Allocation> {
        self.live.iter().map(|(&address, live)| live.listed(address)).collect()
    }
}
