//! The resources that an executable graph keeps alive: memory and user objects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Handle, Pointer};
use crate::context::hardware::Hardware;
use crate::graph::user_object::UserResource;

/// The memory that a graph's nodes allocate.
#[derive(Debug)]
pub(crate) struct GraphAllocations {
    addresses: Mutex<Vec<Pointer>>,
    hardware: Arc<Hardware>,
}

impl GraphAllocations {
    /// An empty list.
    pub(super) fn new(hardware: Arc<Hardware>) -> Self {
        Self { addresses: Mutex::default(), hardware }
    }

    /// Adds memory that lives as long as these resources.
    pub(super) fn hold(&self, address: Pointer) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    }
}

impl Drop for GraphAllocations {
    fn drop(&mut self) {
        let addresses = self.addresses.get_mut().unwrap_or_else(PoisonError::into_inner);
        for address in std::mem::take(addresses) {
            // Memory in use is not freed; freeing it is then the program's responsibility (CUDA Programming Guide,
            // "Graph Memory Nodes").
            let in_use = self.hardware.allocations.with_allocation(address, |allocation| {
                allocation.reserved = !allocation.live;
                allocation.live
            });
            // If the context was destroyed, the allocation no longer exists.
            if in_use == Some(false) {
                let _ = self.hardware.allocations.free(address, |_| true);
            }
        }
    }
}

/// Resources that an executable graph needs, and that live until its last launch has finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    pub(super) memory: Vec<Arc<GraphAllocations>>,
    pub(super) user_objects: Vec<Arc<UserResource>>,
    /// For each child-graph node whose graph was replaced, the resources of the new graph.
    pub(super) children: HashMap<Handle, Arc<Resources>>,
}
