//! Device memory. A device address is a host address, so memory that the host registers has the
//! same address on the device. The table of allocations decides what may be accessed.
//!
//! Between two allocations there is always a gap that belongs to neither of them, so that an index
//! that is off by one is detected. Freed memory stays unusable for a while, so that a use after
//! free is detected.

#![allow(unsafe_code, reason = "device memory is raw memory that several host threads access")]

mod allocation;
mod error;
mod heap;
mod initialised_bytes;
mod interprocess;
mod kernel_heaps;
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
pub(crate) use initialised_bytes::InitialisedBytes;
pub use launch_heap::Heap;
use leases::Leases;
use pages::PAGE_BYTES;
use physical::Stores;
pub use physical::{GRANULARITY, Physical};
pub(crate) use reach::wrong_device;
pub use reach::{Devices, Home, Reach};
pub use shared_memory::{OpenError, ShareError, SharedMemory, SharedNumbers};
use space::Space;
use table::Table;
pub(crate) use table::{Lookup, Neighbourhood, Shadow, no_access, read_only, unmapped};
pub use table::{MapError, Mapping};

/// The memory of the emulated devices, in one range of addresses.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Table>,
    /// The leases of running work. Memory that such work may have found is not returned to the
    /// host.
    leases: Leases,
    bindings: Bindings,
    conditions: Conditions,
    /// The host memory from which physical memory (`cuMemCreate`) is taken.
    stores: Stores,
    /// Whether the quarantine holds more freed memory than its limit, because leases prevent its
    /// release.
    is_quarantine_full: AtomicBool,
}

/// A guard: while it is alive, allocations that were found in the table stay where they are.
#[derive(Debug)]
pub(crate) struct Lease<'memory> {
    memory: &'memory Memory,
    number: u64,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.memory.leases.end(self.number);
        if self.memory.is_quarantine_full.load(Ordering::Relaxed) {
            self.memory.shrink_quarantine(&mut self.memory.write_table());
        }
    }
}

impl Memory {
    /// Creates the memory of the devices, with `max_bytes` each. If `track`, it records for each
    /// byte whether it has been written. If `reserve`, the memory is in a reserved address range
    /// where the process can have one.
    pub(crate) fn new(reserve: bool, track: bool, max_bytes: u64) -> Self {
        let space = if reserve { Space::reserve() } else { None };
        Self {
            table: RwLock::new(Table::new(space, track, max_bytes)),
            leases: Leases::default(),
            bindings: Bindings::default(),
            conditions: Conditions::default(),
            stores: Stores::default(),
            is_quarantine_full: AtomicBool::new(false),
        }
    }

