//! Addresses that the driver has given back, and that nothing else may take while a sequence runs.
//!
//! A thread of the sequence may still use them, as a wrong client does: the driver then has to find that
//! nothing is there. Without this the system may have laid a thread's stack there in the meantime, and what
//! is written to it is the client's fault and no finding.
#![allow(unsafe_code, reason = "the functions are C's")]

use std::sync::{Mutex, PoisonError};

/// First addresses and sizes in bytes of ranges that can neither be read nor written.
#[derive(Default)]
pub(super) struct Withheld(Mutex<Vec<(u64, u64)>>);

impl Withheld {
    /// Takes a range that nobody has. Where somebody was faster, it is theirs.
    pub(super) fn hold(&self, address: u64, len: u64) {
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: with `MAP_FIXED_NOREPLACE` nothing that is mapped is replaced.
        let place =
            unsafe { libc::mmap(address as *mut _, len as usize, libc::PROT_NONE, flags, -1, 0) };
        if place as u64 == address {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((address, len));
        }
    }

    /// Gives all of them to whoever wants them.
    pub(super) fn give_back(&self) {
        for (address, len) in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: it was mapped by `hold`, and nothing is ever there.
            let code = unsafe { libc::munmap(address as *mut _, len as usize) };
            assert_eq!(code, 0, "{len} bytes at {address:#x} are not unmapped");
        }
    }
}
