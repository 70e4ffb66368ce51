//! The foreign function interface between C and Rust.

pub(crate) use emulated_blas::export;
use emulated_blas::Report;

/// What the library says.
pub(crate) static REPORT: Report = Report::new("emulated cuBLAS");
