//! The foreign function interface between C and Rust. Every exported function goes through [`call`] or
//! [`call_before_init`], so that no panic crosses into C, calls before `cuInit` fail, and failures are logged.

use std::cell::Cell;
use std::ffi::c_void;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::abi::error::{Code, Error, Result};
use crate::abi::process;

thread_local! {
    /// Whether this thread runs a host function, which may not call the driver.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    /// Whether stream 0 means the per-thread default stream: in functions whose names end in `_ptsz` or `_ptds`.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs the body of an exported function.
pub(crate) fn call(name: &str, body: impl FnOnce() -> Result) -> Code {
    call_before_init(name, || {
        process::check()?;
        if IN_HOST_FUNCTION.get() {
            return Err(Code::NOT_PERMITTED.because(
                "a host function in a stream may not call the driver; return, and call it then",
            ));
        }
        body()
    })
}

/// Like [`call`], for functions that may be called before `cuInit` and in host functions.
pub(crate) fn call_before_init(name: &str, body: impl FnOnce() -> Result) -> Code {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Code::SUCCESS,
        Ok(Err(error)) => {
            log(name, &error);
            error.code
        }
        Err(_) => {
            report(&format!(
                "{name} failed inside the emulated driver; this is a bug in the emulated driver, please report it"
            ));
            Code::UNKNOWN
        }
    }
}

/// Calls a function of the program that may not call the driver.
pub(crate) fn host_function<T>(body: impl FnOnce() -> T) -> T {
    let before = IN_HOST_FUNCTION.replace(true);
    let result = body();
    IN_HOST_FUNCTION.set(before);
    result
}

/// Runs `body` with stream 0 meaning the per-thread default stream.
pub(crate) fn per_thread(body: impl FnOnce() -> Code) -> Code {
    let before = PER_THREAD.replace(true);
    let code = body();
    PER_THREAD.set(before);
    code
}

/// Whether stream 0 means the per-thread default stream.
pub(crate) fn is_per_thread() -> bool {
    PER_THREAD.get()
}

/// Prints a message on standard error.
pub(crate) fn report(text: &str) {
    c_abi::report("emulated GPU", text);
}

/// Writes a failed call to the log, if one is configured.
fn log(name: &str, error: &Error) {
    let Some(path) = process::log() else { return };
    let text = error.code.driver_texts();
    let (code, text) = text.map_or_else(Default::default, |(code, text)| {
        (code.to_string_lossy(), text.to_string_lossy())
    });
    let why = error.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    let line = format!("[{name}] {code} ({text}){why}\n");
    // A log that can't be written must not change the result of the call.
    let _ = if path == Path::new("stderr") {
        std::io::stderr().write_all(line.as_bytes())
    } else if path == Path::new("stdout") {
        std::io::stdout().write_all(line.as_bytes())
    } else {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
    };
}

/// An exported function, as `cuGetProcAddress` finds it: its name, version and address.
pub(crate) struct EntryPoint {
    /// The exported symbol: the name, followed by `_v2` and the like if there are several versions.
    pub(crate) symbol: &'static str,
    /// The CUDA version that introduced this symbol.
    pub(crate) since: i32,
    pub(crate) function: *const c_void,
    /// The variant in which stream 0 means the per-thread default stream.
    pub(crate) per_thread: *const c_void,
}

/// Declares exported functions and lists them as `ENTRIES`. Each declaration begins with the CUDA version that
/// introduced this form of the function (12040 for 12.4, as in `cudaTypedefs.h`). A second version and name after the
/// arguments export the same body again. `also ALIAS` exports the function under a second name, with stream 0 meaning
/// the per-thread default stream. `early` functions need no `cuInit`. An argument `as required` is a pointer that must
/// not be null; such arguments are checked first.
macro_rules! export {
    (@call) => { $crate::abi::ffi::call };
    (@call early) => { $crate::abi::ffi::call_before_init };
    (@call also) => { $crate::abi::ffi::call };
    (@per_thread $name:ident also $alias:ident) => { $alias };
    (@per_thread $name:ident $(early)?) => { $name };
    (@function
        $(#[$meta:meta])* $name:ident ($($argument:ident $(as $required:ident)?: $type:ty),* $(,)?)
        [$($how:ident)?] $body:block
    ) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::abi::error::Code {
            unsafe fn body($($argument: $type),*) -> $crate::abi::error::Result {
                $($($argument.$required()?;)?)*
                $body
            }
            // SAFETY: the caller's promises are passed on.
            let body = || unsafe { body($($argument),*) };
            $crate::abi::ffi::export!(@call $($how)?)(stringify!($name), body)
        }
    };
    (@alias $name:ident ($($argument:ident $(as $required:ident)?: $type:ty),* $(,)?) also $alias:ident) => {
        #[doc = concat!("[`", stringify!($name), "`], with stream 0 meaning the per-thread default stream.")]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $alias($($argument: $type),*) -> $crate::abi::error::Code {
            // SAFETY: the caller makes the same promises as for `$name`.
            $crate::abi::ffi::per_thread(|| unsafe { $name($($argument),*) })
        }
    };
    (@alias $name:ident $arguments:tt $(early)?) => {};
    ($(
        $(#[$meta:meta])* $since:literal fn $name:ident $arguments:tt $(, $second_since:literal $second:ident)?
        $($how:ident $($alias:ident)?)? $body:block
    )*) => {
        $(
            $crate::abi::ffi::export! { @function $(#[$meta])* $name $arguments [$($how)?] $body }
            $crate::abi::ffi::export! { @alias $name $arguments $($how $($alias)?)? }
            $($crate::abi::ffi::export! { @function $second $arguments [] $body })?
        )*

        /// The functions of this file.
        pub(crate) const ENTRIES: &[$crate::abi::ffi::EntryPoint] = &[$(
            $crate::abi::ffi::EntryPoint {
                symbol: stringify!($name),
                since: $since,
                function: $name as *const std::ffi::c_void,
                per_thread: $crate::abi::ffi::export!(@per_thread $name $($how $($alias)?)?) as *const std::ffi::c_void,
            },
            $($crate::abi::ffi::EntryPoint {
                symbol: stringify!($second),
                since: $second_since,
                function: $second as *const std::ffi::c_void,
                per_thread: $second as *const std::ffi::c_void,
            },)?
        )*];
    };
}
pub(crate) use export;
