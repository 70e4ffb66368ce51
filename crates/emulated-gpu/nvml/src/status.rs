//! What the functions return, and the border between C and Rust.

use std::ffi::{CStr, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! statuses {
    ($($name:ident $number:literal $text:literal;)*) => {
        /// `nvmlReturn_t`
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        #[allow(dead_code, reason = "the list is whole, so that every number has its text")]
        pub(crate) enum Status {
            $($name = $number,)*
        }

        /// The text of a number: `nvmlErrorString`.
        pub(crate) fn text(number: c_uint) -> &'static CStr {
            match number {
                $($number => $text,)*
                _ => c"Unknown Error",
            }
        }
    };
}

statuses! {
    Success 0 c"Success";
    Uninitialized 1 c"Uninitialized";
    InvalidArgument 2 c"Invalid Argument";
    NotSupported 3 c"Not Supported";
    NoPermission 4 c"Insufficient Permissions";
    AlreadyInitialized 5 c"Already Initialized";
    NotFound 6 c"Not Found";
    InsufficientSize 7 c"Insufficient Size";
    InsufficientPower 8 c"Insufficient External Power";
    DriverNotLoaded 9 c"Driver Not Loaded";
    Timeout 10 c"Timeout";
    IrqIssue 11 c"Interrupt Request Issue";
    LibraryNotFound 12 c"NVML Shared Library Not Found";
    FunctionNotFound 13 c"Function Not Found";
    CorruptedInforom 14 c"Corrupted infoROM";
    GpuIsLost 15 c"GPU is lost";
    ResetRequired 16 c"GPU requires reset";
    OperatingSystem 17 c"The operating system has blocked the request.";
    VersionMismatch 18 c"Driver/library version mismatch";
    InUse 19 c"In use by another client";
    Memory 20 c"Insufficient Memory";
    NoData 21 c"No data";
    VgpuEccNotSupported 22 c"vGPU operation is not available while ECC is enabled";
    InsufficientResources 23 c"Insufficient resources other than memory";
    FrequencyNotSupported 24 c"Frequency not supported";
    ArgumentVersionMismatch 25 c"Argument version mismatch";
    Deprecated 26 c"Deprecated";
    NotReady 27 c"Not ready";
    GpuNotFound 28 c"No GPUs found";
    InvalidState 29 c"Invalid state";
    ResetTypeNotSupported 30 c"Reset type not supported";
    Unknown 999 c"Unknown Error";
}

/// What a call comes to.
pub(crate) type Result<T = ()> = std::result::Result<T, Status>;

/// Runs the body of an exported function; a panic never crosses into the caller's C.
pub(crate) fn guard(body: impl FnOnce() -> Result) -> c_uint {
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Success,
        Ok(Err(status)) => status,
        Err(_) => Status::Unknown,
    };
    status as c_uint
}

/// Declares exported functions that return a status. One with a second name is exported under that too.
macro_rules! export {
    (@second $name:ident ($($argument:ident: $type:ty),*)) => {};
    (@second $name:ident ($($argument:ident: $type:ty),*) $second:ident) => {
        #[doc = concat!("As [`", stringify!($name), "`].")]
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $second($($argument: $type),*) -> std::ffi::c_uint {
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
        /// As NVIDIA's documentation of the function has it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_uint {
            fn body($($argument: $type),*) -> $crate::status::Result $body
            $crate::status::guard(|| body($($argument),*))
        }
        $crate::status::export! { @second $name ($($argument: $type),*) $($second)? }
    )*};
}
pub(crate) use export;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_inside() {
        assert_eq!(guard(|| panic!("on purpose")), 999);
        assert_eq!(guard(|| Err(Status::NotSupported)), 3);
        assert_eq!(guard(|| Ok(())), 0);
    }

    #[test]
    fn every_number_has_a_text() {
        assert_eq!(text(0), c"Success");
        assert_eq!(text(Status::NotSupported as c_uint), c"Not Supported");
        assert_eq!(text(12345), text(999));
    }
}
