//! The errors of this level.

use std::fmt::Display;

use cudarc::driver::DriverError;
use gpu::GpuError;
use thiserror::Error;

/// The result of functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no result. The message names the failure, its place, and a remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// The GPU or its driver failed, or a library is missing.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// cuBLAS or cuBLASLt rejected a call, or can't compute a product.
    #[error("{0}")]
    Library(String),
    /// The callback for finished gradients failed.
    #[error(transparent)]
    Finished(#[from] training::Error),
}

/// Converts the status that a library's function returned for a product: `map_err(rejected(call, product))`.
pub(crate) fn rejected<S: Display>(call: &str, product: &impl Display) -> impl Fn(S) -> Error {
    move |status| {
        Error::Library(format!(
            "{call} returned {status} for {product}; on the emulated GPU (--device emulated) a line on \
             standard error names the argument at fault"
        ))
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Self::Gpu(error.into())
    }
}

impl From<Error> for training::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Finished(error) => error,
            error => Self::level(error),
        }
    }
}
