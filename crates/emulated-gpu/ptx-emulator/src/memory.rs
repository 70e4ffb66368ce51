//! Device memory. An address of the device is an address of the host, so what the host registers
//! is the same memory at the same address; the table of allocations says what may be accessed.
//!
//! Between two allocations there is always space that belongs to none, so that an index that is
//! off by one is found. What is freed stays unusable for a while, so that its later use is found.

#![allow(
    unsafe_code,
    reason = "device memory is raw memory: kernels on several host threads read and write it"
)]

mod table;

use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use table::Table;
pub use table::{Allocation, AllocationKind};
pub(crate) use table::{Found, Neighbourhood, Shadow};

/// There is no memory left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: {size} bytes can't be allocated; free something or allocate less")]
pub struct OutOfMemory {
    /// The size that was asked for.
    pub size: u64,
}

/// No allocation begins at that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no allocation begins at {address:#x}; free an address that `allocate` gave, once")]
pub struct NotAllocated {
    /// The address.
    pub address: u64,
}

/// A range that is not inside one allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes at {address:#x} are not inside one allocation: {nearest}")]
pub struct AccessError {
    /// The first byte.
    pub address: u64,
    /// How many.
    pub len: u64,
    /// What lies near.
    pub nearest: String,
}

/// A range that can't be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{len} bytes at {address:#x} can't be registered: empty, beyond the end of memory, or overlapping what is known already"
)]
pub struct RegisterError {
    /// The first byte.
    pub address: u64,
    /// How many.
    pub len: u64,
}

/// The memory of one emulated device.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Table>,
    /// Launches that run now. While there are any, nothing goes back to the host's allocator.
    running: AtomicUsize,
}

/// Says for its life time that a launch is running.
#[derive(Debug)]
pub(crate) struct Running<'memory>(&'memory Memory);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Memory {
    /// Memory that knows, where `track` says so, of each byte whether something has written it.
    pub(crate) fn new(track: bool) -> Self {
        Self { table: RwLock::new(Table::new(track)), running: AtomicUsize::new(0) }
    }

    /// Allocates `size` bytes, zeroed, at an address that is a multiple of `align` (a power of two)
    /// and of 256, as CUDA's are. A size of 0 is given an address of its own.
    ///
    /// # Errors
    /// When the host has no more memory, or `align` is no power of two.
    pub fn allocate(&self, size: u64, align: u64) -> Result<u64, OutOfMemory> {
        self.allocate_as(size, align, AllocationKind::Device, None)
    }

    /// As [`allocate`](Self::allocate), for another purpose and with a name for reports.
    pub(crate) fn allocate_as(
        &self,
        size: u64,
        align: u64,
        kind: AllocationKind,
        name: Option<String>,
    ) -> Result<u64, OutOfMemory> {
        let mut table = self.write_table();
        table.allocate(size, align, kind, name).ok_or(OutOfMemory { size })
    }

    /// Frees what [`allocate`](Self::allocate) gave.
    ///
    /// # Errors
    /// When no allocation begins there.
    pub fn free(&self, address: u64) -> Result<(), NotAllocated> {
        let mut table = self.write_table();
        if !table.free(address) {
            return Err(NotAllocated { address });
        }
        // The lock is held, and a launch announces itself under it: none begins meanwhile.
        if self.running.load(Ordering::SeqCst) == 0 {
            table.shrink_quarantine();
        }
        Ok(())
    }

    /// Copies from the device to the host.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, into.len() as u64)?;
        // SAFETY: the range is inside an allocation, which lives as long as the lock is held;
        // `into` is memory of the host's that nothing else refers to.
        unsafe { std::ptr::copy(address as *const u8, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies from the host to the device.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, bytes.len() as u64)?;
        table.set_initialised(address, bytes.len() as u64);
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        Ok(())
    }

    /// Writes `pattern` (of 1, 2 or 4 bytes) `count` times.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), AccessError> {
        let table = self.read_table();
        let len = (pattern.len() as u64).saturating_mul(count);
        table.require(address, len)?;
        table.set_initialised(address, len);
        if let [byte] = *pattern {
            // SAFETY: as in `read`.
            unsafe { std::ptr::write_bytes(address as *mut u8, byte, len as usize) };
            return Ok(());
        }
        for index in 0..count {
            let to = address + index * pattern.len() as u64;
            // SAFETY: as in `read`; `to` and the pattern's length stay inside the range.
            unsafe { std::ptr::copy(pattern.as_ptr(), to as *mut u8, pattern.len()) };
        }
        Ok(())
    }

    /// Copies inside the device; the ranges may overlap.
    ///
    /// # Errors
    /// When a range is not inside one allocation.
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(to, len)?;
        table.require(from, len)?;
        table.copy_initialised(to, from, len);
        // SAFETY: both ranges are inside allocations, which live as long as the lock is held.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len as usize) };
        Ok(())
    }

    /// Makes memory of the host's accessible to kernels, at the same address.
    ///
    /// # Safety
    /// The range has to stay readable and writable until [`unregister`](Self::unregister) has
    /// returned and no launch is running.
    ///
    /// # Errors
    /// When the range is empty, wraps around, or overlaps what is known already.
    pub unsafe fn register(&self, address: u64, len: u64) -> Result<(), RegisterError> {
        if self.write_table().register(address, len) {
            Ok(())
        } else {
            Err(RegisterError { address, len })
        }
    }

    /// Takes back what [`register`](Self::register) did.
    ///
    /// # Errors
    /// When no registered range begins there.
    pub fn unregister(&self, address: u64) -> Result<(), NotAllocated> {
        if self.write_table().unregister(address) { Ok(()) } else { Err(NotAllocated { address }) }
    }

    /// The base and the size of the allocation that holds an address.
    #[must_use]
    pub fn range_of(&self, address: u64) -> Option<(u64, u64)> {
        match self.read_table().find(address, 1) {
            Found::Live { base, size, .. } => Some((base, size)),
            _ => None,
        }
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
    /// When the range is not inside one allocation.
    pub fn check_read(&self, address: u64, len: u64) -> Result<Option<u64>, AccessError> {
        let table = self.read_table();
        table.require(address, len)?;
        Ok(table.first_uninitialised(address, len))
    }

    /// Checks a range that something other than a kernel is about to write; it counts as written.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn check_write(&self, address: u64, len: u64) -> Result<(), AccessError> {
        let table = self.read_table();
        table.require(address, len)?;
        table.set_initialised(address, len);
        Ok(())
    }

    /// Does something during which what is freed stays where it is, as during a launch.
    pub fn keep_while<T>(&self, body: impl FnOnce() -> T) -> T {
        let _running = self.running();
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

    /// What an access of `len` bytes would meet.
    pub(crate) fn find(&self, address: u64, len: u64) -> Found {
        self.read_table().find(address, len)
    }

    /// What lies near an address, for a report.
    pub(crate) fn neighbourhood(&self, address: u64) -> Neighbourhood {
        self.read_table().neighbourhood(address)
    }

    /// Announces a launch: until the guard is dropped, host memory stays where it is.
    pub(crate) fn running(&self) -> Running<'_> {
        // Under the lock, so that `free` sees it.
        let _table = self.read_table();
        self.running.fetch_add(1, Ordering::SeqCst);
        Running(self)
    }

    fn read_table(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write_table(&self) -> std::sync::RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
