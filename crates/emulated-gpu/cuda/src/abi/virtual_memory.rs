//! The structures of virtual memory management.

use std::ffi::c_int;

use crate::abi::Location;

/// `CUmemAllocationProp`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocationProperties {
    pub(crate) allocation_type: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: Location,
    /// A pointer to security attributes, on Windows.
    pub(crate) security: usize,
    pub(crate) compression: u8,
    pub(crate) rdma: u8,
    pub(crate) usage: u16,
    pub(crate) reserved: [u8; 4],
}

impl AllocationProperties {
    /// The properties of memory on a device, pinned and not compressed, that may be exported as handles of these
    /// types.
    pub(crate) fn pinned_on(device: u32, handle_types: c_int) -> Self {
        Self {
            allocation_type: 1,
            handle_types,
            location: Location { kind: 1, id: device as c_int },
            security: 0,
            compression: 0,
            rdma: 0,
            usage: 0,
            reserved: [0; 4],
        }
    }
}
