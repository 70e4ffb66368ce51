//! The foreign function interface between C and Rust: codes, the last error of each thread, and what is said of an error.

use std::cell::Cell;

use c_abi::Code;

/// What C gets.
pub(crate) use c_abi::Code as ReturnCode;
/// Why a call fails.
pub(crate) use c_abi::CudaError as Error;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Error>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Error>;

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

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
        c_abi::report("emulated CUDA runtime", &format!("{function}: {why}"));
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

/// Declares exported functions that first call `context::bind` or `context::start`, and then the driver's function.
/// Functions with the same arguments may share a row.
macro_rules! forward {
    (@one $first:path, $name:ident, $driver:ident, ($($argument:ident: $type:ty),* $(,)?)) => {
        #[doc = concat!("`", stringify!($driver), "`.")]
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function has it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> c_abi::Code {
            $crate::ffi::guard(stringify!($name), || {
                $first()?;
                c_abi::driver_functions!(@body $crate::ffi::Error, $driver($($argument: $type),*))
            })
        }
    };
    (@rows $first:path, ($($name:ident = $driver:ident),+), $arguments:tt) => {
        $($crate::ffi::forward! { @one $first, $name, $driver, $arguments })+
    };
    ($first:path: $($($name:ident = $driver:ident),+ ($($arguments:tt)*);)*) => {
        $($crate::ffi::forward! { @rows $first, ($($name = $driver),+), ($($arguments)*) })*
    };
}
pub(crate) use forward;
