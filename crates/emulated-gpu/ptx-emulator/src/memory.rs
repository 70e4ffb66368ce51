//! Device memory. An address of the device is an address of the host, so what the host registers
//! is the same memory at the same address; the table of allocations says what may be accessed.
//!
//! Between two allocations there is always space that belongs to none, so that an index that is
//! off by one is found. What is freed stays unusable for a while, so that its later use is found.

#![allow(
    unsafe_code,
    reason = "device memory is raw memory: kernels on several host threads read and write it"
)]

mod allocation;
mod error;
mod heap;
mod interprocess;
mod kernel_heaps;
mod known;
mod launch_heap;
mod leases;
mod mapped;
mod pages;
mod physical;
mod pieces;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has files of memory"))]
mod ranges;
mod reach;
mod shared;
mod shared_memory;
mod space;
mod table;
mod transfers;
mod virtual_memory;

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::conditions::Conditions;
pub use crate::room::OutOfMemory;
use crate::texture::Bindings;
pub use allocation::{Allocation, AllocationKind};
pub(crate) use device_memory::rows;
pub use device_memory::words;
pub use error::{AccessError, NotAllocated, RegisterError};
pub(crate) use known::Known;
pub use launch_heap::Heap;
use leases::Leases;
use pages::PAGE;
use physical::Stores;
pub use physical::{GRANULARITY, Physical};
pub(crate) use reach::elsewhere;
pub use reach::{Devices, Home, Reach};
pub use shared_memory::{OpenError, ShareError, SharedMemory, SharedNumbers};
use space::Space;
use table::Table;
pub(crate) use table::{Found, Neighbourhood, Shadow, closed, read_only, unmapped};
pub use table::{MapError, Mapping};

/// The memory of the emulated devices, in one range of addresses.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Table>,
    /// Work that runs now. Nothing that it may have found goes back to the host.
    leases: Leases,
    bindings: Bindings,
    conditions: Conditions,
    /// What physical memory is taken from that is mapped nowhere by itself.
    stores: Stores,
    /// More has been freed than is kept, and can't go back yet.
    is_full: AtomicBool,
}

/// For its life time, what is found in the table of allocations stays where it is.
#[derive(Debug)]
pub(crate) struct Lease<'memory> {
    memory: &'memory Memory,
    number: u64,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.memory.leases.end(self.number);
        if self.memory.is_full.load(Ordering::Relaxed) {
            self.memory.shrink_quarantine(&mut self.memory.write_table());
        }
    }
}

impl Memory {
    /// Memory of this many bytes a device, that knows, where `track` says so, of each byte whether something has
    /// written it; where `reserve` says so, in addresses of its own, as far as the process may have them.
    pub(crate) fn new(reserve: bool, track: bool, most: u64) -> Self {
        let space = if reserve { Space::reserve() } else { None };
        Self {
            table: RwLock::new(Table::new(space, track, most)),
            leases: Leases::default(),
            bindings: Bindings::default(),
            conditions: Conditions::default(),
            stores: Stores::default(),
            is_full: AtomicBool::new(false),
        }
    }

