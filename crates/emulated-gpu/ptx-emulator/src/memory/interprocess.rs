//! Memory shared between processes, which each process maps at its own addresses
//! (`cuIpcGetMemHandle`).
//!
//! Allocations start as private memory of the process. To share one, its pages are replaced, at the
//! same addresses, by pages of an in-memory file. Other processes open that file through the
//! owner's descriptor (`/proc/PID/fd`, proc(5)), which the system allows to processes of the same
//! user.

use super::pages::PAGE_BYTES;
use super::shared::{self, Addresses};
use super::shared_memory::{OpenError, ShareError, SharedMemory, open_file};
use super::space::Block;
use super::{Home, Memory, OutOfMemory};

impl Memory {
    /// Shares the device's allocation that contains an address with other processes, and returns
    /// the data with which they can open it. When an allocation is first shared, the call waits
    /// until no work runs, because concurrent writes would be lost. Running work must not call this
    /// function.
    ///
    /// # Errors
    /// If there is no such allocation, or the system can't create in-memory files.
    pub fn share_with_processes(&self, address: u64) -> Result<SharedMemory, ShareError> {
        if let Some(found) = self.read_table().shared(address)? {
            return Ok(found);
        }
        loop {
            self.leases.wait_for_those_before(self.leases.next());
            let mut table = self.write_table();
            // Work that starts now blocks on the table, so it finds nothing yet.
            if self.leases.is_idle() {
                return table.share_with_processes(address);
            }
        }
    }

    /// Maps memory of another process, until [`free`](Self::free) unmaps it. It counts as memory of
    /// the other process. Returns its address.
    ///
    /// # Errors
    /// If that process has ended or freed the memory, or there are no more addresses.
    pub fn open_shared(&self, found: &SharedMemory, home: Home) -> Result<u64, OpenError> {
        let &SharedMemory { process, descriptor, inode, offset, size } = found;
        let missing = OpenError::NoFile { process };
        let none = OpenError::OutOfMemory(OutOfMemory { size });
        let file = open_file(process, descriptor, inode).ok_or(missing)?;
        let end = offset.checked_add(size.max(1)).ok_or(missing)?;
        if shared::sealed_len(&file).is_none_or(|len| end > len) {
            return Err(missing);
        }
        // Checks a byte in the middle: the pages at the ends may also belong to other allocations.
        if !shared::is_written(&file, offset + size / 2) {
            return Err(OpenError::Freed { process });
        }
        let first = offset / PAGE_BYTES * PAGE_BYTES;
        let len = end.next_multiple_of(PAGE_BYTES) - first;
        let addresses = Addresses::reserve(len, PAGE_BYTES, 0).ok_or(none)?;
        if !addresses.map_file(addresses.start, len, &file, first) {
            return Err(none);
        }
        let block = Block::of_other_process(addresses);
        Ok(self.write_table().insert_other(block, (offset - first, size), home))
    }
}
