//! The foreign function interface between C and Rust: codes, pointers, and what is said of an error.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

use c_abi::Fault;
use emulated_blas::{Rejection, Status};

/// What C gets.
pub(crate) type ReturnCode = c_int;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Error>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Error>;

/// `ncclResult_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    Success = 0,
    UnhandledCuda = 1,
    System = 2,
    Internal = 3,
    InvalidArgument = 4,
    InvalidUsage = 5,
    Remote = 6,
}

impl Code {
    /// The code of that number.
    pub(crate) fn of(number: u32) -> Self {
        match number {
            0 => Self::Success,
            1 => Self::UnhandledCuda,
            2 => Self::System,
            4 => Self::InvalidArgument,
            5 => Self::InvalidUsage,
            6 => Self::Remote,
            _ => Self::Internal,
        }
    }
}

/// Why a call fails.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub(crate) code: Code,
    pub(crate) why: String,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    pub(crate) fn argument(why: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, why)
    }

    pub(crate) fn usage(why: impl Into<String>) -> Self {
        Self::new(Code::InvalidUsage, why)
    }

    pub(crate) fn system(what: &str, error: &std::io::Error) -> Self {
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
    /// `ncclGetLastError`: a text stays until the next one takes its place.
    static LAST: RefCell<CString> = RefCell::default();
}

/// What the calling thread's last error was.
pub(crate) fn last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Reports something on standard error.
pub(crate) fn say(line: &str) {
    c_abi::report("emulated NCCL", line);
}

/// Runs the body of an exported function, and makes a code of what comes of it.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> ReturnCode {
    let Err(error) = c_abi::guard(body) else { return Code::Success as c_int };
    let line = format!("{function}: {}", error.why);
    say(&line);
    LAST.with_borrow_mut(|text| *text = CString::new(line).unwrap_or_default());
    error.code as c_int
}
