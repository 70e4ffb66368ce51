//! The errors of profiles.

use std::path::PathBuf;

use gpu::GpuError;
use thiserror::Error;

/// The result of functions in this crate that write files.
pub type Result<T, E = ProfileError> = std::result::Result<T, E>;

/// An error of a profile.
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
        /// The operating system's error.
        reason: String,
    },
    /// A roofline was requested on a real GPU.
    #[error("{device} has no counters for a roofline: --roofline needs --device emulated")]
    NoCounts {
        /// The device.
        device: String,
    },
    /// The roofline can't be drawn.
    #[error("can't draw the roofline: {0}")]
    Drawing(String),
}

impl From<ProfileError> for training::Error {
    fn from(error: ProfileError) -> Self {
        Self::level(error)
    }
}
