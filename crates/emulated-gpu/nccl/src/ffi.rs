//! The foreign function interface between C and Rust: codes, and what is said of an error.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use emulated_blas::{Rejection, Status};

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

thread_local! {
    /// `ncclGetLastError`: a text stays until the next one takes its place.
    static LAST: RefCell<CString> = RefCell::default();
}

/// What the calling thread's last error was.
pub(crate) fn last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Reports something on standard error. It is written in one piece, so that lines of other libraries and
/// ranks don't cut it.
pub(crate) fn say(line: &str) {
    let line = format!("emulated NCCL: {line}\n");
    // If that is full or closed, nothing can be done about it.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Runs the body of an exported function, and makes a code of what comes of it; a panic never crosses
/// into the caller's C.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> c_int {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Code::Success as c_int,
        Ok(Err(error)) => error,
        Err(_) => Error::new(Code::Internal, "an internal error, which is a fault of this library"),
    };
    let line = format!("{function}: {}", error.why);
    say(&line);
    LAST.with_borrow_mut(|text| *text = CString::new(line).unwrap_or_default());
    error.code as c_int
}

/// Declares exported functions that return a code, with the name that NVIDIA gives each for profilers
/// besides.
macro_rules! export {
    ($(
        $(#[$meta:meta])*
        fn $name:ident / $profiled:ident ($($argument:ident: $type:ty),* $(,)?) $body:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function has it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            $crate::ffi::guard(stringify!($name), move || $body)
        }

        /// The same.
        ///
        /// # Safety
        /// As above.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $profiled($($argument: $type),*) -> std::ffi::c_int {
            // SAFETY: the caller's promise.
            unsafe { $name($($argument),*) }
        }
    )*};
}
pub(crate) use export;
