//! Memory and events shared between processes.

use crate::context::bind;
use crate::ffi::forward;

/// `cudaIpcMemHandle_t` and `cudaIpcEventHandle_t`, which are the driver's structures.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle([u8; 64]);

forward! {
    bind:
    cudaIpcGetMemHandle = cuIpcGetMemHandle(out: usize, address: usize);
    cudaIpcOpenMemHandle = cuIpcOpenMemHandle_v2(out: usize, handle: Handle, flags: u32);
    cudaIpcCloseMemHandle = cuIpcCloseMemHandle(address: usize);
    cudaIpcGetEventHandle = cuIpcGetEventHandle(out: usize, event: usize);
    cudaIpcOpenEventHandle = cuIpcOpenEventHandle(out: usize, handle: Handle);
}
