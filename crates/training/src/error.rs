//! The errors of commands, and their exit codes.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use data::DataError;
use tensor::{DumpError, TensorName};
use thiserror::Error;

/// The result of the functions in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a command ended early. The message names the failure, where it happened, and a
/// remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// The command line, or a file that it names, requests something impossible.
    #[error("{0}")]
    Usage(String),
    /// The images or labels can't be loaded.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A dump can't be read or written.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// A file can't be read.
    #[error("can't read {}: {reason}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file can't be written.
    #[error("can't write {}: {source}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Standard output can't be written, so that a result is lost.
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
    /// Not enough memory.
    #[error("{what} {shortage}: use a smaller --batch-size, or smaller layers with --sizes")]
    Memory {
        /// The purpose of the memory, such as "holding a batch".
        what: String,
        /// The number of bytes that are needed, and the number available.
        shortage: host::memory::Shortage,
    },
    /// A level was called before a batch was loaded.
    #[error("{operation}: no batch is loaded; load one first")]
    NoBatch {
        /// The operation.
        operation: &'static str,
    },
    /// Training diverged: a value is not finite.
    #[error(
        "training diverged: at batch {batch} (epoch {epoch}), {tensor} is the first tensor with a \
         value that is not finite ({value} at {index:?}); the usual remedy is a --learning-rate smaller \
         than {learning_rate:?}"
    )]
    NonFinite {
        /// The batch where this happened, counted from 0 over all epochs.
        batch: usize,
        /// The epoch, counted from 1.
        epoch: usize,
        /// The first tensor with such a value, in the order of computation.
        tensor: TensorName,
        /// The index of the tensor's first element that is not finite.
        index: Vec<usize>,
        /// The element.
        value: f32,
        /// The learning rate of the run.
        learning_rate: f32,
    },
    /// A non-finite value appeared, but replaying the same batches did not reproduce it.
    #[error(
        "training diverged between batches {first} and {last}: {what} is not finite, but a replay of these \
         batches only shows finite tensors, so this level is not deterministic"
    )]
    NonFiniteOnce {
        /// The first batch that can be at fault.
        first: usize,
        /// The last batch that can be at fault.
        last: usize,
        /// The tensor that was not finite.
        what: TensorName,
    },
    /// One of several copies of a level that train together failed.
    #[error("{copy}: {error}")]
    Copy {
        /// The name of the copy.
        copy: String,
        /// The copy's error.
        error: Box<Error>,
    },
    /// The level's device or libraries failed.
    #[error(transparent)]
    Level(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps an error of a level.
    pub fn level(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Level(error.into())
    }

    /// Reports the error on standard error. Returns the exit code for it.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Output(error) => host::lost_output(error, 1),
            error => {
                host::complain(format_args!("error: {error}"));
                error.exit_code()
            }
        })
    }

    /// The exit code: 1 if the command ran and failed, 2 for usage or bad input.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Copy { error, .. } => error.exit_code(),
            Self::Data(DataError::Memory { .. }) | Self::Dump(DumpError::Write { .. }) => 1,
            Self::Usage(_) | Self::Data(_) | Self::Read { .. } => 2,
            Self::Dump(_) => 2,
            Self::Write { .. }
            | Self::Output(_)
            | Self::Memory { .. }
            | Self::NoBatch { .. }
            | Self::NonFinite { .. }
            | Self::NonFiniteOnce { .. }
            | Self::Level(_) => 1,
        }
    }
}
