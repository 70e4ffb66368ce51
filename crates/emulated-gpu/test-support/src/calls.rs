//! Macros that call C functions of an emulated library by name. The test program's function `support::symbol` looks
//! them up. Each argument is given with its type, because the library's functions are not declared in Rust.

/// Calls a function and returns its code, `call!(cuMemFree_v2(address => u64))`, or a result of another type,
/// `call!(cudaGetErrorName(code => u32) -> *const c_char)`.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "each test program loads another library")]
macro_rules! call {
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {
        $crate::call!($name($($value => $type),*) -> u32)
    };
    ($name:ident($($value:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        let function: unsafe extern "C" fn($($type),*) -> $result =
            crate::support::symbol(stringify!($name));
        // SAFETY: the arguments are valid according to NVIDIA's documentation, or the documentation requires an error.
        unsafe { function($($value),*) }
    }};
}

/// Calls a function that must succeed.
#[macro_export]
macro_rules! ok {
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {
        assert_eq!($crate::call!($name($($value => $type),*)), 0, stringify!($name))
    };
}

/// Calls a function that must succeed, and returns the value that it writes to the pointer in place of `-> type`:
/// `output!(cuMemAlloc_v2(-> u64, bytes => usize))`.
#[macro_export]
macro_rules! output {
    ($name:ident($($before:expr => $type:ty,)* -> $result:ty $(, $after:expr => $last:ty)* $(,)?)) => {{
        let mut result = <$result>::default();
        $crate::ok!($name($($before => $type,)* &raw mut result => *mut $result $(, $after => $last)*));
        result
    }};
}

/// Calls a function that must return this code: `returns!(code::INVALID_VALUE, cuMemFree_v2(address => u64))`.
#[macro_export]
macro_rules! returns {
    ($code:expr, $name:ident($($value:expr => $type:ty),* $(,)?) $(, $($message:tt)+)?) => {
        assert_eq!($crate::call!($name($($value => $type),*)), $code $(, $($message)+)?)
    };
}
