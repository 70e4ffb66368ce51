//! Errors and versions.

use std::ffi::{CStr, c_char};

use c_abi::{Code, export};

use crate::driver;
use crate::ffi::{self, Out};

/// Returns the calling thread's last error and resets it to `cudaSuccess`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetLastError() -> Code {
    ffi::take_last()
}

/// Returns the calling thread's last error and keeps it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaPeekAtLastError() -> Code {
    ffi::last()
}

fn texts(code: Code) -> (&'static CStr, &'static CStr) {
    code.runtime_texts().unwrap_or((c"unrecognized error code", c"unrecognized error code"))
}

/// The name of an error code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorName(code: Code) -> *const c_char {
    texts(code).0.as_ptr()
}

/// The description of an error code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorString(code: Code) -> *const c_char {
    texts(code).1.as_ptr()
}

/// The newest CUDA version whose functions are available.
const VERSION: i32 = 13_000;

export! {
    /// Returns the version of the runtime.
    fn cudaRuntimeGetVersion(out: Out<'_, i32>) {
        out.set_as(VERSION, "runtimeVersion")
    }

    /// Returns the newest CUDA version that the driver supports, or 0 without a driver.
    fn cudaDriverGetVersion(out: Out<'_, i32>) {
        let mut version = 0;
        if driver::cuDriverGetVersion(&mut version).is_err() {
            version = 0;
        }
        out.set_as(version, "driverVersion")
    }

    /// Returns the address of a driver function, in the version of CUDA that this runtime has.
    fn cudaGetDriverEntryPoint(name: usize, out: usize, flags: u64, status: usize) {
        driver::cuGetProcAddress_v2(name, out, VERSION, flags, status)
    }

    /// Like `cudaGetDriverEntryPoint`, for programs in which stream 0 is the per-thread default
    /// stream.
    fn cudaGetDriverEntryPoint_ptsz(name: usize, out: usize, flags: u64, status: usize) {
        driver::cuGetProcAddress_v2(name, out, VERSION, per_thread_flag(flags), status)
    }

    /// Returns the address of a driver function, in a given CUDA version.
    fn cudaGetDriverEntryPointByVersion(
        name: usize, out: usize, version: u32, flags: u64, status: usize
    ) {
        driver::cuGetProcAddress_v2(name, out, version as i32, flags, status)
    }

    /// Like `cudaGetDriverEntryPointByVersion`, for programs in which stream 0 is the per-thread
    /// default stream.
    fn cudaGetDriverEntryPointByVersion_ptsz(
        name: usize, out: usize, version: u32, flags: u64, status: usize
    ) {
        driver::cuGetProcAddress_v2(name, out, version as i32, per_thread_flag(flags), status)
    }
}

/// Replaces the default flags by `cudaEnablePerThreadDefaultStream`.
fn per_thread_flag(flags: u64) -> u64 {
    if flags == 0 { 2 } else { flags }
}
