//! The devices' memory: what was allocated, mapped and pooled, and copies and fills of it.

pub(crate) mod allocations;
pub(crate) mod copy;
pub(crate) mod graph_usage;
pub(crate) mod library_access;
pub(crate) mod pool;
pub(crate) mod virtual_memory;
