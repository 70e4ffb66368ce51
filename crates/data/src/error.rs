//! The errors of loading images.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why images can't be used. The message names the failure, its place, and a remedy.
#[derive(Debug, Error)]
pub enum DataError {
    /// A file can't be opened, read or decompressed.
    #[error("can't read {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system or the decompressor.
        source: io::Error,
    },
    /// The images are missing, damaged, or not MNIST's.
    #[error("{0}")]
    Unusable(String),
    /// Not enough memory.
    #[error("holding {images} images {shortage}: use fewer, with --samples")]
    Memory {
        /// The number of requested images.
        images: u64,
        /// The bytes needed and available.
        shortage: host::memory::Shortage,
    },
}
