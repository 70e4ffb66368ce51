//! Memory of the devices: allocations, mappings and pools, and copies and fills.

pub(crate) mod allocations;
pub(crate) mod copy;
pub(crate) mod graph_usage;
pub(crate) mod library_access;
pub(crate) mod pool;
pub(crate) mod virtual_memory;
