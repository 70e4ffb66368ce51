//! What can go wrong when a profile is made.

use std::path::PathBuf;

use gpu::GpuError;
use thiserror::Error;

/// The result of a profile's files.
pub type Result<T, E = ProfileError> = std::result::Result<T, E>;

/// Why there is no profile.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// An error of the GPU.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A file can't be written.
    #[error("can't write {}: {reason}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// A real GPU was asked for what only the emulated one counts.
    #[error("{device} counts nothing: --roofline needs --device emulated")]
    NoCounts {
        /// The device.
        device: String,
    },
    /// A picture can't be drawn.
    #[error("can't draw the roofline: {0}")]
    Drawing(String),
}

impl From<ProfileError> for training::Error {
    fn from(error: ProfileError) -> Self {
        Self::level(error)
    }
}
