//! Exported C functions.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Fault;

/// Runs the body of an exported function: a panic becomes an error, and never unwinds into the caller's C code.
///
/// # Errors
/// The body's, or [`Fault::Panic`].
pub fn guard<T, E: From<Fault>>(body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(Fault::Panic.into()))
}

/// Reports something on standard error, after the name of the library. It is written in one piece, so that lines
/// of other libraries and processes don't cut it.
pub fn report(library: &str, line: &str) {
    let line = format!("{library}: {line}\n");
    // If standard error is full or closed, nothing can be done about it.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Declares exported functions that return a code. One with a second name is exported under that, too.
///
/// The library has in its module `ffi` the type `ReturnCode`, which C gets, the type `Result` of the bodies, and
/// `fn guard(name: &'static str, body: impl FnOnce() -> Result) -> ReturnCode`, which calls [`guard`](crate::guard())
/// and reports what is wrong. In a body, `NAME` is the function's name.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "codes are those of the library that exports")]
macro_rules! export {
    (@second $name:ident ($($argument:ident: $type:ty),*)) => {};
    (@second $name:ident ($($argument:ident: $type:ty),*) $second:ident) => {
        #[doc = concat!("As [`", stringify!($name), "`].")]
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $second($($argument: $type),*) -> crate::ffi::ReturnCode {
            // SAFETY: the caller's promise.
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
        /// As NVIDIA's documentation of the function has it: pointers are null or lead to what they are said to
        /// lead to, for as long as the function runs.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> crate::ffi::ReturnCode {
            #[allow(dead_code, reason = "not every function says its name")]
            const NAME: &str = stringify!($name);
            #[allow(clippy::unnecessary_wraps, reason = "all bodies return the same")]
            unsafe fn body($($argument: $type),*) -> crate::ffi::Result $body
            // SAFETY: the caller's promise.
            crate::ffi::guard(NAME, || unsafe { body($($argument),*) })
        }
        $crate::export! { @second $name ($($argument: $type),*) $($second)? }
    )*};
}

/// Declares where a library is built to: `FILE`, its name, and `library_path`.
#[macro_export]
macro_rules! library_file {
    ($file:literal) => {
        /// The name of the shared library's file.
        pub const FILE: &str = $file;

        /// The absolute path of the shared library that was built with the running program.
        ///
        /// # Errors
        /// When it is not beside the program.
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
    fn a_panic_stays_inside() {
        assert_eq!(guard(|| panic!("on purpose")), Err::<(), _>(Fault::Panic));
        assert_eq!(guard(|| Ok::<_, Fault>(3)), Ok(3));
        assert_eq!(guard(|| Err::<(), _>(Fault::Null("it"))), Err(Fault::Null("it")));
    }
}
