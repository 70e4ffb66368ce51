//! Result codes, and types of pointer arguments, of the exported functions.

use std::ffi::{CStr, c_int};

use c_abi::{Fault, c_enum};

/// The type of the code that is returned to C.
pub(crate) type ReturnCode = c_int;
/// The result of the body of an exported function.
pub(crate) type Result<T = ()> = std::result::Result<T, Status>;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Status>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Status>;
pub(crate) type Text<'a> = c_abi::Text<'a, Status>;

c_enum! {
    /// `nvrtcResult`; this library never returns some of these codes.
    pub(crate) enum Status: CStr {
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
}

impl Status {
    /// Converts the result of one of NVIDIA's functions.
    ///
    /// # Errors
    /// Every code except success. An unknown code becomes an internal error.
    pub(crate) fn check(code: c_int) -> Result {
        match Self::from_code(code).unwrap_or(Self::InternalError) {
            Self::Success => Ok(()),
            status => Err(status),
        }
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Null(_) => Self::InvalidInput,
            _ => Self::InternalError,
        }
    }
}

/// The name of a result, as `nvrtcGetErrorString` returns it.
pub(crate) fn name(code: c_int) -> &'static CStr {
    Status::from_code(code).map_or(c"NVRTC_ERROR unknown", |status| status.texts()[0])
}

/// Runs the body of an exported function.
pub(crate) fn guard(_function: &str, body: impl FnOnce() -> Result) -> ReturnCode {
    c_abi::guard(body).err().unwrap_or(Status::Success) as c_int
}

/// Prints a line on standard error.
pub(crate) fn report(line: &str) {
    c_abi::report("emulated NVRTC", line);
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
    fn a_panic_becomes_an_internal_error() {
        assert_eq!(guard("", || panic!("on purpose")), Status::InternalError as c_int);
        assert_eq!(guard("", || Err(Status::InvalidInput)), 3);
    }
}
