//! The foreign function interface between C and Rust.

use emulated_blas::Report;

/// What the library says.
pub(crate) static REPORT: Report = Report::new("emulated cuBLAS");

/// Declares exported functions that return a status. Their bodies return
/// `Result<(), Rejection>`; `NAME` is the name of the function, for messages.
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
            $crate::ffi::REPORT.guard(NAME, move || $body)
        }
    )*};
}
pub(crate) use export;
