//! The errors of ranks.

use cudarc::driver::DriverError;
use gpu::GpuError;
use thiserror::Error;

/// The result of functions of this crate that call no level.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why ranks can't continue. The message names the failure, where it happened, and a
/// remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// The GPU or its driver failed, or NCCL is missing.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// NCCL refused a call.
    #[error(
        "{call} returned {status}; between emulated GPUs a line on standard error gives the reason"
    )]
    Nccl {
        /// NCCL's function.
        call: &'static str,
        /// The status that NCCL's function returned.
        status: String,
    },
    /// The ranks of a run did not find each other.
    #[error("{0}")]
    Rendezvous(String),
    /// The ranks of a run were started with different settings.
    #[error("the ranks were started with different settings: {0}")]
    Unlike(String),
    /// Another rank has failed, or its process has ended.
    #[error("another rank is gone")]
    Lost,
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Self::Gpu(error.into())
    }
}

impl From<Error> for training::Error {
    fn from(error: Error) -> Self {
        Self::level(error)
    }
}
