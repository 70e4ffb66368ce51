//! The errors of loading images.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why images can't be loaded. The message names the failure, where it happened, and a
/// remedy.
#[derive(Debug, Error)]
pub enum DataError {
    /// A file can't be opened, read or decompressed.
    #[error("can't read {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The underlying error, from the operating system or the decompressor.
        source: io::Error,
    },
    /// The images are missing or damaged, or are not MNIST's images.
    #[error("{0}")]
    Unusable(String),
    /// Not enough memory.
    #[error("holding {images} images {shortage}: use fewer, with --samples")]
    Memory {
        /// The number of requested images.
        images: u64,
        /// The number of bytes that are needed, and the number available.
        shortage: host::memory::Shortage,
    },
}
