//! Why a call is refused.

use c_abi::Fault;

use crate::Status;

/// A status for the caller, and a sentence for the person behind it: which argument, what is wrong
/// with it, what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", .status.name().to_string_lossy())]
pub struct Rejection {
    /// What the function returns.
    pub status: Status,
    /// The sentence.
    pub message: String,
}

impl From<Fault> for Rejection {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Null(name) => Self::invalid(format!("{name} is a null pointer")),
            Fault::Panic => Self { status: Status::InternalError, message: fault.to_string() },
            _ => Self::uninitialized(fault.to_string()),
        }
    }
}

impl Rejection {
    /// An argument is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { status: Status::InvalidValue, message: message.into() }
    }

    /// The library does not do that.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { status: Status::NotSupported, message: message.into() }
    }

    /// The handle is not one, or there is no usable driver.
    pub fn uninitialized(message: impl Into<String>) -> Self {
        Self { status: Status::NotInitialized, message: message.into() }
    }

    /// There is no memory left.
    pub fn out_of_memory(message: impl Into<String>) -> Self {
        Self { status: Status::AllocFailed, message: message.into() }
    }

    /// The driver refused the work.
    pub fn execution(message: impl Into<String>) -> Self {
        Self { status: Status::ExecutionFailed, message: message.into() }
    }
}

/// Returns a [`Rejection`] from a function if a condition holds: `invalid` or `unsupported`, and the reason as
/// arguments of `format!`.
#[macro_export]
macro_rules! reject_if {
    ($condition:expr, $kind:ident, $($why:tt)+) => {
        if $condition {
            return Err($crate::Rejection::$kind(format!($($why)+)));
        }
    };
}
