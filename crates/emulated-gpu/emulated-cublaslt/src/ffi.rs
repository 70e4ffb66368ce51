//! The foreign function interface between C and Rust.

pub(crate) use emulated_blas::export;
use emulated_blas::{Rejection, Report};

/// What the library says.
pub(crate) static REPORT: Report = Report::new("emulated cuBLASLt");

/// Writes what a function hands out.
pub(crate) fn put<T>(place: *mut T, value: T, name: &str) -> Result<(), Rejection> {
    if place.is_null() {
        return Err(Rejection::invalid(format!("{name} is a null pointer")));
    }
    // SAFETY: the caller of the C function vouches for a place that is not null.
    unsafe { place.write(value) };
    Ok(())
}
