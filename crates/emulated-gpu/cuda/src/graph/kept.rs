//! The resources that an executable graph keeps alive: memory and user objects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Handle, Pointer};
use crate::context::hardware::Hardware;
use crate::graph::user_object::Resource;

/// Memory that a graph allocated for its nodes.
#[derive(Debug)]
pub(crate) struct Reserved {
    addresses: Mutex<Vec<Pointer>>,
    hardware: Arc<Hardware>,
}

impl Reserved {
    /// None yet.
    pub(super) fn new(hardware: Arc<Hardware>) -> Self {
        Self { addresses: Mutex::default(), hardware }
    }

    /// This too.
    pub(super) fn push(&self, address: Pointer) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let addresses = self.addresses.get_mut().unwrap_or_else(PoisonError::into_inner);
        for address in std::mem::take(addresses) {
            // What is in use stays, and is the program's to free (CUDA Programming Guide, "Graph Memory
            // Nodes").
            let stays = self.hardware.allocations.with(address, |one| {
                one.reserved = !one.live;
                one.live
            });
            // Gone already where its context was destroyed.
            if stays == Some(false) {
                let _ = self.hardware.allocations.free(address, |_| true);
            }
        }
    }
}

/// What an executable graph needs: it stays until the last launch is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(super) memory: Vec<Arc<Reserved>>,
    pub(super) users: Vec<Arc<Resource>>,
    /// What the graphs need that have taken the place of those inside nodes.
    pub(super) children: HashMap<Handle, Arc<Kept>>,
}
