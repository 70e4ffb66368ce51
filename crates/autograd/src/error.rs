//! The errors of this crate, each with the line of the program that caused it.

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;

use thiserror::Error;

/// The result of functions in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, and the line of the program that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    at: Option<&'static Location<'static>>,
}

/// The kind of an error.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An operation can't be applied to two shapes.
    #[error("{operation} of the shapes {left:?} and {right:?}: {rule}")]
    Shapes {
        /// The operation.
        operation: &'static str,
        /// The shape of its first operand.
        left: Vec<usize>,
        /// The shape of its second operand.
        right: Vec<usize>,
        /// The rule that the shapes don't follow.
        rule: &'static str,
    },
    /// An operation can't be applied to a shape.
    #[error("{operation} of the shape {shape:?}: {reason}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The shape of its operand.
        shape: Vec<usize>,
        /// The reason.
        reason: String,
    },
    /// The operands are on different devices.
    #[error("{operation} of tensors on {left} and {right}: move both to one device with `to`")]
    Devices {
        /// The operation.
        operation: &'static str,
        /// The device of its first operand.
        left: String,
        /// The device of its second operand.
        right: String,
    },
    /// `backward` was called on a tensor that is not one number.
    #[error(
        "backward of the shape {shape:?}: gradients are defined for a single number; reduce the \
        tensor to a loss first, with `sum` or `mean`"
    )]
    NotScalar {
        /// The shape.
        shape: Vec<usize>,
    },
    /// `backward` was called on a tensor without a graph.
    #[error(
        "backward of {what}, which was computed from no tensor that requires a gradient: mark the \
         parameters with `requires_grad`, and compute outside of `no_grad` and after `detach`"
    )]
    NoGraph {
        /// The tensor.
        what: String,
    },
    /// A tensor was changed between the forward pass and the backward pass.
    #[error(
        "backward of {operation} (at {used}): {what}, one of its operands, was changed in place \
        afterwards; call `backward` before the update, or compute the loss again"
    )]
    ChangedInPlace {
        /// The operation that used the old values.
        operation: &'static str,
        /// The line that called that operation.
        used: &'static Location<'static>,
        /// The tensor that was changed.
        what: String,
    },
    /// An operation in place was called on a tensor that is the result of another operation.
    #[error(
        "{operation} of {what}: a result can't be changed in place, because its gradient would not \
        include the change; change the tensors that it is computed from, or a copy made with `detach`"
    )]
    NotALeaf {
        /// The operation.
        operation: &'static str,
        /// The tensor.
        what: String,
    },
    /// A tensor was updated before it had a gradient.
    #[error(
        "update of {what}, which has no gradient: call `backward` on a loss computed from it first"
    )]
    NoGradient {
        /// The tensor.
        what: String,
    },
    /// A device failed, or doesn't support an operation.
    #[error("{operation} on {device}: {reason}")]
    Device {
        /// The operation.
        operation: &'static str,
        /// The device.
        device: String,
        /// The device's error message.
        reason: String,
    },
    /// A graph can't be drawn.
    #[error("drawing of the graph: {reason}")]
    Drawing {
        /// The reason.
        reason: String,
    },
    /// A file of parameters can't be read or written.
    #[error("{}: {reason}", host::shown(path))]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl Error {
    /// The kind of the error.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The line of the program that called the operation.
    #[must_use]
    pub const fn location(&self) -> Option<&'static Location<'static>> {
        self.at
    }

    /// This error with the given location, unless it has one already.
    pub(crate) fn at(self, location: &'static Location<'static>) -> Self {
        Self { at: Some(self.at.unwrap_or(location)), ..self }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, at: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{} (at {at})", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
