//! The commands, one file for each, and what they share.

mod argument;
pub(crate) mod check;
mod launch;
pub(crate) mod profile;
pub(crate) mod puzzle;
pub(crate) mod run;
mod source;
pub(crate) mod trace;

use std::io;
use std::path::PathBuf;

use ptx_emulator::Diagnostic;
use ptx_emulator::memory::OutOfMemory;
use thiserror::Error;

pub(crate) use source::read;

/// It did what was asked for.
pub(crate) const DONE: u8 = 0;
/// It ran and found something wrong.
pub(crate) const FAILED: u8 = 1;
/// Nothing can be said: bad usage, an unreadable file.
pub(crate) const UNUSABLE: u8 = 2;

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
    /// The file has errors.
    #[error("the file can't be run:{}", .0.iter().map(|d| format!("\n{d}")).collect::<String>())]
    Program(Vec<Diagnostic>),
    /// The file is in CUDA C, and does not compile.
    #[error("the file does not compile:{}", .0.iter().map(|d| format!("\n{d}")).collect::<String>())]
    Compile(Vec<cuda_c::Diagnostic>),
    /// There is no room for the buffers.
    #[error(transparent)]
    Memory(OutOfMemory),
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
            Self::Memory(_) | Self::Write { .. } => FAILED,
            _ => UNUSABLE,
        }
    }
}

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    host::print(text).map_err(Failure::Output)
}
