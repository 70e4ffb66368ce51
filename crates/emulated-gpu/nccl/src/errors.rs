//! The functions that say what a code means, and what the last error was.

use std::ffi::{c_char, c_int};

use crate::communicator::Handle;
use crate::ffi::last_error;

/// What a code means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    let text = match code {
        0 => c"no error",
        1 => c"unhandled cuda error (standard error says more)",
        2 => c"unhandled system error (standard error says more)",
        3 => c"internal error (standard error says more)",
        4 => c"invalid argument (standard error says which)",
        5 => c"invalid usage (standard error says more)",
        6 => c"remote process exited or there was an error on another rank",
        7 => c"operation in progress",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

/// The same.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn pncclGetErrorString(code: c_int) -> *const c_char {
    ncclGetErrorString(code)
}

/// What the calling thread's last error was.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetLastError(_comm: Handle) -> *const c_char {
    last_error()
}

/// The same.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn pncclGetLastError(comm: Handle) -> *const c_char {
    ncclGetLastError(comm)
}
