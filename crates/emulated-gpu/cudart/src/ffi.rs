//! The boundary between C and Rust: return codes, the last error of each thread, and error messages.

use std::cell::Cell;

use c_abi::Code;

/// The code returned to C.
pub(crate) use c_abi::Code as ReturnCode;
/// The reason for a failed call.
pub(crate) use c_abi::CudaError as Error;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Error>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Error>;

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

thread_local! {
    static LAST_ERROR: Cell<Code> = const { Cell::new(Code::SUCCESS) };
}

/// Returns the last error and resets it, for `cudaGetLastError`.
pub(crate) fn take_last() -> Code {
    LAST_ERROR.replace(Code::SUCCESS)
}

/// Returns the last error, for `cudaPeekAtLastError`.
pub(crate) fn last() -> Code {
    LAST_ERROR.get()
}

/// Runs the body of an exported function, prints and stores its error, and returns the code.
pub(crate) fn guard(function: &str, body: impl FnOnce() -> Result) -> Code {
    let Err(error) = c_abi::guard(body) else { return Code::SUCCESS };
    if let Some(why) = error.why {
        c_abi::report("emulated CUDA runtime", &format!("{function}: {why}"));
    }
    LAST_ERROR.set(error.code);
    error.code
}

/// Declares exported functions whose last argument is a stream. The second name serves programs in which stream 0 is
/// the per-thread default stream.
macro_rules! export_on_stream {
    ($(
        $(#[$meta:meta])*
        fn $name:ident / $per_thread:ident($($argument:ident: $type:ty),* ; $stream:ident) $body:block
    )*) => {$(
        c_abi::export! {
            $(#[$meta])*
            fn $name($($argument: $type,)* $stream: usize) $body

            #[doc = concat!("[`", stringify!($name), "`], with stream 0 as the per-thread default stream.")]
            fn $per_thread($($argument: $type,)* $stream: usize) {
                let $stream = $crate::abi::per_thread($stream);
                $body
            }
        }
    )*};
}
pub(crate) use export_on_stream;

/// Declares pairs of exported functions: one whose work is complete before it returns, and one in stream order. In the
/// body, `$when` is the [`CopyOrder`](crate::api::copy::CopyOrder) of the call.
macro_rules! export_copies {
    ($(
        $(#[$meta:meta])*
        fn $now:ident, $in_stream:ident / $per_thread:ident($($argument:ident: $type:ty),* ; $order:ident) $body:block
    )*) => {
        c_abi::export! {$(
            $(#[$meta])*
            fn $now($($argument: $type),*) {
                let $order = $crate::api::copy::CopyOrder::Now;
                $body
            }
        )*}

        $crate::ffi::export_on_stream! {$(
            #[doc = concat!("[`", stringify!($now), "`] in stream order.")]
            fn $in_stream / $per_thread($($argument: $type),*; stream) {
                let $order = $crate::api::copy::CopyOrder::InStream(stream);
                $body
            }
        )*}
    };
}
pub(crate) use export_copies;

/// Declares exported functions that call `context::bind` or `context::start` and then a driver function. Functions
/// with the same arguments may share a row.
macro_rules! forward {
    (@one $first:path, $name:ident, $driver:ident, ($($argument:ident: $type:ty),* $(,)?)) => {
        #[doc = concat!("`", stringify!($driver), "`.")]
        ///
        /// # Safety
        /// The caller must meet the requirements in NVIDIA's documentation of the function.
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