    /// The textures and surfaces, by handle.
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
        self.read_table().total_bytes()
    }

    /// The bytes that the variables of loaded modules take on a device.
    #[must_use]
    pub fn variable_bytes(&self, device: u32) -> u64 {
        self.read_table().variable_bytes(device)
    }

    /// Allocates `size` zeroed bytes on the first device, at an address that is a multiple of
    /// `align` (a power of two) and of 256, like CUDA's. A size of 0 gets a distinct address.
    ///
    /// # Errors
    /// If the host is out of memory, or `align` is not a power of two.
    pub fn allocate(&self, size: u64, align: u64) -> Result<u64, OutOfMemory> {
        self.allocate_at(Home::default(), size, align)
    }

    /// Allocates zeroed bytes like [`allocate`](Self::allocate), on any device.
    ///
    /// # Errors
    /// The errors of [`allocate`](Self::allocate).
    pub fn allocate_at(&self, home: Home, size: u64, align: u64) -> Result<u64, OutOfMemory> {
        self.allocate_as(size, align, AllocationKind::Device, None, home)
    }

    /// The device of the allocation that holds an address, and the devices that may access it.
    #[must_use]
    pub fn home(&self, address: u64) -> Option<Home> {
        self.read_table().home(address)
    }

    /// Sets which other devices may access the allocation that starts at an address.
    pub fn share(&self, base: u64, devices: Devices) {
        self.write_table().share(base, devices);
    }

    /// Allocates zeroed bytes like [`allocate`](Self::allocate), with a kind and a name for
    /// reports.
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

    /// Allocates `size` zeroed bytes that the host also uses (pinned or managed memory), at a page
    /// boundary. [`free`](Self::free) frees it.
    ///
    /// # Errors
    /// If the host is out of memory.
    pub fn allocate_host(&self, size: u64) -> Result<u64, OutOfMemory> {
        self.allocate_as(size, PAGE_BYTES, AllocationKind::Host, None, Home::everywhere())
    }

    /// Frees memory from [`allocate`](Self::allocate). New work can no longer find it; it is
    /// returned to the host after the running work that may have found it has ended.
    ///
    /// # Errors
    /// If no allocation starts there.
    pub fn free(&self, address: u64) -> Result<(), NotAllocated> {
        let mut table = self.write_table();
        if !table.free(address, || self.leases.next()) {
            return Err(NotAllocated { address });
        }
        self.shrink_quarantine(&mut table);
        Ok(())
    }

    /// Counts an allocation as free, although it can be accessed until [`free`](Self::free) frees
    /// it: memory that is freed in a stream's order is available to later work in that order.
    pub fn mark_freed(&self, address: u64) {
        self.write_table().mark_freed(address);
    }

    fn shrink_quarantine(&self, table: &mut Table) {
        let is_full = table.shrink_quarantine(self.leases.oldest());
        self.is_quarantine_full.store(is_full, Ordering::Relaxed);
    }

    /// Makes host memory accessible to kernels, at the same address. Kernels may write to the
    /// memory if `writable` is set.
    ///
    /// # Safety
    /// The range has to stay accessible until [`unregister`](Self::unregister) has returned. If the
    /// host unmaps some of it earlier, later work detects that.
    ///
    /// # Errors
    /// If the range is empty, wraps around, overlaps known memory, or can't be accessed completely.
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

    /// Undoes [`register`](Self::register), and waits for the work that may have found the memory.
    /// Must not be called by such work.
    ///
    /// # Errors
    /// If no registered range starts there.
    pub fn unregister(&self, address: u64) -> Result<(), NotAllocated> {
        // The lock is released before the wait, because the work that is waited for locks the
        // table.
        if !self.write_table().unregister(address) {
            return Err(NotAllocated { address });
        }
        self.leases.wait_for_those_before(self.leases.next());
        Ok(())
    }

    /// The start and the size of the allocation that holds an address.
    #[must_use]
    pub fn range_of(&self, address: u64) -> Option<(u64, u64)> {
        match self.read_table().find(address, 1) {
            Lookup::Live { base, size, .. } => Some((base, size)),
            _ => None,
        }
    }

    /// Whether a range touches device memory, the gap around an allocation or recently freed
    /// memory, without being inside one allocation. Programs pass such addresses by mistake where
    /// host memory is expected.
    #[must_use]
    pub fn is_astray(&self, address: u64, len: u64) -> bool {
        self.read_table().is_astray(address, len)
    }

    /// Whether the memory records for each byte whether it has been written.
    #[must_use]
    pub fn tracks(&self) -> bool {
        self.read_table().tracks()
    }

    /// All live allocations, by address.
    #[must_use]
    pub fn allocations(&self) -> Vec<Allocation> {
        self.read_table().allocations()
    }

    /// Checks a range that a host library is about to read, by the rules for a kernel's access.
    /// Returns the address of the first byte that has not been written, if any.
    ///
    /// # Errors
    /// If the range is not inside one allocation, or that allocation can't be accessed from there.
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

    /// Checks a range that a host library is about to write, and marks it as written.
    ///
    /// # Errors
    /// If the range is not inside one allocation, or that allocation can't be accessed from there.
    pub fn check_write(&self, address: u64, len: u64, from: Reach) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, len, true, from)?;
        table.set_initialised(address, len);
        Ok(())
    }

    /// Runs `body` with a lease, as in a launch: ranges that [`check_read`](Self::check_read) and
    /// [`check_write`](Self::check_write) accept in it stay accessible until it returns.
    pub fn with_lease<T>(&self, body: impl FnOnce() -> T) -> T {
        let _lease = self.lease();
        body()
    }

    /// Allocations of the host and of kernels that have not been freed. At the end of a program,
    /// this is the leak report.
    #[must_use]
    pub fn leaks(&self) -> Vec<Allocation> {
        let mut list = self.allocations();
        list.retain(|one| matches!(one.kind, AllocationKind::Device | AllocationKind::Heap));
        list
    }

    /// Finds the memory of a kernel's access of `len` bytes. The caller holds a lease.
    pub(crate) fn open(&self, address: u64, len: u64, write: bool, from: Reach) -> Lookup {
        self.read_table().open(address, len, write, from)
    }

    /// Describes the surroundings of an address, for a report.
    pub(crate) fn neighbourhood(&self, address: u64) -> Neighbourhood {
        self.read_table().neighbourhood(address)
    }

    /// Takes a lease: memory found from now on stays where it is until the guard is dropped.
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
