//! The foreign function interface between C and Rust: codes, the last error of each thread, and what is said of an error.

use std::cell::Cell;

use c_abi::{DriverError, Fault};

use crate::code::Code;

/// What C gets.
pub(crate) use crate::code::Code as ReturnCode;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Error>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Error>;

/// Why a call fails.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub(crate) code: Code,
    /// What a person is told, where the code alone says too little.
    pub(crate) why: Option<String>,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self { code, why: None }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::Null(_) => Code::INVALID_VALUE,
            Fault::Panic => Code::UNKNOWN,
            Fault::NoDriver(_) | Fault::RealDriver => Code::INSUFFICIENT_DRIVER,
            Fault::MissingFunction(_) => Code::NEWER_DRIVER,
        };
        code.because(fault.to_string())
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::NotCalled(fault) => fault.into(),
            // The driver's codes are the runtime's too.
            DriverError::Code(code) => Code(code.unsigned_abs()).into(),
        }
    }
}

impl Code {
    /// This code, and why.
    pub(crate) fn because(self, why: impl Into<String>) -> Error {
        Error { code: self, why: Some(why.into()) }
    }
}

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(Code::SUCCESS) };
}

/// What `cudaGetLastError` says; it is forgotten then.
pub(crate) fn take_last() -> Code {
    LAST.replace(Code::SUCCESS)
}

/// What `cudaPeekAtLastError` says.
pub(crate) fn last() -> Code {
    LAST.get()
}

/// Runs the body of an exported function, remembers what comes of it, and gives its code.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> Code {
    let Err(error) = c_abi::guard(body) else { return Code::SUCCESS };
    if let Some(why) = error.why {
        c_abi::say("emulated CUDA runtime", &format!("{function}: {why}"));
    }
    LAST.set(error.code);
    error.code
}

/// Declares exported functions on a stream, their last argument: the second name is for programs in which stream 0
/// is the calling thread's own.
macro_rules! export_on_stream {
    ($(
        $(#[$meta:meta])*
        fn $name:ident / $own:ident($($argument:ident: $type:ty),* ; $stream:ident) $body:block
    )*) => {$(
        c_abi::export! {
            $(#[$meta])*
            fn $name($($argument: $type,)* $stream: usize) $body

            #[doc = concat!("[`", stringify!($name), "`], with stream 0 as the calling thread's own.")]
            fn $own($($argument: $type,)* $stream: usize) {
                let $stream = $crate::abi::per_thread($stream);
                $body
            }
        }
    )*};
}
pub(crate) use export_on_stream;

/// Declares exported functions that are the driver's, after what comes first: `context::bind` or
/// `context::start`.
macro_rules! forward {
    ($first:path: $($name:ident = $driver:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        #[doc = concat!("`", stringify!($driver), "`.")]
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function has it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::code::Code {
            $crate::ffi::guard(stringify!($name), || {
                $first()?;
                c_abi::driver_functions!(@body $crate::ffi::Error, $driver($($argument: $type),*))
            })
        }
    )*};
}
pub(crate) use forward;
