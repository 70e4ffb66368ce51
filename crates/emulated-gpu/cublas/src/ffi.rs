//! The foreign function interface between C and Rust.

use std::ffi::c_int;

use emulated_blas::{Rejection, Report};

/// What C gets: a `cublasStatus_t`.
pub(crate) type ReturnCode = c_int;
/// What a call comes to.
pub(crate) type Result<T = ()> = std::result::Result<T, Rejection>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Rejection>;
pub(crate) type Text<'a> = c_abi::Text<'a, Rejection>;

/// What the library says.
pub(crate) static REPORT: Report = Report::new("emulated cuBLAS");

/// Runs the body of an exported function.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> ReturnCode {
    REPORT.guard(function, body)
}
