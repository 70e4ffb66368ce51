//! The foreign function interface between C and Rust: codes, the last error of each thread, and what is said of an error.

use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::code::Code;

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

/// Says something on standard error.
pub(crate) fn say(line: &str) {
    // Where that is full or closed, there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "emulated CUDA runtime: {line}");
}

/// Runs the body of an exported function, remembers what comes of it, and gives its code; a panic
/// never crosses into the caller's C.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> Code {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Code::SUCCESS,
        Ok(Err(error)) => error,
        Err(_) => Code::UNKNOWN.because("an internal error, which is a fault of this library"),
    };
    if let Some(why) = error.why {
        say(&format!("{function}: {why}"));
    }
    LAST.set(error.code);
    error.code
}

/// Declares exported functions that return a code. One with a second name is exported under that too,
/// for programs in which stream 0 is the calling thread's own.
macro_rules! export {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function has it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::code::Code {
            unsafe fn body($($argument: $type),*) -> $crate::ffi::Result $body
            $crate::ffi::guard(stringify!($name), || body($($argument),*))
        }
    )*};
}
pub(crate) use export;

/// The same for functions on a stream, their last argument: both names.
macro_rules! export_on_stream {
    ($(
        $(#[$meta:meta])*
        fn $name:ident / $own:ident($($argument:ident: $type:ty),* ; $stream:ident) $body:block
    )*) => {$(
        $crate::ffi::export! {
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
                static FUNCTION: $crate::driver::Function =
                    $crate::driver::Function::new(stringify!($driver));
                $first()?;
                // SAFETY: the type is that of the driver's function in NVIDIA's cuda.h.
                let function = unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $crate::code::Code>(
                        FUNCTION.address()?,
                    )
                };
                // SAFETY: the caller's promise.
                unsafe { function($($argument),*) }.checked()
            })
        }
    )*};
}
pub(crate) use forward;
