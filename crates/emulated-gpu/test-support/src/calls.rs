//! Macros that call C functions of an emulated library by name. The test program's function `support::symbol` looks
//! them up. The library's functions are not declared in Rust: an argument has the type of its value, which has to be an
//! [`Argument`], or is given with its type.

use std::ffi::{c_char, c_void};

/// Types of arguments that need not be named. `i32` is not one of them, because it is the type of a number that has no
/// other: a size without a type would be passed with half its bytes.
pub trait Argument {}

macro_rules! arguments {
    ($($type:ty)*) => { $(impl Argument for $type {})* };
}

arguments! { u8 u16 u32 u64 usize f32 f64 c_char c_void }

impl<T: Argument> Argument for *const T {}
impl<T: Argument> Argument for *mut T {}
impl<T: Argument, const N: usize> Argument for [T; N] {}

/// The argument itself, whose type is not named.
pub fn argument<T: Argument>(value: T) -> T {
    value
}

/// Calls a function and returns its code, `call!(cuMemFree_v2(address))`, or a result of another type,
/// `call!(cudaGetErrorName(code) -> *const c_char)`. `call!(cuDeviceGetName(name, 64 => i32))` names a type.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "each test program loads another library")]
macro_rules! call {
    ($name:ident($($value:expr $(=> $type:ty)?),* $(,)?)) => {
        $crate::call!($name($($value $(=> $type)?),*) -> u32)
    };
    ($name:ident($($value:expr $(=> $type:ty)?),* $(,)?) -> $result:ty) => {{
        let function: unsafe extern "C" fn($($crate::call!(@type $($type)?)),*) -> $result =
            crate::support::symbol(stringify!($name));
        // SAFETY: the arguments are valid according to NVIDIA's documentation, or the documentation requires an error.
        unsafe { function($($crate::call!(@value $value $(=> $type)?)),*) }
    }};
    (@type) => { _ };
    (@type $type:ty) => { $type };
    (@value $value:expr) => { $crate::calls::argument($value) };
    (@value $value:expr => $type:ty) => { $value };
}

/// Calls a function that must succeed.
#[macro_export]
macro_rules! ok {
    ($name:ident($($arguments:tt)*)) => {
        assert_eq!($crate::call!($name($($arguments)*)), 0, stringify!($name))
    };
}

/// Calls a function that must succeed, and returns the value that it writes to the pointer in place of `-> type`:
/// `output!(cuMemAlloc_v2(-> u64, bytes))`.
#[macro_export]
macro_rules! output {
    ($name:ident($($before:expr $(=> $type:ty)?,)* -> $result:ty $(, $after:expr $(=> $last:ty)?)* $(,)?)) => {{
        let mut result = <$result>::default();
        $crate::ok!($name(
            $($before $(=> $type)?,)* &raw mut result => *mut $result $(, $after $(=> $last)?)*
        ));
        result
    }};
}

/// Calls a function that must return this code: `returns!(code::INVALID_VALUE, cuMemFree_v2(address))`.
#[macro_export]
macro_rules! returns {
    ($code:expr, $name:ident($($arguments:tt)*) $(, $($message:tt)+)?) => {
        assert_eq!($crate::call!($name($($arguments)*)), $code $(, $($message)+)?)
    };
}
