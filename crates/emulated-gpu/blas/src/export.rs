//! How the libraries export C functions, and hand out results.

#![allow(unsafe_code, reason = "the functions are C's")]

use crate::Rejection;

/// Writes what a function hands out, at any address.
///
/// # Errors
/// `INVALID_VALUE` if the place, an argument of that name, is null.
///
/// # Safety
/// A place that is not null is writable.
pub unsafe fn put<T>(place: *mut T, value: T, name: &str) -> Result<(), Rejection> {
    if place.is_null() {
        return Err(Rejection::invalid(format!("{name} is a null pointer")));
    }
    // SAFETY: the caller's promise.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Declares exported functions that return a status, in a library that has its [`Report`](crate::Report) in
/// `ffi::REPORT`. Their bodies are unsafe, and return `Result<(), Rejection>`; `NAME` is the name of the function, for messages.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "what is said is said by the library that exports")]
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
        #[allow(unused_unsafe, reason = "not every function has pointers")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            #[allow(dead_code, reason = "not every function says its name")]
            const NAME: &str = stringify!($name);
            crate::ffi::REPORT.guard(NAME, move || {
                // SAFETY: the caller of the C function vouches for its arguments: pointers lead to what they are
                // said to lead to, for as long as the function runs, or are null.
                unsafe { $body }
            })
        }
    )*};
}
