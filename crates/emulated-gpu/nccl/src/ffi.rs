//! The foreign function interface between C and Rust: codes, pointers and error messages.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use c_abi::{Fault, c_enum};
use emulated_blas::{Rejection, Status};

/// The return type of the exported functions.
pub(crate) type ReturnCode = c_int;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Error>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Error>;

c_enum! {
    /// `ncclResult_t`
    pub(crate) enum Code: CStr {
        Success 0 c"no error";
        UnhandledCuda 1 c"unhandled cuda error (details on standard error)";
        System 2 c"unhandled system error (details on standard error)";
        Internal 3 c"internal error (details on standard error)";
        InvalidArgument 4 c"invalid argument (details on standard error)";
        InvalidUsage 5 c"invalid usage (details on standard error)";
        Remote 6 c"remote process exited or there was an error on another rank";
    }
}

/// The error of a call: the code that is returned, and the message.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub(crate) code: Code,
    pub(crate) why: String,
}

pub(crate) type Result<T = (), E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    pub(crate) fn argument(why: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, why)
    }

    pub(crate) fn invalid_usage(why: impl Into<String>) -> Self {
        Self::new(Code::InvalidUsage, why)
    }

    pub(crate) fn system_error(what: &str, error: &std::io::Error) -> Self {
        Self::new(Code::System, format!("{what}: {error}"))
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        let code = match rejection.status {
            Status::InvalidValue => Code::InvalidArgument,
            _ => Code::UnhandledCuda,
        };
        Self::new(code, rejection.message)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::Null(_) => Code::InvalidArgument,
            Fault::Panic => Code::Internal,
            _ => Code::UnhandledCuda,
        };
        Self::new(code, fault.to_string())
    }
}

thread_local! {
    /// The text that `ncclGetLastError` returns; it stays valid until the thread's next error.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// The message of the calling thread's last error.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}

/// Prints a line on standard error.
pub(crate) fn report(line: &str) {
    c_abi::report("emulated NCCL", line);
}

/// Runs the body of an exported function. An error is reported, recorded and turned into its code.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> ReturnCode {
    let Err(error) = c_abi::guard(body) else { return Code::Success as c_int };
    let line = format!("{function}: {}", error.why);
    report(&line);
    LAST_ERROR.with_borrow_mut(|text| *text = CString::new(line).unwrap_or_default());
    error.code as c_int
}
