//! The error of a refused call.

use c_abi::Fault;

use crate::Status;

/// The result of a call that the library may refuse.
pub type Result<T = (), E = Rejection> = std::result::Result<T, E>;

/// The status for the caller, and a message for the user: which argument is wrong, why, and how
/// to correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", .status.name().to_string_lossy())]
pub struct Rejection {
    /// The status that the function returns.
    pub status: Status,
    /// The message.
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
    /// The error for an invalid argument.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { status: Status::InvalidValue, message: message.into() }
    }

    /// The error for a request that the library does not support.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { status: Status::NotSupported, message: message.into() }
    }

    /// The error for an invalid handle, or if no driver can be used.
    pub fn uninitialized(message: impl Into<String>) -> Self {
        Self { status: Status::NotInitialized, message: message.into() }
    }

    /// The error if the host or the device is out of memory.
    pub fn out_of_memory(message: impl Into<String>) -> Self {
        Self { status: Status::AllocFailed, message: message.into() }
    }

    /// Changes the message of an error.
    #[must_use]
    pub fn map_message(self, change: impl FnOnce(&str) -> String) -> Self {
        Self { message: change(&self.message), ..self }
    }

    /// The error for work that the driver refused, or that failed.
    pub fn execution(message: impl Into<String>) -> Self {
        Self { status: Status::ExecutionFailed, message: message.into() }
    }
}

/// Returns a [`Rejection`] from a function if a condition holds. `$kind` is a constructor of
/// [`Rejection`], such as `invalid`; the other arguments are those of `format!`.
#[macro_export]
macro_rules! reject_if {
    ($condition:expr, $kind:ident, $($why:tt)+) => {
        if $condition {
            return Err($crate::Rejection::$kind(format!($($why)+)));
        }
    };
}
