//! The foreign function interface between C and Rust.

use emulated_blas::Report;
pub(crate) use emulated_blas::{export, put};

/// What the library says.
pub(crate) static REPORT: Report = Report::new("emulated cuBLASLt");
