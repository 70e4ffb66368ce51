//! Which memory was given out, as what and by whom. The emulator's own table says what a kernel may
//! access; this one says what it is to the program.

#![allow(unsafe_code, reason = "makes memory of the host's accessible to kernels")]

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Handle, Location, Pointer};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::host::{self, Pages};

/// Device memory is given out in units of this, as the free memory shows.
const UNIT: u64 = 512;

/// What memory is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// `cuMemAlloc`
    Device,
    /// `cuMemAllocAsync`, from the pool of that handle.
    Pooled(Handle),
    /// `cuMemAllocManaged`: accessible to host and device.
    Managed(#[expect(dead_code, reason = "held for its `Drop`")] Pages),
    /// `cuMemHostAlloc`: the host's, accessible to the device.
    Pinned(#[expect(dead_code, reason = "held for its `Drop`")] Pages),
    /// `cuMemHostRegister`: the program's own.
    Registered,
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) address: Pointer,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    /// The context that it was allocated in.
    pub(crate) context: Handle,
    /// The flags that it was allocated with.
    pub(crate) flags: u32,
    /// `CU_POINTER_ATTRIBUTE_BUFFER_ID`: never the same twice.
    pub(crate) id: u64,
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`
    pub(crate) sync_operations: bool,
    /// It belongs to a graph, and lives as long as that.
    pub(crate) reserved: bool,
    /// It stands in a stream to be freed.
    pub(crate) leaving: bool,
    pub(crate) advice: Advice,
}

/// What the program said of managed memory. It changes nothing, as host and device have the same
/// memory, and can be asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<Location>,
    pub(crate) accessed_by: bool,
    pub(crate) prefetched: Option<Location>,
}

impl Kind {
    /// Whether `cuMemFreeAsync` takes it.
    pub(crate) fn is_freed_in_order(&self) -> bool {
        matches!(self, Self::Device | Self::Pooled(_))
    }
}

impl Allocation {
    /// Whether it is the host's.
    pub(crate) fn is_host(&self) -> bool {
        matches!(self.kind, Kind::Pinned(_) | Kind::Registered)
    }

    /// Whether it takes up the device's memory.
    fn takes_memory(&self) -> bool {
        !self.is_host()
    }
}

/// Every allocation.
#[derive(Debug)]
pub(crate) struct Allocations {
    table: Mutex<Table>,
    total: u64,
}

#[derive(Debug, Default)]
struct Table {
    list: BTreeMap<Pointer, Allocation>,
    used: u64,
    next_id: u64,
}

impl Allocations {
    /// Of a device with so much memory, or as much as the machine has.
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self { table: Mutex::default(), total: total.unwrap_or_else(machine_memory) }
    }

    /// The device's memory.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What of it nobody has.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.total.saturating_sub(self.table().used)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device memory, `Device` or `Pooled`.
    ///
    /// # Errors
    /// `INVALID_VALUE` for nothing, `OUT_OF_MEMORY`.
    pub(crate) fn device(&self, size: u64, kind: Kind, context: Handle) -> Result<Pointer> {
        self.allocate(size, context, 0, true, || {
            let address = driver()?.emulator.memory().allocate(size, UNIT);
            let address =
                address.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))?;
            Ok((address, kind))
        })
    }

    /// Managed memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for nothing, `OUT_OF_MEMORY`.
    pub(crate) fn managed(&self, size: u64, flags: u32, context: Handle) -> Result<Pointer> {
        self.allocate(size, context, flags, true, || {
            let pages = pages(size)?;
            Ok((pages.address() as u64, Kind::Managed(pages)))
        })
    }

    /// Pinned memory of the host's.
    ///
    /// # Errors
    /// `INVALID_VALUE` for nothing, `OUT_OF_MEMORY`.
    pub(crate) fn pinned(&self, size: u64, flags: u32, context: Handle) -> Result<Pointer> {
        self.allocate(size, context, flags, false, || {
            let pages = pages(size)?;
            Ok((pages.address() as u64, Kind::Pinned(pages)))
        })
    }

    /// The program's own memory, made accessible to the device.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what can't be read, `HOST_MEMORY_ALREADY_REGISTERED`.
    pub(crate) fn register(
        &self,
        address: usize,
        size: u64,
        flags: u32,
        context: Handle,
    ) -> Result {
        host::check(address, size as usize)?;
        let made = self.allocate(size, context, flags, false, || {
            // SAFETY: the program vouches that its memory stays until it unregisters it.
            let registered = unsafe { driver()?.emulator.memory().register(address as u64, size) };
            let known = |error: ptx_emulator::memory::RegisterError| {
                Code::HOST_MEMORY_ALREADY_REGISTERED.because(error.to_string())
            };
            registered.map_err(known)?;
            Ok((address as u64, Kind::Registered))
        });
        made.map(|_| ())
    }

    fn allocate(
        &self,
        size: u64,
        context: Handle,
        flags: u32,
        takes_memory: bool,
        make: impl FnOnce() -> Result<(Pointer, Kind)>,
    ) -> Result<Pointer> {
        if size == 0 {
            return Err(Code::INVALID_VALUE.because("0 bytes can't be allocated"));
        }
        let mut table = self.table();
        let used = if takes_memory { table.used.saturating_add(units(size)) } else { table.used };
        if used > self.total {
            let (free, total) = (self.total.saturating_sub(table.used), self.total);
            return Err(Code::OUT_OF_MEMORY
                .because(format!("{size} bytes are wanted, and {free} of {total} are free")));
        }
        let (address, kind) = make()?;
        table.used = used;
        table.next_id += 1;
        let id = table.next_id;
        let made = Allocation {
            address,
            size,
            kind,
            context,
            flags,
            id,
            sync_operations: false,
            reserved: false,
            leaving: false,
            advice: Advice::default(),
        };
        table.list.insert(address, made);
        Ok(address)
    }

    /// Forgets an allocation that begins there, if it is one of those that `which` takes, and gives
    /// it back. No work that uses it may be left.
    ///
    /// # Errors
    /// `None` when there is no such allocation.
    pub(crate) fn free(&self, address: Pointer, which: impl Fn(&Kind) -> bool) -> Result<bool> {
        let mut table = self.table();
        if !table.list.get(&address).is_some_and(|allocation| which(&allocation.kind)) {
            return Ok(false);
        }
        let Some(allocation) = table.list.remove(&address) else { return Ok(false) };
        if allocation.takes_memory() {
            table.used -= units(allocation.size);
        }
        drop(table);
        release(&allocation)?;
        Ok(true)
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
        let word = |kind: &Kind| match kind {
            Kind::Device => "device memory",
            Kind::Pooled(_) => "device memory from a pool",
            Kind::Managed(_) => "managed memory",
            Kind::Pinned(_) => "pinned host memory",
            Kind::Registered => "registered host memory",
        };
        let table = self.table();
        let wanted = |one: &&Allocation| context.is_none_or(|context| one.context == context);
        let list = table.list.values().filter(wanted);
        list.map(|one| (one.address, one.size, word(&one.kind))).collect()
    }

    /// Bytes that were allocated from a pool and not freed.
    pub(crate) fn of_pool(&self, pool: Handle) -> u64 {
        let table = self.table();
        let own = table
            .list
            .values()
            .filter(|one| matches!(one.kind, Kind::Pooled(from) if from == pool));
        own.map(|one| units(one.size)).sum()
    }
}

fn units(size: u64) -> u64 {
    size.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX)
}

fn pages(size: u64) -> Result<Pages> {
    let pages = Pages::allocate(size)
        .ok_or_else(|| Code::OUT_OF_MEMORY.because(format!("the host has no {size} bytes left")))?;
    // SAFETY: the pages are freed only after `release` has unregistered them.
    let registered = unsafe { driver()?.emulator.memory().register(pages.address() as u64, size) };
    registered.map_err(|error| Code::OUT_OF_MEMORY.because(error.to_string()))?;
    Ok(pages)
}

fn release(allocation: &Allocation) -> Result {
    let memory = driver()?.emulator.memory();
    let done = match allocation.kind {
        Kind::Device | Kind::Pooled(_) => memory.free(allocation.address),
        Kind::Managed(_) | Kind::Pinned(_) | Kind::Registered => {
            memory.unregister(allocation.address)
        }
    };
    done.map_err(|error| Code::INVALID_VALUE.because(error.to_string()))
}

/// The machine's memory in bytes; 8 GiB where it does not say.
fn machine_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or(8 << 30, |kilobytes| kilobytes << 10)
}
