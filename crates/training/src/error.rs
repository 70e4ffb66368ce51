//! What can go wrong, and the exit code that follows from it.

use std::io;
use std::path::PathBuf;

use data::DataError;
use tensor::{DumpError, TensorName};
use thiserror::Error;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command ended early. The message says what, where and what to do next.
#[derive(Debug, Error)]
pub enum Error {
    /// The command line, or a file that it names, asks for what can't be done.
    #[error("{0}")]
    Usage(String),
    /// The images or labels can't be had.
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
        /// Why not.
        reason: String,
    },
    /// A file can't be written.
    #[error("can't write {}: {source}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Standard output can't be written, so that a result is lost.
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
    /// There is not enough memory.
    #[error("{what} {shortage}: use a smaller --batch-size, or smaller layers with --sizes")]
    Memory {
        /// What needs it, such as "holding a batch".
        what: String,
        /// How much it needs, and how much can be had.
        shortage: host::memory::Shortage,
    },
    /// A level was asked to compute before it had a batch.
    #[error("{operation}: no batch is loaded; load one first")]
    NoBatch {
        /// The operation.
        operation: &'static str,
    },
    /// Training left the finite numbers.
    #[error(
        "training diverged: at batch {batch} (epoch {epoch}), {tensor} is the first tensor with a \
         value that is not finite ({value} at {index:?}); a smaller --learning-rate than \
         {learning_rate:?} is the usual cure"
    )]
    NonFinite {
        /// The batch, counted from 0 over all epochs.
        batch: usize,
        /// The epoch, counted from 1.
        epoch: usize,
        /// The first such tensor in the order of computation.
        tensor: TensorName,
        /// The index of its first such element.
        index: Vec<usize>,
        /// The element.
        value: f32,
        /// The learning rate of the run.
        learning_rate: f32,
    },
    /// A value is not finite, and going over the same batches again finds none that is not.
    #[error(
        "training diverged between batches {first} and {last}: {what} is not finite, but going \
         over the same batches again shows only finite tensors; this level does not compute the \
         same thing twice"
    )]
    NonFiniteOnce {
        /// The first batch that can be at fault.
        first: usize,
        /// The last batch that can be at fault.
        last: usize,
        /// What was found not to be finite.
        what: TensorName,
    },
    /// One of several copies of a level failed.
    #[error("{copy}: {error}")]
    Copy {
        /// Which one.
        copy: String,
        /// Why.
        error: Box<Error>,
    },
    /// The level itself failed: its device, its libraries.
    #[error(transparent)]
    Level(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// An error of a level's own.
    pub fn level(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Level(error.into())
    }

    /// 1: it ran and failed; 2: usage or bad input.
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
