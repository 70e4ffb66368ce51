//! Peer access between cards, with the driver's answers.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::{Out, Status};
use crate::session::Handle;

/// `NVML_P2P_CAPS_INDEX_…`
const READ: c_uint = 0;
const WRITE: c_uint = 1;
const NVLINK: c_uint = 2;
const ATOMICS: c_uint = 3;
const PCI: c_uint = 4;
/// `NVML_P2P_STATUS_…`
const OK: c_uint = 0;
const NOT_SUPPORTED: c_uint = 5;

export! {
    /// Returns the status of a kind of peer access between two different cards. Any card can read and write any other
    /// card's memory, also with atomics (`cuDeviceGetP2PAttribute`), but not through NVLink or PCI.
    fn nvmlDeviceGetP2PStatus(device: Handle, other: Handle, which: c_uint, out: Out<'_, c_uint>) {
        if device.number()? == other.number()? {
            return Err(Status::InvalidArgument);
        }
        let status = match which {
            READ | WRITE | ATOMICS => OK,
            NVLINK | PCI => NOT_SUPPORTED,
            _ => return Err(Status::InvalidArgument),
        };
        out.set(status)
    }
}
