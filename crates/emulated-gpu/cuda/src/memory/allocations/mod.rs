//! The table of allocations: what the program allocated each range as, and in which context. The emulator's own
//! table says what a kernel may access.

#![allow(unsafe_code, reason = "makes memory of the host's accessible to kernels")]

mod mapped;
mod other;
mod pooled;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_emulator::memory::{Home, RegisterError};
use ptx_emulator::{Emulator, Memory};

use crate::abi::error::{Code, Error, Result, fail_if};
use crate::abi::host_memory;
use crate::abi::{Handle, Location, Pointer};
use other::Opened;

/// Device memory is given out in units of this, as the free memory shows.
const UNIT: u64 = 512;

/// What memory is.
#[derive(Debug)]
pub(crate) enum AllocationKind {
    /// `cuMemAlloc`
    Device,
    /// `cuMemAllocAsync`, from the pool of that handle.
    Pooled(Handle),
    /// `cuArrayCreate`: no pointer leads to it.
    Array,
    /// `cuMemAllocManaged`: accessible to host and device.
    Managed,
    /// `cuMemHostAlloc`: the host's, accessible to the device.
    Pinned,
    /// `cuMemHostRegister`: the program's own.
    Registered,
    /// `cuMemMap`: physical memory, which has handles of its own.
    Mapped,
    /// `cuIpcOpenMemHandle`: another process's.
    Other(Opened),
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) address: Pointer,
    pub(crate) size: u64,
    pub(crate) kind: AllocationKind,
    /// The context that it was allocated in.
    pub(crate) context: Handle,
    /// The device that it is on.
    pub(crate) device: u32,
    /// The flags that it was allocated with.
    pub(crate) flags: u32,
    /// `CU_POINTER_ATTRIBUTE_BUFFER_ID`: never the same twice.
    pub(crate) id: u64,
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`
    pub(crate) sync_operations: bool,
    /// It belongs to a graph, and lives as long as that.
    pub(crate) reserved: bool,
    /// Whether such memory is in use: its graph was launched, and nobody has freed it since.
    pub(crate) live: bool,
    /// It stands in a stream to be freed.
    pub(crate) leaving: bool,
    pub(crate) advice: Advice,
}

/// Who allocates, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) context: Handle,
    pub(crate) home: Home,
}

/// What the program said of managed memory. It changes nothing, as host and device have the same
/// memory, and can be asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<Location>,
    /// Devices, and the host as -1, in the order in which they are told.
    pub(crate) accessed_by: Vec<i32>,
    pub(crate) prefetched: Option<Location>,
}

impl Advice {
    /// Whether a device, or the host as -1, accesses the memory.
    pub(crate) fn set_accessed_by(&mut self, device: i32, on: bool) {
        self.accessed_by.retain(|other| *other != device);
        self.accessed_by.extend(on.then_some(device));
        // The host comes last.
        self.accessed_by.sort_by_key(|device| (*device < 0, *device));
    }
}

impl AllocationKind {
    /// Whether `cuMemFreeAsync` takes it.
    pub(crate) fn is_freed_in_order(&self) -> bool {
        matches!(self, Self::Device | Self::Pooled(_))
    }
}

impl Allocation {
    /// Whether it is the host's.
    pub(crate) fn is_host(&self) -> bool {
        matches!(self.kind, AllocationKind::Pinned | AllocationKind::Registered)
    }

    /// Whether the host and kernels use it: fills of it are waited for.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_host() || matches!(self.kind, AllocationKind::Managed)
    }

    /// Whether it takes up the device's memory.
    fn takes_memory(&self) -> bool {
        !self.is_host() && !matches!(self.kind, AllocationKind::Mapped | AllocationKind::Other(_))
    }
}

/// Every allocation.
#[derive(Debug)]
pub(crate) struct Allocations {
    emulator: Emulator,
    table: Mutex<Table>,
    total: u64,
}

#[derive(Debug, Default)]
struct Table {
    list: BTreeMap<Pointer, Allocation>,
    /// By device.
    used: BTreeMap<u32, u64>,
    next_id: u64,
}

impl Table {
    /// Lists what was allocated.
    fn add(
        &mut self,
        (address, size): (Pointer, u64),
        kind: AllocationKind,
        (context, device): (Handle, u32),
        flags: u32,
    ) {
        self.next_id += 1;
        let made = Allocation {
            address,
            size,
            kind,
            context,
            device,
            flags,
            id: self.next_id,
            sync_operations: false,
            reserved: false,
            live: false,
            leaving: false,
            advice: Advice::default(),
        };
        self.list.insert(address, made);
    }

    fn used(&self, device: u32) -> u64 {
        self.used.get(&device).copied().unwrap_or(0)
    }

    fn give_back(&mut self, device: u32, size: u64) {
        if let Some(used) = self.used.get_mut(&device) {
            *used -= units(size);
        }
    }
}

impl Allocations {
    /// Of devices with this many bytes of memory each.
    pub(crate) fn new(emulator: Emulator, total: u64) -> Self {
        Self { emulator, table: Mutex::default(), total }
    }

    fn memory(&self) -> &Memory {
        self.emulator.memory()
    }

    /// A device's memory.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What of it nobody has.
    pub(crate) fn free_bytes(&self, device: u32) -> u64 {
        self.total.saturating_sub(self.table().used(device).saturating_add(self.others(device)))
    }

    /// Bytes of a device that are no allocations: variables of modules, and physical memory.
    fn others(&self, device: u32) -> u64 {
        let memory = self.memory();
        memory.variable_bytes(device).saturating_add(memory.physical_bytes(device))
    }

    /// Memory of the host's that kernels access.
    fn pages(&self, size: u64) -> Result<Pointer> {
        let address = self.memory().allocate_host(size);
        address.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))
    }

    fn too_much(&self, size: u64, free: u64) -> Error {
        Code::OUT_OF_MEMORY.because(format!(
            "{size} bytes are wanted, and {free} of {} are free: free some, or let the device have more \
             (EMULATED_GPU_MEMORY)",
            self.total
        ))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device memory, `Device`, `Pooled` or `Array`.
    ///
    /// # Errors
    /// `INVALID_VALUE` for nothing, `OUT_OF_MEMORY`.
    pub(crate) fn device(&self, size: u64, kind: AllocationKind, owner: Owner) -> Result<Pointer> {
        self.allocate(size, owner, 0, true, || {
            let address = self.memory().allocate_at(owner.home, size, UNIT);
            let address =
                address.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))?;
            Ok((address, kind))
        })
    }

    /// Managed memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for nothing, `OUT_OF_MEMORY`.
    pub(crate) fn managed(&self, size: u64, flags: u32, owner: Owner) -> Result<Pointer> {
        self.allocate(size, owner, flags, true, || Ok((self.pages(size)?, AllocationKind::Managed)))
    }

    /// Pinned memory of the host's.
    ///
    /// # Errors
    /// `INVALID_VALUE` for nothing, `OUT_OF_MEMORY`.
    pub(crate) fn pinned(&self, size: u64, flags: u32, owner: Owner) -> Result<Pointer> {
        self.allocate(size, owner, flags, false, || Ok((self.pages(size)?, AllocationKind::Pinned)))
    }

    /// The program's own memory, made accessible to the device, to be written where it is
    /// `writable`.
    ///
    /// # Safety
    /// The memory stays where it is until the program unregisters it.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what can't be accessed like that, `HOST_MEMORY_ALREADY_REGISTERED`.
    pub(crate) unsafe fn register(
        &self,
        address: usize,
        size: u64,
        writable: bool,
        flags: u32,
        owner: Owner,
    ) -> Result {
        host_memory::check(address, size as usize)?;
        let made = self.allocate(size, owner, flags, false, || {
            // SAFETY: the caller's promise.
            let registered = unsafe { self.memory().register(address as u64, size, writable) };
            registered.map_err(|error| {
                let code = match error {
                    RegisterError::Range { .. } => Code::HOST_MEMORY_ALREADY_REGISTERED,
                    RegisterError::NoAccess { .. } => Code::INVALID_VALUE,
                };
                code.because(error.to_string())
            })?;
            Ok((address as u64, AllocationKind::Registered))
        });
        made.map(|_| ())
    }

    fn allocate(
        &self,
        size: u64,
        owner: Owner,
        flags: u32,
        takes_memory: bool,
        make: impl FnOnce() -> Result<(Pointer, AllocationKind)>,
    ) -> Result<Pointer> {
        fail_if!(size == 0, INVALID_VALUE, "0 bytes can't be allocated");
        let Owner { context, home } = owner;
        let mut table = self.table();
        let before = table.used(home.device);
        let used = if takes_memory { before.saturating_add(units(size)) } else { before };
        let total = self.total.saturating_sub(self.others(home.device));
        if used > total && takes_memory {
            return Err(self.too_much(size, total.saturating_sub(before)));
        }
        let (address, kind) = make()?;
        table.used.insert(home.device, used);
        table.add((address, size), kind, (context, home.device), flags);
        Ok(address)
    }

    /// Forgets an allocation that begins there, if it is one of those that `which` takes, and gives
    /// it back. Work that begins after that is a fault if it accesses it. Work that has found it
    /// before keeps it; where it is the program's own, that work is waited for.
    ///
    /// # Errors
    /// `None` when there is no such allocation.
    pub(crate) fn free(
        &self,
        address: Pointer,
        which: impl Fn(&AllocationKind) -> bool,
    ) -> Result<bool> {
        let mut table = self.table();
        if !table.list.get(&address).is_some_and(|allocation| which(&allocation.kind)) {
            return Ok(false);
        }
        let Some(allocation) = table.list.remove(&address) else { return Ok(false) };
        if allocation.takes_memory() && !allocation.leaving {
            table.give_back(allocation.device, allocation.size);
        }
        drop(table);
        self.release(&allocation)?;
        Ok(true)
    }

    /// Takes an allocation as given back that stands in a stream to be freed. What is allocated after
    /// that has another address, and its pages come when they are touched: it can have the memory
    /// before the stream has come to the free.
    pub(crate) fn leave(&self, address: Pointer) {
        let mut table = self.table();
        let Some(allocation) = table.list.get_mut(&address) else { return };
        if !std::mem::replace(&mut allocation.leaving, true) {
            let (device, size) = (allocation.device, allocation.size);
            table.give_back(device, size);
            self.memory().leave(address);
        }
    }

    /// What a function makes of the allocation that holds an address.
    pub(crate) fn with<T>(
        &self,
        address: Pointer,
        f: impl FnOnce(&mut Allocation) -> T,
    ) -> Option<T> {
        let mut table = self.table();
        let (base, allocation) = table.list.range_mut(..=address).next_back()?;
        (address - base < allocation.size).then(|| f(allocation))
    }

    /// Frees all that was allocated in a context; what the program registered is its own again.
    pub(crate) fn free_context(&self, context: Handle) -> Result {
        for (address, ..) in self.list(Some(context)) {
            self.free(address, |_| true)?;
        }
        Ok(())
    }

    /// What was allocated, in one context or in any, and not freed: address, size, and what it is.
    pub(crate) fn list(&self, context: Option<Handle>) -> Vec<(Pointer, u64, &'static str)> {
        let word = |kind: &AllocationKind| match kind {
            AllocationKind::Device => "device memory",
            AllocationKind::Pooled(_) => "device memory from a pool",
            AllocationKind::Array => "an array",
            AllocationKind::Managed => "managed memory",
            AllocationKind::Pinned => "pinned host memory",
            AllocationKind::Registered => "registered host memory",
            AllocationKind::Mapped => "mapped memory",
            AllocationKind::Other(_) => "memory of another process",
        };
        let table = self.table();
        // What is mapped is physical memory, which is listed by its handles.
        let wanted = |one: &&Allocation| {
            context.is_none_or(|context| one.context == context)
                && !matches!(one.kind, AllocationKind::Mapped)
        };
        let list = table.list.values().filter(wanted);
        list.map(|one| (one.address, one.size, word(&one.kind))).collect()
    }

    fn release(&self, allocation: &Allocation) -> Result {
        let memory = self.memory();
        let done = match allocation.kind {
            AllocationKind::Device
            | AllocationKind::Pooled(_)
            | AllocationKind::Array
            | AllocationKind::Managed
            | AllocationKind::Pinned
            | AllocationKind::Other(_) => memory.free(allocation.address),
            AllocationKind::Registered => memory.unregister(allocation.address),
            // Only `unmap` takes these away.
            AllocationKind::Mapped => Ok(()),
        };
        done.map_err(|error| Code::INVALID_VALUE.because(error.to_string()))
    }
}

fn units(size: u64) -> u64 {
    size.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX)
}
