//! The functions that describe error codes and the last error.

use std::ffi::{c_char, c_int};

use crate::communicator::Handle;
use crate::ffi::{Code, last_error};

/// The code `ncclInProgress`, which this library never returns.
const IN_PROGRESS: c_int = 7;

/// Describes an error code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    let text = match Code::from_code(code) {
        Some(code) => code.texts()[0],
        None if code == IN_PROGRESS => c"operation in progress",
        None => c"unknown result code",
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