    /// The textures and surfaces that are bound to handles.
    #[must_use]
    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// The conditions of conditional graph nodes.
    #[must_use]
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The size of a device's memory in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.read_table().total()
    }

    /// Bytes that the variables of loaded modules take on a device.
    #[must_use]
    pub fn variable_bytes(&self, device: u32) -> u64 {
        self.read_table().variable_bytes(device)
    }

    /// Allocates `size` bytes of the first device, zeroed, at an address that is a multiple of `align`
    /// (a power of two) and of 256, as CUDA's are. A size of 0 gets a distinct address.
    ///
    /// # Errors
    /// If the host is out of memory, or `align` is no power of two.
    pub fn allocate(&self, size: u64, align: u64) -> Result<u64, OutOfMemory> {
        self.allocate_at(Home::default(), size, align)
    }

    /// As [`allocate`](Self::allocate), on any device.
    ///
    /// # Errors
    /// As of [`allocate`](Self::allocate).
    pub fn allocate_at(&self, home: Home, size: u64, align: u64) -> Result<u64, OutOfMemory> {
        self.allocate_as(size, align, AllocationKind::Device, None, home)
    }

    /// The device of the allocation that holds an address, and the devices that may access it.
    #[must_use]
    pub fn home(&self, address: u64) -> Option<Home> {
        self.read_table().home(address)
    }

    /// Sets which other devices may access the allocation that begins at an address.
    pub fn share(&self, base: u64, with: Devices) {
        self.write_table().share(base, with);
    }

    /// As [`allocate`](Self::allocate), for another purpose and with a name for reports.
    pub(crate) fn allocate_as(
        &self,
        size: u64,
        align: u64,
        kind: AllocationKind,
        name: Option<String>,
        home: Home,
    ) -> Result<u64, OutOfMemory> {
        let mut table = self.write_table();
        table.allocate(size, align, kind, name, home)
    }

    /// Allocates `size` bytes, zeroed, that the host uses too: pinned or managed memory, at the
    /// beginning of a page. [`free`](Self::free) frees it.
    ///
    /// # Errors
    /// If the host is out of memory.
    pub fn allocate_host(&self, size: u64) -> Result<u64, OutOfMemory> {
        self.allocate_as(size, PAGE, AllocationKind::Host, None, Home::everywhere())
    }

    /// Frees memory from [`allocate`](Self::allocate). New work can't find it any longer; it returns to
    /// the host when the running work that has found it ends.
    ///
    /// # Errors
    /// If no allocation begins there.
    pub fn free(&self, address: u64) -> Result<(), NotAllocated> {
        let mut table = self.write_table();
        if !table.free(address, || self.leases.next()) {
            return Err(NotAllocated { address });
        }
        self.shrink_quarantine(&mut table);
        Ok(())
    }

    /// Takes an allocation as given back, though it can be accessed until [`free`](Self::free) frees
    /// it: the memory that is freed in a stream's order is there for what comes later in that order.
    pub fn leave(&self, address: u64) {
        self.write_table().leave(address);
    }

    fn shrink_quarantine(&self, table: &mut Table) {
        let is_full = table.shrink_quarantine(self.leases.oldest());
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Makes memory of the host's accessible to kernels, at the same address; they may write to it
    /// where it is `writable`.
    ///
    /// # Safety
    /// The range has to stay as accessible as it is until [`unregister`](Self::unregister) has
    /// returned. Where the host unmaps some of it all the same, what runs after that finds it out.
    ///
    /// # Errors
    /// When the range is empty, wraps around, overlaps what is known already, or some of it can't be
    /// accessed.
    pub unsafe fn register(
        &self,
        address: u64,
        len: u64,
        writable: bool,
    ) -> Result<(), RegisterError> {
        if !mapped::populate(address, len, writable) {
            return Err(RegisterError::NoAccess { address, len, writable });
        }
        self.write_table().register(address, len, writable)
    }

    /// Takes back what [`register`](Self::register) did, and waits for the work that may have found
    /// the memory. Not to be called by such work.
    ///
    /// # Errors
    /// When no registered range begins there.
    pub fn unregister(&self, address: u64) -> Result<(), NotAllocated> {
        // The lock is given back before the wait: what is waited for asks the table.
        if !self.write_table().unregister(address) {
            return Err(NotAllocated { address });
        }
        self.leases.wait_for_those_before(self.leases.next());
        Ok(())
    }

    /// The base and the size of the allocation that holds an address.
    #[must_use]
    pub fn range_of(&self, address: u64) -> Option<(u64, u64)> {
        match self.read_table().find(address, 1) {
            Found::Live { base, size, .. } => Some((base, size)),
            _ => None,
        }
    }

    /// Whether a range touches the device's memory, the space around an allocation or what was freed
    /// not long ago, without being inside one allocation: an address that was meant to be the
    /// program's own memory, and is not.
    #[must_use]
    pub fn is_astray(&self, address: u64, len: u64) -> bool {
        self.read_table().is_astray(address, len)
    }

    /// Whether it is known of each byte if something has written it.
    #[must_use]
    pub fn tracks(&self) -> bool {
        self.read_table().tracks()
    }

    /// Every allocation that is alive, by address.
    #[must_use]
    pub fn allocations(&self) -> Vec<Allocation> {
        self.read_table().allocations()
    }

    /// Checks a range that something other than a kernel is about to read, such as a library of the
    /// host's, as a kernel's access is checked: gives the first byte that nothing has written.
    ///
    /// # Errors
    /// When the range is not inside one allocation, or that can't be accessed from there.
    pub fn check_read(
        &self,
        address: u64,
        len: u64,
        from: Reach,
    ) -> Result<Option<u64>, AccessError> {
        let table = self.read_table();
        table.require(address, len, false, from)?;
        Ok(table.first_uninitialised(address, len))
    }

    /// Checks a range that something other than a kernel is about to write; it counts as written.
    ///
    /// # Errors
    /// When the range is not inside one allocation, or that can't be accessed from there.
    pub fn check_write(&self, address: u64, len: u64, from: Reach) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, len, true, from)?;
        table.set_initialised(address, len);
        Ok(())
    }

    /// Does something during which what it finds stays where it is, as during a launch: ranges that
    /// [`check_read`](Self::check_read) and [`check_write`](Self::check_write) let pass meanwhile can
    /// be accessed until it ends.
    pub fn keep_while<T>(&self, body: impl FnOnce() -> T) -> T {
        let _lease = self.lease();
        body()
    }

    /// What was asked for, by the host or by a kernel, and has not been freed: the leak report, when
    /// asked at the end.
    #[must_use]
    pub fn leaks(&self) -> Vec<Allocation> {
        let mut list = self.allocations();
        list.retain(|one| matches!(one.kind, AllocationKind::Device | AllocationKind::Heap));
        list
    }

    /// What a kernel's access of `len` bytes meets. The caller holds a lease.
    pub(crate) fn open(&self, address: u64, len: u64, write: bool, from: Reach) -> Found {
        self.read_table().open(address, len, write, from)
    }

    /// What lies near an address, for a report.
    pub(crate) fn neighbourhood(&self, address: u64) -> Neighbourhood {
        self.read_table().neighbourhood(address)
    }

    /// Announces work: what it finds from now on stays where it is until the guard is dropped.
    pub(crate) fn lease(&self) -> Lease<'_> {
        Lease { memory: self, number: self.leases.begin() }
    }

    fn read_table(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write_table(&self) -> std::sync::RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
