//! The table of allocations: what is alive, what was freed not long ago, what lies near.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::AccessError;

/// Space on either side of an allocation that belongs to nobody.
const GUARD: u64 = 256;
/// CUDA's allocations are aligned to this.
const ALIGN: u64 = 256;
/// How many freed bytes are kept from the host's allocator, so that their use is noticed.
const QUARANTINE_BYTES: u64 = 64 << 20;
/// How many freed allocations are remembered at most.
const QUARANTINE_COUNT: usize = 4096;

/// What an allocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// Asked for by the host.
    Device,
    /// A variable of a module.
    Variable,
    /// Memory of the host's, registered.
    Registered,
    /// Asked for by a kernel, through `malloc`.
    Heap,
}

/// An allocation, as the leak report lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it is for.
    pub kind: AllocationKind,
    /// The variable's name.
    pub name: Option<String>,
}

impl std::fmt::Display for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { address, size, kind, name } = self;
        write!(f, "{size} bytes at {address:#x}, ")?;
        match (kind, name) {
            (AllocationKind::Device, _) => f.write_str("allocated by the host"),
            (AllocationKind::Heap, _) => f.write_str("allocated by a kernel"),
            (AllocationKind::Registered, _) => f.write_str("memory of the host's, registered"),
            (AllocationKind::Variable, Some(name)) => write!(f, "the variable `{name}`"),
            (AllocationKind::Variable, None) => f.write_str("a variable"),
        }
    }
}

/// One byte for each byte of an allocation: 1 where something has been written.
pub(crate) type Shadow = Option<Arc<[AtomicU8]>>;

/// What an access meets.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// It is inside a living allocation.
    Live { base: u64, size: u64, shadow: Shadow },
    /// It touches a freed one.
    Freed,
    /// It leaves every allocation.
    Nothing,
}

/// What lies near an address: a sentence for a report.
pub(crate) type Neighbourhood = String;

/// A living allocation.
#[derive(Debug)]
struct Live {
    size: u64,
    /// Where the host's allocator gave it, and how; `None` for registered memory.
    host: Option<(u64, Layout)>,
    kind: AllocationKind,
    name: Option<String>,
    shadow: Shadow,
}

/// A freed allocation whose memory is still ours.
#[derive(Debug)]
struct Freed {
    address: u64,
    size: u64,
    host: (u64, Layout),
}

/// Every allocation of a device.
#[derive(Debug)]
pub(super) struct Table {
    live: BTreeMap<u64, Live>,
    freed: VecDeque<Freed>,
    freed_bytes: u64,
    track: bool,
}

impl Table {
    pub(super) fn new(track: bool) -> Self {
        Self { live: BTreeMap::new(), freed: VecDeque::new(), freed_bytes: 0, track }
    }

