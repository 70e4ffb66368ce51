//! What the functions return, and the border between C and Rust.

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Declares `nvrtcResult` and its names.
macro_rules! statuses {
    ($($name:ident $code:literal $text:literal;)*) => {
        /// `nvrtcResult`; some of it never happens here.
        #[allow(dead_code, reason = "the list is NVRTC's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Status {
            $($name = $code,)*
        }

        impl Status {
            /// The result of a function of NVIDIA's.
            ///
            /// # Errors
            /// Every code but success; one that is not in the list as an internal error.
            pub(crate) const fn check(code: c_int) -> Result<(), Self> {
                let status = match code {
                    $($code => Self::$name,)*
                    _ => Self::InternalError,
                };
                if matches!(status, Self::Success) { Ok(()) } else { Err(status) }
            }
        }

        /// The name of a result, as `nvrtcGetErrorString` has it.
        pub(crate) const fn name(code: c_int) -> &'static CStr {
            match code {
                $($code => $text,)*
                _ => c"NVRTC_ERROR unknown",
            }
        }
    };
}

statuses! {
    Success 0 c"NVRTC_SUCCESS";
    OutOfMemory 1 c"NVRTC_ERROR_OUT_OF_MEMORY";
    ProgramCreationFailure 2 c"NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    InvalidInput 3 c"NVRTC_ERROR_INVALID_INPUT";
    InvalidProgram 4 c"NVRTC_ERROR_INVALID_PROGRAM";
    InvalidOption 5 c"NVRTC_ERROR_INVALID_OPTION";
    Compilation 6 c"NVRTC_ERROR_COMPILATION";
    BuiltinOperationFailure 7 c"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    NoNameExpressionsAfterCompilation 8 c"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION";
    NoLoweredNamesBeforeCompilation 9 c"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
    NameExpressionNotValid 10 c"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
    InternalError 11 c"NVRTC_ERROR_INTERNAL_ERROR";
    TimeFileWriteFailed 12 c"NVRTC_ERROR_TIME_FILE_WRITE_FAILED";
    NoPchCreateAttempted 13 c"NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED";
    PchCreateHeapExhausted 14 c"NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED";
    PchCreate 15 c"NVRTC_ERROR_PCH_CREATE";
    Cancelled 16 c"NVRTC_ERROR_CANCELLED";
    TimeTraceFileWriteFailed 17 c"NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED";
}

/// Runs the body of an exported function; a panic never crosses into the caller's C.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Status>) -> c_int {
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Success,
        Ok(Err(status)) => status,
        Err(_) => Status::InternalError,
    };
    status as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_their_names() {
        assert_eq!(name(Status::Compilation as c_int), c"NVRTC_ERROR_COMPILATION");
        assert_eq!(name(0), c"NVRTC_SUCCESS");
        assert_eq!(name(-3), c"NVRTC_ERROR unknown");
        assert_eq!(Status::check(0), Ok(()));
        assert_eq!(Status::check(6), Err(Status::Compilation));
        assert_eq!(Status::check(999), Err(Status::InternalError));
    }

    #[test]
    fn a_panic_stays_inside() {
        assert_eq!(guard(|| panic!("on purpose")), Status::InternalError as c_int);
        assert_eq!(guard(|| Err(Status::InvalidInput)), 3);
    }
}
