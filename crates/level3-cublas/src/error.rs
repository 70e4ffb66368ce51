//! What can go wrong between this level and NVIDIA's libraries.

use cudarc::driver::DriverError;
use gpu::GpuError;
use thiserror::Error;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no result. The message says what, where and what to do next.
#[derive(Debug, Error)]
pub enum Error {
    /// The GPU, its driver, or a library that is missing.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A library refused a call.
    #[error(
        "{call} says {status} for {product}; on the emulated GPU (--device emulated) a line on standard \
         error names the argument at fault"
    )]
    Library {
        /// The library's function.
        call: &'static str,
        /// What it answered.
        status: String,
        /// What was to be computed.
        product: String,
    },
    /// A size does not fit the library's integers.
    #[error("{product}: cuBLAS counts in 32 bits, and {size} is more; --gemm cublaslt takes it")]
    TooLarge {
        /// What was to be computed.
        product: String,
        /// The size.
        size: usize,
    },
    /// The callback for finished gradients failed.
    #[error(transparent)]
    Finished(#[from] training::Error),
    /// Memory that an algorithm was not chosen for.
    #[error(
        "{product}: a buffer at {address:#x} was planned to be at a multiple of {alignment} bytes"
    )]
    Alignment {
        /// What was to be computed.
        product: String,
        /// Where the buffer is.
        address: u64,
        /// What the algorithm was chosen for.
        alignment: u64,
    },
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
