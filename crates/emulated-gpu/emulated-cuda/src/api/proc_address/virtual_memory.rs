//! Those that are about virtual memory management.

use std::ffi::c_void;

use crate::api::virtual_memory;

use super::{Entry, table};

table! {
    /// The functions of virtual memory management.
    rows:
    "cuMemAddressFree" 10020 virtual_memory::cuMemAddressFree;
    "cuMemAddressReserve" 10020 virtual_memory::cuMemAddressReserve;
    "cuMemCreate" 10020 virtual_memory::cuMemCreate;
    "cuMemExportToShareableHandle" 10020 virtual_memory::cuMemExportToShareableHandle;
    "cuMemGetAccess" 10020 virtual_memory::cuMemGetAccess;
    "cuMemGetAllocationGranularity" 10020 virtual_memory::cuMemGetAllocationGranularity;
    "cuMemGetAllocationPropertiesFromHandle" 10020 virtual_memory::cuMemGetAllocationPropertiesFromHandle;
    "cuMemImportFromShareableHandle" 10020 virtual_memory::cuMemImportFromShareableHandle;
    "cuMemMap" 10020 virtual_memory::cuMemMap;
    "cuMemRelease" 10020 virtual_memory::cuMemRelease;
    "cuMemRetainAllocationHandle" 11000 virtual_memory::cuMemRetainAllocationHandle;
    "cuMemSetAccess" 10020 virtual_memory::cuMemSetAccess;
    "cuMemUnmap" 10020 virtual_memory::cuMemUnmap;
}
