//! What can go wrong, and where it went wrong.

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;

use thiserror::Error;

/// The result of everything that can fail in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A mistake, and the line of the program that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    at: Option<&'static Location<'static>>,
}

/// What was wrong.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two shapes do not go together.
    #[error("{operation} of the shapes {left:?} and {right:?}: {rule}")]
    Shapes {
        /// The operation.
        operation: &'static str,
        /// The shape of its first operand.
        left: Vec<usize>,
        /// The shape of its second operand.
        right: Vec<usize>,
        /// What would be right.
        rule: &'static str,
    },
    /// An operation does not go with a shape.
    #[error("{operation} of the shape {shape:?}: {reason}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The shape of its operand.
        shape: Vec<usize>,
        /// What is wrong with it.
        reason: String,
    },
    /// The operands are not in one memory.
    #[error("{operation} of tensors on {left} and {right}: bring both to one device with `to`")]
    Devices {
        /// The operation.
        operation: &'static str,
        /// The device of its first operand.
        left: String,
        /// The device of its second operand.
        right: String,
    },
    /// Backward starts from one number: the gradient of many at once has no meaning.
    #[error(
        "backward of the shape {shape:?}: gradients are those of one number; make a loss of it \
         first, with `sum` or `mean`"
    )]
    NotScalar {
        /// The shape.
        shape: Vec<usize>,
    },
    /// No gradient can flow from here.
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
        "backward of {operation} (at {used}): {what}, which it was computed from, was changed in \
         place since; call `backward` before the update, or compute the loss anew"
    )]
    ChangedInPlace {
        /// The operation that used the old values.
        operation: &'static str,
        /// Where that was.
        used: &'static Location<'static>,
        /// The tensor that was changed.
        what: String,
    },
    /// Only what a program made itself can be changed in place.
    #[error(
        "{operation} of {what}: a result can't be changed in place, since its gradient would not \
         know of it; change the tensors it is computed from, or take a copy with `detach`"
    )]
    NotALeaf {
        /// What was to be done.
        operation: &'static str,
        /// The tensor.
        what: String,
    },
    /// There is no gradient to update with.
    #[error(
        "update of {what}, which has no gradient: call `backward` on a loss made from it first"
    )]
    NoGradient {
        /// The tensor.
        what: String,
    },
    /// A device failed, or can't do what is asked.
    #[error("{operation} on {device}: {reason}")]
    Device {
        /// What was to be done.
        operation: &'static str,
        /// The device.
        device: String,
        /// What it says.
        reason: String,
    },
    /// A graph can't be drawn.
    #[error("drawing of the graph: {reason}")]
    Drawing {
        /// Why not.
        reason: String,
    },
    /// A file of parameters can't be read or written.
    #[error("{}: {reason}", host::shown(path))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// What was wrong.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The line of the program that asked for the operation.
    #[must_use]
    pub const fn location(&self) -> Option<&'static Location<'static>> {
        self.at
    }

    /// The same error with the place, unless it knows one already.
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
