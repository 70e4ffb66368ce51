//! How the libraries export C functions.

/// Declares exported functions that return a status, in a library that has its [`Report`](crate::Report) in
/// `ffi::REPORT`. Their bodies return `Result<(), Rejection>`; `NAME` is the name of the function, for messages.
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
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            #[allow(dead_code, reason = "not every function says its name")]
            const NAME: &str = stringify!($name);
            crate::ffi::REPORT.guard(NAME, move || $body)
        }
    )*};
}
