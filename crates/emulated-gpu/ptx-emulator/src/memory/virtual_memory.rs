//! Virtual memory management: reserved addresses, physical memory, and mappings between the two.

use std::sync::Arc;

use super::initialised_bytes::InitialisedBytes;
use super::physical::{GRANULARITY, Physical};
use super::table::{MapError, Mapping};
use super::{Memory, OutOfMemory};

impl Memory {
    /// Whether physical memory can be mapped at several addresses on this machine: on Linux, unless
    /// the process may not use in-memory files.
    #[must_use]
    pub fn can_map(&self) -> bool {
        self.stores.is_supported()
    }

    /// Reserves `size` addresses (whole host pages) at a multiple of `align` (a power of two) and
    /// of [`GRANULARITY`]; at `hint` if that is not 0 and free. No memory is mapped there.
    ///
    /// # Errors
    /// If the process can't reserve that many.
    pub fn reserve_addresses(&self, size: u64, align: u64, hint: u64) -> Result<u64, MapError> {
        self.write_table().reserve(size, align.max(GRANULARITY), hint)
    }

    /// Releases all addresses of a reservation.
    ///
    /// # Errors
    /// If there is no such reservation, or something is mapped there.
    pub fn release_addresses(&self, address: u64, size: u64) -> Result<(), MapError> {
        self.write_table().release(address, size)
    }

    /// The start and size of the reservation that contains an address.
    #[must_use]
    pub fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        self.read_table().reserved_at(address, address.saturating_add(1))
    }

    /// Creates `size` zeroed bytes (a multiple of [`GRANULARITY`]) of physical memory on a device,
    /// not mapped anywhere. `exported` if other processes may get it.
    ///
    /// # Errors
    /// If the device or the host is out of memory.
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
        let mut physical = Physical::new(&self.stores, size, device, exported)?;
        if table.tracks() {
            physical.shadow =
                Some(Arc::new(InitialisedBytes::new(usize::try_from(size).map_err(|_| none)?)?));
        }
        Ok(Arc::new(physical.with_counter(counter)))
    }

    /// Imports memory that this or another process exported, by its file descriptor, which still
    /// belongs to the caller. `None` if the descriptor is not such memory. It counts as used memory
    /// of the process that created it.
    #[must_use]
    pub fn import_physical(&self, descriptor: i32) -> Option<Arc<Physical>> {
        Physical::import(descriptor).map(Arc::new)
    }

    /// The bytes of physical memory on a device, mapped or not.
    #[must_use]
    pub fn physical_bytes(&self, device: u32) -> u64 {
        self.read_table().physical_bytes(device)
    }

    /// Maps the first `size` bytes of physical memory at an address inside a reservation; both are
    /// multiples of [`GRANULARITY`]. It can't be accessed before [`set_access`](Self::set_access).
    ///
    /// # Errors
    /// If the addresses are not inside one reservation, something is mapped there, the physical
    /// memory is smaller, or the system refuses another mapping.
    pub fn map(&self, address: u64, size: u64, physical: &Arc<Physical>) -> Result<(), MapError> {
        self.write_table().map(address, size, physical)
    }

    /// Unmaps whole mappings. They can no longer be found; then `gone` is called, and this waits
    /// for the work that may have found them earlier. Must not be called by such work.
    ///
    /// # Errors
    /// If the range does not consist of whole mappings; then nothing is unmapped.
    pub fn unmap(&self, address: u64, size: u64, gone: impl FnOnce()) -> Result<(), MapError> {
        // The lock is released before the wait, as in `unregister`.
        let mappings = self.write_table().unmap(address, size)?;
        gone();
        self.leases.wait_for_those_before(self.leases.next());
        self.write_table().finish_unmap(&mappings);
        // The physical memory is freed with its last mapping, outside of the lock.
        drop(mappings);
        Ok(())
    }

    /// Sets the access rights of a device to whole mappings.
    ///
    /// # Errors
    /// If the range does not consist of whole mappings; then nothing is changed.
    pub fn set_access(
        &self,
        (address, size): (u64, u64),
        device: u32,
        read: bool,
        write: bool,
    ) -> Result<(), MapError> {
        self.write_table().set_access((address, size), device, read, write)
    }

    /// The mapping that contains an address.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<Mapping> {
        self.read_table().mapping(address)
    }

    /// Whether a range is inside one allocation or adjacent mappings, regardless of access rights.
    #[must_use]
    pub fn holds(&self, address: u64, len: u64) -> bool {
        self.read_table().holds(address, len)
    }

    /// Checks whether the host may read a range or, if `write`, write it.
    ///
    /// # Errors
    /// If it is not inside one allocation, or no device may access it.
    pub fn check(&self, address: u64, len: u64, write: bool) -> Result<(), super::AccessError> {
        self.read_table().require(address, len, write, None)
    }

    /// Records that a kernel has written a range of several mappings.
    pub(crate) fn note_written(&self, address: u64, len: u64) {
        self.read_table().set_initialised(address, len);
    }
}
