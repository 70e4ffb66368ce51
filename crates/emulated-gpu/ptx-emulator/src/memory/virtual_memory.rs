//! Addresses without memory, memory without addresses, and putting the two together.

use std::sync::Arc;

use super::known::Known;
use super::physical::{GRANULARITY, Physical};
use super::table::{MapError, Mapping};
use super::{Memory, OutOfMemory};

impl Memory {
    /// Whether this machine has memory that can be mapped at several addresses: Linux has, where nothing
    /// forbids it to the process.
    #[must_use]
    pub fn can_map(&self) -> bool {
        self.stores.can_be()
    }

    /// Reserves `size` addresses, whole pages of the host's, at a multiple of `align` (a power of two) and
    /// of [`GRANULARITY`]: those from `hint` on, where it is not 0 and they are free. No memory is there.
    ///
    /// # Errors
    /// When the process may not have that many.
    pub fn reserve_addresses(&self, size: u64, align: u64, hint: u64) -> Result<u64, MapError> {
        self.write_table().reserve(size, align.max(GRANULARITY), hint)
    }

    /// Gives back all the addresses of a reservation.
    ///
    /// # Errors
    /// When it is none, or something is mapped there.
    pub fn release_addresses(&self, address: u64, size: u64) -> Result<(), MapError> {
        self.write_table().release(address, size)
    }

    /// Start and size of the reservation that holds an address.
    #[must_use]
    pub fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        self.read_table().reserved_at(address, address.saturating_add(1))
    }

    /// `size` bytes of a device's memory, a multiple of [`GRANULARITY`], zeroed, that are mapped nowhere;
    /// `exported`, where other processes are to get them.
    ///
    /// # Errors
    /// When the device or the host has not that many.
    pub fn create_physical(
        &self,
        size: u64,
        device: u32,
        exported: bool,
    ) -> Result<Arc<Physical>, OutOfMemory> {
        let none = OutOfMemory { size };
        if size == 0 || !size.is_multiple_of(GRANULARITY) {
            return Err(none);
        }
        let mut table = self.write_table();
        let counter = table.counter(device, size).ok_or(none)?;
        let mut made = Physical::new(&self.stores, size, device, exported)?;
        if table.tracks() {
            made.known = Some(Arc::new(Known::new(usize::try_from(size).map_err(|_| none)?)?));
        }
        Ok(Arc::new(made.counted(counter)))
    }

    /// Memory that this process or another one has exported, by the number of a file descriptor, which
    /// stays the caller's; `None` where it is none. It counts as that of the process that made it.
    #[must_use]
    pub fn import_physical(&self, descriptor: i32) -> Option<Arc<Physical>> {
        Physical::import(descriptor).map(Arc::new)
    }

    /// Bytes of a device that are physical memory, mapped or not.
    #[must_use]
    pub fn physical_bytes(&self, device: u32) -> u64 {
        self.read_table().physical_bytes(device)
    }

    /// Maps the first `size` bytes of physical memory at an address inside a reservation, both multiples
    /// of [`GRANULARITY`]. Nobody may access them there before [`set_access`](Self::set_access).
    ///
    /// # Errors
    /// When the addresses are not of one reservation, something is mapped there, there is less memory,
    /// or the process may not have more mappings.
    pub fn map(&self, address: u64, size: u64, physical: &Arc<Physical>) -> Result<(), MapError> {
        self.write_table().map(address, size, physical)
    }

    /// Takes whole mappings away. No work finds them from then on; `gone` is called, and what has found
    /// them before is waited for. Not to be called by such work.
    ///
    /// # Errors
    /// When the range is not made of whole mappings; then nothing is done.
    pub fn unmap(&self, address: u64, size: u64, gone: impl FnOnce()) -> Result<(), MapError> {
        // The lock is given back before the wait, as in `unregister`.
        let mappings = self.write_table().unmap(address, size)?;
        gone();
        self.leases.wait_for_those_before(self.leases.next());
        self.write_table().hide(&mappings);
        // The memory itself goes with the last mapping, outside of the lock.
        drop(mappings);
        Ok(())
    }

    /// Says what a device may do with whole mappings.
    ///
    /// # Errors
    /// When the range is not made of whole mappings; then nothing is done.
    pub fn set_access(
        &self,
        (address, size): (u64, u64),
        device: u32,
        read: bool,
        write: bool,
    ) -> Result<(), MapError> {
        self.write_table().set_access((address, size), device, read, write)
    }

    /// The mapping that holds an address.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<Mapping> {
        self.read_table().mapping(address)
    }

    /// Whether a range is inside one allocation, or goes through mappings that follow each other, whoever
    /// may access them.
    #[must_use]
    pub fn holds(&self, address: u64, len: u64) -> bool {
        self.read_table().holds(address, len)
    }

    /// Whether the host may copy from a range, or into it where it is to be written.
    ///
    /// # Errors
    /// When it is not inside one allocation, or no device may access it.
    pub fn check(&self, address: u64, len: u64, write: bool) -> Result<(), super::AccessError> {
        self.read_table().require(address, len, write, None)
    }

    /// Notes that a kernel has written a range that goes through several mappings.
    pub(crate) fn note_written(&self, address: u64, len: u64) {
        self.read_table().set_initialised(address, len);
    }
}
