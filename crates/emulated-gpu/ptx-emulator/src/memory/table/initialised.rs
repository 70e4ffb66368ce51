//! What is known of the bytes of allocations, for initcheck.

use super::{Found, Table};

impl Table {
    pub(in crate::memory) fn set_initialised(&self, address: u64, len: u64) {
        if let Found::Live { base, shadow: Some(shadow), .. } = self.find(address, len) {
            shadow.set((address - base) as usize, len as usize, true);
        }
    }

    pub(in crate::memory) fn first_uninitialised(&self, address: u64, len: u64) -> Option<u64> {
        let Found::Live { base, shadow: Some(shadow), .. } = self.find(address, len) else {
            return None;
        };
        let found = shadow.first_unknown((address - base) as usize, len as usize)?;
        Some(base + found as u64)
    }

    /// A copy of uninitialised bytes is no fault; the copies are uninitialised too.
    pub(in crate::memory) fn copy_initialised(&self, to: u64, from: u64, len: u64) {
        let Found::Live { base, shadow: Some(target), .. } = self.find(to, len) else { return };
        let at = (to - base) as usize;
        match self.find(from, len) {
            Found::Live { base, shadow: Some(source), .. } => {
                target.copy(at, &source, (from - base) as usize, len as usize);
            }
            _ => target.set(at, len as usize, true),
        }
    }
}
