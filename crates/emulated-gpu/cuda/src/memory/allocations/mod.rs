//! The table of allocations: the kind and the context of each range that the program allocated. The emulator has a
//! separate table, which determines the memory that kernels may access.

#![allow(unsafe_code, reason = "makes host memory accessible to kernels")]

mod foreign;
mod mapped;
mod pooled;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_emulator::memory::{Home, RegisterError};
use ptx_emulator::{Emulator, Memory};

use crate::abi::error::{Code, Error, Result, fail_if};
use crate::abi::host_memory;
use crate::abi::{Handle, Location, Pointer};
use foreign::ForeignMemory;

/// The granularity of device memory, which shows in the amount of free memory.
const GRANULARITY: u64 = 512;

/// The kind of an allocation.
#[derive(Debug)]
pub(crate) enum AllocationKind {
    /// `cuMemAlloc`
    Device,
    /// Memory of `cuMemAllocAsync`, from the pool with this handle.
    Pooled(Handle),
    /// An array of `cuArrayCreate`, which has no pointer.
    Array,
    /// Memory of `cuMemAllocManaged`, which is accessible to host and device.
    Managed,
    /// Memory of `cuMemHostAlloc`: host memory that is accessible to the device.
    Pinned,
    /// Memory of `cuMemHostRegister`, which the program itself allocated.
    Registered,
    /// Memory of `cuMemMap`: mapped physical memory, which has separate handles.
    Mapped,
    /// Memory of `cuIpcOpenMemHandle`, which belongs to another process.
    Foreign(ForeignMemory),
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) address: Pointer,
    pub(crate) size: u64,
    pub(crate) kind: AllocationKind,
    /// The context in which the memory was allocated.
    pub(crate) context: Handle,
    /// The ordinal of the memory's device.
    pub(crate) device: u32,
    /// The flags with which the memory was allocated.
    pub(crate) flags: u32,
    /// The id of the allocation (`CU_POINTER_ATTRIBUTE_BUFFER_ID`). Ids are never reused.
    pub(crate) id: u64,
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`
    pub(crate) sync_operations: bool,
    /// Whether the memory belongs to a graph, and lives as long as the graph.
    pub(crate) reserved: bool,
    /// Whether a graph's memory is in use: the graph was launched, and the memory was not freed
    /// since.
    pub(crate) live: bool,
    /// Whether a pending `cuMemFreeAsync` will free the memory.
    pub(crate) being_freed: bool,
    pub(crate) advice: Advice,
}

/// The context of a new allocation, and the devices that may access it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) context: Handle,
    pub(crate) home: Home,
}

/// The program's advice about managed memory. It can be queried but has no effect, because host and device share the
/// memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<Location>,
    /// Devices in the order in which queries return them; -1 is the host.
    pub(crate) accessed_by: Vec<i32>,
    pub(crate) prefetched: Option<Location>,
}

impl Advice {
    /// Records whether a device (-1: the host) accesses the memory.
    pub(crate) fn set_accessed_by(&mut self, device: i32, on: bool) {
        self.accessed_by.retain(|other| *other != device);
        self.accessed_by.extend(on.then_some(device));
        // Devices are sorted, with the host (-1) last.
        self.accessed_by.sort_by_key(|device| (*device < 0, *device));
    }
}

impl AllocationKind {
    /// Whether `cuMemFreeAsync` accepts this memory.
    pub(crate) fn is_freed_in_order(&self) -> bool {
        matches!(self, Self::Device | Self::Pooled(_))
    }
}

impl Allocation {
    /// Whether this is host memory.
    pub(crate) fn is_host(&self) -> bool {
        matches!(self.kind, AllocationKind::Pinned | AllocationKind::Registered)
    }

    /// Whether both the host and kernels access this memory; synchronous fills then wait.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_host() || matches!(self.kind, AllocationKind::Managed)
    }

    /// Whether this allocation takes device memory.
    fn takes_memory(&self) -> bool {
        !self.is_host() && !matches!(self.kind, AllocationKind::Mapped | AllocationKind::Foreign(_))
    }
}

/// The allocations of all devices.
#[derive(Debug)]
pub(crate) struct Allocations {
    emulator: Emulator,
    table: Mutex<Table>,
    total: u64,
}

#[derive(Debug, Default)]
struct Table {
    list: BTreeMap<Pointer, Allocation>,
    /// The number of bytes in use on each device.
    used: BTreeMap<u32, u64>,
    next_id: u64,
}

impl Table {
    /// Records an allocation.
    fn add(
        &mut self,
        (address, size): (Pointer, u64),
        kind: AllocationKind,
        (context, device): (Handle, u32),
        flags: u32,
    ) {
        self.next_id += 1;
        let allocation = Allocation {
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
            being_freed: false,
            advice: Advice::default(),
        };
        self.list.insert(address, allocation);
    }

    fn used(&self, device: u32) -> u64 {
        self.used.get(&device).copied().unwrap_or(0)
    }

    fn subtract_used(&mut self, device: u32, size: u64) {
        if let Some(used) = self.used.get_mut(&device) {
            *used -= rounded(size);
        }
    }
}

impl Allocations {
    /// An empty table for devices with `total` bytes of memory each.
    pub(crate) fn new(emulator: Emulator, total: u64) -> Self {
        Self { emulator, table: Mutex::default(), total }
    }

    fn memory(&self) -> &Memory {
        self.emulator.memory()
    }

    /// The memory of a device in bytes.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The free memory of a device in bytes.
    pub(crate) fn free_bytes(&self, device: u32) -> u64 {
        self.total
            .saturating_sub(self.table().used(device).saturating_add(self.other_bytes(device)))
    }

    /// Bytes in use that are not in this table: variables of modules, and physical memory.
    fn other_bytes(&self, device: u32) -> u64 {
        let memory = self.memory();
        memory.variable_bytes(device).saturating_add(memory.physical_bytes(device))
    }

    /// Allocates host memory that kernels can access.
    fn host_pages(&self, size: u64) -> Result<Pointer> {
        let address = self.memory().allocate_host(size);
        address.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))
    }

    fn out_of_memory(&self, size: u64, free: u64) -> Error {
        Code::OUT_OF_MEMORY.because(format!(
            "{size} bytes were requested, but only {free} of {} are free; free memory, or give the device more \
             (EMULATED_GPU_MEMORY)",
            self.total
        ))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates device memory of the kind `Device`, `Pooled` or `Array`.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the size is 0, `OUT_OF_MEMORY` if not enough memory is free.
    pub(crate) fn device(&self, size: u64, kind: AllocationKind, owner: Owner) -> Result<Pointer> {
        self.allocate(size, owner, 0, true, || {
            let address = self.memory().allocate_at(owner.home, size, GRANULARITY);
            let address =
                address.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))?;
            Ok((address, kind))
        })
    }

    /// Allocates managed memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the size is 0, `OUT_OF_MEMORY` if not enough memory is free.
    pub(crate) fn managed(&self, size: u64, flags: u32, owner: Owner) -> Result<Pointer> {
        self.allocate(size, owner, flags, true, || {
            Ok((self.host_pages(size)?, AllocationKind::Managed))
        })
    }

    /// Allocates pinned host memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the size is 0, `OUT_OF_MEMORY` if not enough memory is free.
    pub(crate) fn pinned(&self, size: u64, flags: u32, owner: Owner) -> Result<Pointer> {
        self.allocate(size, owner, flags, false, || {
            Ok((self.host_pages(size)?, AllocationKind::Pinned))
        })
    }

    /// Makes the program's memory accessible to kernels, read-only unless `writable`.
    ///
    /// # Safety
    /// The memory stays valid until the program unregisters it.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the memory can't be accessed that way or the size is 0; `HOST_MEMORY_ALREADY_REGISTERED` if
    /// the range is invalid or overlaps known memory.
    pub(crate) unsafe fn register(
        &self,
        address: usize,
        size: u64,
        writable: bool,
        flags: u32,
        owner: Owner,
    ) -> Result {
        host_memory::check(address, size as usize)?;
        let allocated = self.allocate(size, owner, flags, false, || {
            // SAFETY: guaranteed by the caller.
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
        allocated.map(|_| ())
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
        let used = if takes_memory { before.saturating_add(rounded(size)) } else { before };
        let total = self.total.saturating_sub(self.other_bytes(home.device));
        if used > total && takes_memory {
            return Err(self.out_of_memory(size, total.saturating_sub(before)));
        }
        let (address, kind) = make()?;
        table.used.insert(home.device, used);
        table.add((address, size), kind, (context, home.device), flags);
        Ok(address)
    }

    /// Frees the allocation at this address, if `which` accepts its kind; returns false if there is no such allocation.
    /// Work that starts later faults if it accesses the memory. Work that already uses the memory may finish; if the
    /// memory belongs to the program, this waits for that work.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the emulator can't free it.
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
        if allocation.takes_memory() && !allocation.being_freed {
            table.subtract_used(allocation.device, allocation.size);
        }
        drop(table);
        self.release(&allocation)?;
        Ok(true)
    }

    /// Marks an allocation as being freed by a stream, and counts its memory as free. New allocations can use that
    /// memory before the stream reaches the free, because they get other addresses, and the host provides pages on
    /// first use.
    pub(crate) fn begin_free(&self, address: Pointer) {
        let mut table = self.table();
        let Some(allocation) = table.list.get_mut(&address) else { return };
        if !std::mem::replace(&mut allocation.being_freed, true) {
            let (device, size) = (allocation.device, allocation.size);
            table.subtract_used(device, size);
            self.memory().mark_freed(address);
        }
    }

    /// Calls `f` with the allocation that contains an address; `None` if no allocation does.
    pub(crate) fn with_allocation<T>(
        &self,
        address: Pointer,
        f: impl FnOnce(&mut Allocation) -> T,
    ) -> Option<T> {
        let mut table = self.table();
        let (base, allocation) = table.list.range_mut(..=address).next_back()?;
        (address - base < allocation.size).then(|| f(allocation))
    }

    /// Frees all allocations of a context. Registered memory stays with the program.
    pub(crate) fn free_context(&self, context: Handle) -> Result {
        for (address, ..) in self.list(Some(context)) {
            self.free(address, |_| true)?;
        }
        Ok(())
    }

    /// The allocations, of one context or of all contexts, that were not freed: their addresses, sizes and
    /// descriptions.
    pub(crate) fn list(&self, context: Option<Handle>) -> Vec<(Pointer, u64, &'static str)> {
        let describe = |kind: &AllocationKind| match kind {
            AllocationKind::Device => "device memory",
            AllocationKind::Pooled(_) => "device memory from a pool",
            AllocationKind::Array => "an array",
            AllocationKind::Managed => "managed memory",
            AllocationKind::Pinned => "pinned host memory",
            AllocationKind::Registered => "registered host memory",
            AllocationKind::Mapped => "mapped memory",
            AllocationKind::Foreign(_) => "memory of another process",
        };
        let table = self.table();
        // Mappings are omitted, since physical memory is listed by its handles.
        let wanted = |one: &&Allocation| {
            context.is_none_or(|context| one.context == context)
                && !matches!(one.kind, AllocationKind::Mapped)
        };
        let list = table.list.values().filter(wanted);
        list.map(|one| (one.address, one.size, describe(&one.kind))).collect()
    }

    fn release(&self, allocation: &Allocation) -> Result {
        let memory = self.memory();
        let done = match allocation.kind {
            AllocationKind::Device
            | AllocationKind::Pooled(_)
            | AllocationKind::Array
            | AllocationKind::Managed
            | AllocationKind::Pinned
            | AllocationKind::Foreign(_) => memory.free(allocation.address),
            AllocationKind::Registered => memory.unregister(allocation.address),
            // Mappings are not freed here; only `unmap` removes them.
            AllocationKind::Mapped => Ok(()),
        };
        done.map_err(|error| Code::INVALID_VALUE.because(error.to_string()))
    }
}

fn rounded(size: u64) -> u64 {
    size.checked_next_multiple_of(GRANULARITY).unwrap_or(u64::MAX)
}
