//! The functions that describe error codes and the last error.

use std::ffi::{c_char, c_int};

use crate::communicator::Handle;
use crate::ffi::last_error;

/// Describes an error code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    let text = match code {
        0 => c"no error",
        1 => c"unhandled cuda error (details on standard error)",
        2 => c"unhandled system error (details on standard error)",
        3 => c"internal error (details on standard error)",
        4 => c"invalid argument (details on standard error)",
        5 => c"invalid usage (details on standard error)",
        6 => c"remote process exited or there was an error on another rank",
        7 => c"operation in progress",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

/// The profiling alias.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn pncclGetErrorString(code: c_int) -> *const c_char {
    ncclGetErrorString(code)
}

/// Returns the message of the calling thread's last error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetLastError(_comm: Handle) -> *const c_char {
    last_error()
}

/// The profiling alias.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn pncclGetLastError(comm: Handle) -> *const c_char {
    ncclGetLastError(comm)
}
