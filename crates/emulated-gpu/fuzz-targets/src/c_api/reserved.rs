//! Addresses that the driver has released and that are kept reserved while a sequence runs.
//!
//! A thread of the sequence may still use them, as a wrong client does; the driver must then report that they are not
//! allocated. Without the reservation, the system could place a thread's stack at such an address. A write to it would
//! then cause a crash that isn't the driver's fault.
#![allow(unsafe_code, reason = "the functions are C's")]

use std::sync::{Mutex, PoisonError};

/// The addresses and sizes of inaccessible mappings.
#[derive(Default)]
pub(super) struct ReservedRanges(Mutex<Vec<(u64, u64)>>);

impl ReservedRanges {
    /// Reserves a range that is not mapped. If the range has already been mapped again, this is a no-op.
    pub(super) fn reserve(&self, address: u64, len: u64) {
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: with `MAP_FIXED_NOREPLACE` no existing mapping is replaced.
        let place =
            unsafe { libc::mmap(address as *mut _, len as usize, libc::PROT_NONE, flags, -1, 0) };
        if place as u64 == address {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((address, len));
        }
    }

    /// Unmaps all ranges.
    pub(super) fn release_all(&self) {
        for (address, len) in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: the range was mapped by `reserve`, and is never accessed.
            let code = unsafe { libc::munmap(address as *mut _, len as usize) };
            assert_eq!(code, 0, "{len} bytes at {address:#x} are not unmapped");
        }
    }
}
