//! The foreign function interface between C and Rust.

use emulated_blas::Report;
pub(crate) use emulated_blas::export;

/// What the library says.
pub(crate) static REPORT: Report = Report::new("emulated cuBLAS");
