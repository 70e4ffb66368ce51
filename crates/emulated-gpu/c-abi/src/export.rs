//! Declaration of exported C functions.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Fault;

/// Runs the body of an exported function. A panic becomes an error and never unwinds into the caller's C code.
///
/// # Errors
/// The error of the body, or [`Fault::Panic`].
pub fn guard<T, E: From<Fault>>(body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(Fault::Panic.into()))
}

/// Prints a message on standard error, prefixed with the library's name. The line is written at once, so that it is
/// not interleaved with output of other threads and processes.
pub fn report(library: &str, line: &str) {
    let line = format!("{library}: {line}\n");
    // A failure is ignored: if standard error is full or closed, nothing can report it.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Declares exported functions that return a code. A function with a second name is exported under both names.
///
/// The library's module `ffi` must define the type `ReturnCode` returned to C, the type `Result` of the bodies, and
/// `fn guard(name: &'static str, body: impl FnOnce() -> Result) -> ReturnCode`, which calls [`guard`](crate::guard())
/// and reports errors. In a body, `NAME` is the function's name.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the exporting library defines the codes")]
macro_rules! export {
    (@second $name:ident ($($argument:ident: $type:ty),*)) => {};
    (@second $name:ident ($($argument:ident: $type:ty),*) $second:ident) => {
        #[doc = concat!("Another name of [`", stringify!($name), "`].")]
        ///
        /// # Safety
        /// The requirements of `$name` apply.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $second($($argument: $type),*) -> crate::ffi::ReturnCode {
            // SAFETY: guaranteed by the caller.
            unsafe { $name($($argument),*) }
        }
    };
    ($(
        $(#[$meta:meta])*
        fn $name:ident $(/ $second:ident)? ($($argument:ident: $type:ty),* $(,)?) $body:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// The caller must meet the requirements in NVIDIA's documentation of the function. Pointers must be null or
        /// valid for the type in that documentation while the function runs.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> crate::ffi::ReturnCode {
            #[allow(dead_code, reason = "not every function uses its name")]
            const NAME: &str = stringify!($name);
            #[allow(clippy::unnecessary_wraps, reason = "all bodies return the same")]
            unsafe fn body($($argument: $type),*) -> crate::ffi::Result $body
            // SAFETY: guaranteed by the caller.
            crate::ffi::guard(NAME, || unsafe { body($($argument),*) })
        }
        $crate::export! { @second $name ($($argument: $type),*) $($second)? }
    )*};
}

/// Defines `FILE`, the file name of a library, and `library_path`, which finds it.
#[macro_export]
macro_rules! library_file {
    ($file:literal) => {
        /// The name of the shared library's file.
        pub const FILE: &str = $file;

        /// The absolute path of the shared library that was built with the running program.
        ///
        /// # Errors
        /// If it is not in the program's folders, see [`NotFound`].
        pub fn library_path() -> std::result::Result<std::path::PathBuf, NotFound> {
            $crate::beside_program(FILE)
        }

        pub use $crate::NotFound;
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        assert_eq!(guard(|| panic!("on purpose")), Err::<(), _>(Fault::Panic));
        assert_eq!(guard(|| Ok::<_, Fault>(3)), Ok(3));
        assert_eq!(guard(|| Err::<(), _>(Fault::Null("it"))), Err(Fault::Null("it")));
    }
}
