//! Errors and versions.

use std::ffi::{CStr, c_char};

use c_abi::{Code, export};

use crate::driver;
use crate::ffi::{self, Out};

/// The last error of the calling thread, which is forgotten then.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetLastError() -> Code {
    ffi::take_last()
}

/// The last error of the calling thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaPeekAtLastError() -> Code {
    ffi::last()
}

fn texts(code: Code) -> (&'static CStr, &'static CStr) {
    code.runtime_texts().unwrap_or((c"unrecognized error code", c"unrecognized error code"))
}

/// What a code is called.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorName(code: Code) -> *const c_char {
    texts(code).0.as_ptr()
}

/// What a code means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorString(code: Code) -> *const c_char {
    texts(code).1.as_ptr()
}

/// The newest version whose functions there are.
const VERSION: i32 = 13_000;

export! {
    /// The version of the runtime.
    fn cudaRuntimeGetVersion(out: Out<'_, i32>) {
        out.set_as(VERSION, "runtimeVersion")
    }

    /// The newest version that the driver serves; 0 without one.
    fn cudaDriverGetVersion(out: Out<'_, i32>) {
        let mut version = 0;
        if driver::cuDriverGetVersion(&mut version).is_err() {
            version = 0;
        }
        out.set_as(version, "driverVersion")
    }

    /// A function of the driver's, as of this runtime's version.
    fn cudaGetDriverEntryPoint(name: usize, out: usize, flags: u64, status: usize) {
        driver::cuGetProcAddress_v2(name, out, VERSION, flags, status)
    }

    /// The same for programs in which stream 0 is the calling thread's own.
    fn cudaGetDriverEntryPoint_ptsz(name: usize, out: usize, flags: u64, status: usize) {
        driver::cuGetProcAddress_v2(name, out, VERSION, per_thread_flag(flags), status)
    }

    /// A function of the driver's, as of a version.
    fn cudaGetDriverEntryPointByVersion(
        name: usize, out: usize, version: u32, flags: u64, status: usize
    ) {
        driver::cuGetProcAddress_v2(name, out, version as i32, flags, status)
    }

    /// The same for programs in which stream 0 is the calling thread's own.
    fn cudaGetDriverEntryPointByVersion_ptsz(
        name: usize, out: usize, version: u32, flags: u64, status: usize
    ) {
        driver::cuGetProcAddress_v2(name, out, version as i32, per_thread_flag(flags), status)
    }
}

/// Where the program leaves it open, `cudaEnablePerThreadDefaultStream`.
fn per_thread_flag(flags: u64) -> u64 {
    if flags == 0 { 2 } else { flags }
}
