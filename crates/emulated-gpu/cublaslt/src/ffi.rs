//! The foreign function interface between C and Rust.

use std::ffi::c_int;

pub(crate) use emulated_blas::Result;
use emulated_blas::{MessageLog, Rejection};

/// The return type of the exported functions: a `cublasStatus_t`.
pub(crate) type ReturnCode = c_int;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Rejection>;
pub(crate) type Text<'a> = c_abi::Text<'a, Rejection>;

/// The destinations of the library's messages.
pub(crate) static LOG: MessageLog = MessageLog::new("emulated cuBLASLt");

/// Runs the body of an exported function.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> ReturnCode {
    LOG.guard(function, body)
}
