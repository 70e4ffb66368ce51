//! Errors of the program `puzzles`.

use std::io;
use std::path::PathBuf;

use ptx_emulator::commands::{FAILED, UNUSABLE};
use thiserror::Error;

/// An error that ends the program.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file can't be read.
    #[error("can't read {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file can't be written.
    #[error("can't write {}: {source}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// An argument names a missing puzzle, hint or language.
    #[error("{0}")]
    Usage(String),
    /// Standard output can't be written.
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
}

impl Failure {
    /// The exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Write { .. } => FAILED,
            _ => UNUSABLE,
        }
    }
}
