//! The commands, one file for each, and what they share.

mod argument;
pub(crate) mod check;
mod launch;
pub(crate) mod profile;
pub(crate) mod run;
pub(crate) mod trace;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptx_emulator::Diagnostic;
use ptx_emulator::memory::OutOfMemory;
use ptx_emulator::source::Source;
use thiserror::Error;

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
    /// The file has errors.
    #[error("the file can't be run:{}", .0.iter().map(|d| format!("\n{d}")).collect::<String>())]
    Program(Vec<Diagnostic>),
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
            Self::Memory(_) => FAILED,
            _ => UNUSABLE,
        }
    }
}

/// Reads a PTX file. What is no UTF-8 is replaced, and found by the parser, since PTX is ASCII.
pub(crate) fn read(path: &Path) -> Result<Source, Failure> {
    let bytes = fs::read(path).map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Source { name: host::shown(path).to_string(), text })
}

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    host::print(text).map_err(Failure::Output)
}
