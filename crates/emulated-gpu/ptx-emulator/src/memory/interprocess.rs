//! Memory that several processes have, each at addresses of its own.
//!
//! What is allocated lies in memory of the process alone. Before another process can have it, its pages are
//! exchanged for those of a file that is nowhere but in memory, at the same addresses. Other processes open
//! that file by the number that it has in this one (`/proc/PID/fd`, proc(5)), which the system allows those of
//! the same user.

use super::pages::PAGE;
use super::shared::{self, Addresses};
use super::shared_memory::{OpenError, ShareError, SharedMemory, file_of};
use super::space::Block;
use super::{Home, Memory, OutOfMemory};

impl Memory {
    /// Lets other processes have the allocation of a device's that holds an address: what they find it by.
    /// The first time, this waits until no work runs: what it writes meanwhile would be lost.
    /// Not to be called by such work.
    ///
    /// # Errors
    /// When no such allocation is there, or the system allows no files of memory.
    pub fn share_with_processes(&self, address: u64) -> Result<SharedMemory, ShareError> {
        if let Some(found) = self.read_table().shared(address)? {
            return Ok(found);
        }
        loop {
            self.leases.wait_for_those_before(self.leases.next());
            let mut table = self.write_table();
            // What begins now finds nothing before the table is free.
            if self.leases.are_none() {
                return table.share_with_processes(address);
            }
        }
    }

    /// Memory of another process, at addresses here, which [`free`](Self::free) gives back. It counts as that of
    /// the other process.
    ///
    /// # Errors
    /// When that process has ended or freed it, or there are no more addresses.
    pub fn open_shared(&self, found: &SharedMemory, home: Home) -> Result<u64, OpenError> {
        let &SharedMemory { process, descriptor, inode, offset, size } = found;
        let missing = OpenError::NoFile { process };
        let none = OpenError::OutOfMemory(OutOfMemory { size });
        let file = file_of(process, descriptor, inode).ok_or(missing)?;
        let end = offset.checked_add(size.max(1)).ok_or(missing)?;
        if shared::sealed_len(&file).is_none_or(|len| end > len) {
            return Err(missing);
        }
        // In the middle: beside its ends there may be other allocations, on the same pages.
        if !shared::is_there(&file, offset + size / 2) {
            return Err(OpenError::Freed { process });
        }
        let first = offset / PAGE * PAGE;
        let len = end.next_multiple_of(PAGE) - first;
        let addresses = Addresses::reserve(len, PAGE, 0).ok_or(none)?;
        if !addresses.show(addresses.start, len, &file, first) {
            return Err(none);
        }
        let block = Block::other(addresses);
        Ok(self.write_table().insert_other(block, (offset - first, size), home))
    }
}