    pub(super) fn allocate(
        &mut self,
        size: u64,
        align: u64,
        kind: AllocationKind,
        name: Option<String>,
    ) -> Option<u64> {
        let align = align.max(ALIGN);
        // The layout is aligned and begins with as much guard, so what follows it is aligned too.
        let front = GUARD.max(align);
        let total = size.max(1).checked_add(front)?.checked_add(GUARD)?;
        let layout =
            Layout::from_size_align(usize::try_from(total).ok()?, usize::try_from(align).ok()?)
                .ok()?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return None;
        }
        let start = start as u64;
        let address = start + front;
        // The host zeroes what it gives a module or registers; `malloc`ed memory is as it was.
        let fresh = matches!(kind, AllocationKind::Device | AllocationKind::Heap);
        let shadow = (self.track && fresh).then(|| (0..size).map(|_| AtomicU8::new(0)).collect());
        self.live.insert(address, Live { size, host: Some((start, layout)), kind, name, shadow });
        Some(address)
    }

    pub(super) fn free(&mut self, address: u64) -> bool {
        if self.live.get(&address).is_none_or(|live| live.host.is_none()) {
            return false;
        }
        if let Some(Live { size, host: Some(host), .. }) = self.live.remove(&address) {
            self.freed_bytes += size;
            self.freed.push_back(Freed { address, size, host });
        }
        true
    }

    /// Gives the oldest of what was freed back to the host. No launch may be running.
    pub(super) fn shrink_quarantine(&mut self) {
        while self.freed.len() > QUARANTINE_COUNT || self.freed_bytes > QUARANTINE_BYTES {
            let Some(freed) = self.freed.pop_front() else { break };
            self.freed_bytes -= freed.size;
            release(freed.host);
        }
    }

    pub(super) fn register(&mut self, address: u64, len: u64) -> bool {
        let Some(end) = address.checked_add(len) else { return false };
        let overlaps = self
            .live
            .range(..end)
            .next_back()
            .is_some_and(|(base, live)| base + live.size.max(1) > address);
        if len == 0 || address == 0 || overlaps {
            return false;
        }
        let live = Live {
            size: len,
            host: None,
            kind: AllocationKind::Registered,
            name: None,
            shadow: None,
        };
        self.live.insert(address, live);
        true
    }

    pub(super) fn unregister(&mut self, address: u64) -> bool {
        if self.live.get(&address).is_none_or(|live| live.host.is_some()) {
            return false;
        }
        self.live.remove(&address).is_some()
    }

    pub(super) fn find(&self, address: u64, len: u64) -> Found {
        let below = self.live.range(..=address).next_back();
        if let Some((&base, live)) = below
            && address - base <= live.size
            && len <= live.size - (address - base)
        {
            return Found::Live { base, size: live.size, shadow: live.shadow.clone() };
        }
        let touches = |freed: &Freed| {
            address < freed.address + freed.size && freed.address < address.saturating_add(len)
        };
        if self.freed.iter().any(touches) { Found::Freed } else { Found::Nothing }
    }

    /// An error unless the range is inside one allocation. Nothing is inside anything.
    pub(super) fn require(&self, address: u64, len: u64) -> Result<(), AccessError> {
        if len == 0 || matches!(self.find(address, len), Found::Live { .. }) {
            return Ok(());
        }
        Err(AccessError { address, len, nearest: self.neighbourhood(address) })
    }

    pub(super) fn set_initialised(&self, address: u64, len: u64) {
        if let Found::Live { base, shadow: Some(shadow), .. } = self.find(address, len) {
            let from = (address - base) as usize;
            for byte in &shadow[from..from + len as usize] {
                byte.store(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn first_uninitialised(&self, address: u64, len: u64) -> Option<u64> {
        let Found::Live { base, shadow: Some(shadow), .. } = self.find(address, len) else {
            return None;
        };
        let from = (address - base) as usize;
        let bytes = &shadow[from..from + len as usize];
        let index = bytes.iter().position(|byte| byte.load(Ordering::Relaxed) == 0)?;
        Some(address + index as u64)
    }

    /// A copy of uninitialised bytes is no fault; the copies are uninitialised too.
    pub(super) fn copy_initialised(&self, to: u64, from: u64, len: u64) {
        let Found::Live { base, shadow: Some(target), .. } = self.find(to, len) else { return };
        let at = (to - base) as usize;
        let known: Vec<u8> = match self.find(from, len) {
            Found::Live { base, shadow: Some(source), .. } => {
                let at = (from - base) as usize;
                source[at..at + len as usize]
                    .iter()
                    .map(|byte| byte.load(Ordering::Relaxed))
                    .collect()
            }
            _ => vec![1; len as usize],
        };
        for (byte, value) in target[at..].iter().zip(known) {
            byte.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn allocations(&self) -> Vec<Allocation> {
        self.live
            .iter()
            .map(|(&address, live)| Allocation {
                address,
                size: live.size,
                kind: live.kind,
                name: live.name.clone(),
            })
            .collect()
    }

    pub(super) fn neighbourhood(&self, address: u64) -> Neighbourhood {
        if let Some(freed) = self
            .freed
            .iter()
            .rev()
            .find(|freed| address >= freed.address && address < freed.address + freed.size)
        {
            return format!(
                "it is {} bytes into an allocation of {} bytes at {:#x} that has been freed",
                address - freed.address,
                freed.size,
                freed.address
            );
        }
        let below = self.live.range(..=address).next_back();
        let above = self.live.range(address..).next();
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
            _ => "there is no allocation at all".to_owned(),
        }
    }
}

fn describe(base: u64, live: &Live) -> String {
    let name = live.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
    let what = match live.kind {
        AllocationKind::Device => "the allocation",
        AllocationKind::Variable => "the variable",
        AllocationKind::Registered => "the registered host memory",
        AllocationKind::Heap => "the kernel's own allocation",
    };
    format!("{what}{name} of {} bytes at {base:#x}", live.size)
}

fn release((start, layout): (u64, Layout)) {
    // SAFETY: `start` came from `alloc_zeroed` with this layout, and is released once, when its
    // entry leaves the table.
    unsafe { dealloc(start as *mut u8, layout) };
}

impl Drop for Table {
    fn drop(&mut self) {
        for live in self.live.values() {
            if let Some(host) = live.host {
                release(host);
            }
        }
        for freed in &self.freed {
            release(freed.host);
        }
    }
}
