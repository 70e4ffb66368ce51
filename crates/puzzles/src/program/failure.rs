//! Why nothing can be done about a puzzle.

use std::io;
use std::path::PathBuf;

use ptx_emulator::commands::{FAILED, UNUSABLE};
use thiserror::Error;

/// Why a command could not do its work.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file can't be read.
    #[error("can't read {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A file can't be written.
    #[error("can't write {}: {source}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The command line asks for what can't be done.
    #[error("{0}")]
    Usage(String),
    /// Nothing can be printed.
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
}

impl Failure {
    /// What the program exits with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Write { .. } => FAILED,
            _ => UNUSABLE,
        }
    }
}
