//! The status codes of cuBLAS and cuBLASLt.

use std::ffi::CStr;

use c_abi::c_enum;

/// The text for numbers that are not a status.
const UNKNOWN: &CStr = c"<unknown>";

c_enum! {
    /// A status: its `cublasStatus_t` number, its name in NVIDIA's headers, and a short
    /// description.
    pub enum Status: CStr {
    /// The call succeeded, or its work is enqueued.
    Success 0 c"CUBLAS_STATUS_SUCCESS" c"success";
    /// The handle is invalid, or the driver can't be used.
    NotInitialized 1 c"CUBLAS_STATUS_NOT_INITIALIZED" c"the library was not initialized";
    /// Out of memory.
    AllocFailed 3 c"CUBLAS_STATUS_ALLOC_FAILED" c"the resource allocation failed";
    /// An argument is invalid, or contradicts another one.
    InvalidValue 7 c"CUBLAS_STATUS_INVALID_VALUE"
        c"an unsupported value or parameter was passed to the function";
    /// The device lacks a feature that the call needs.
    ArchMismatch 8 c"CUBLAS_STATUS_ARCH_MISMATCH"
        c"the device lacks a feature that the function needs";
    /// Device memory can't be accessed.
    MappingError 11 c"CUBLAS_STATUS_MAPPING_ERROR" c"device memory could not be reached";
    /// The device failed to run the work.
    ExecutionFailed 13 c"CUBLAS_STATUS_EXECUTION_FAILED"
        c"the work failed to execute on the device";
    /// An error inside the library.
    InternalError 14 c"CUBLAS_STATUS_INTERNAL_ERROR" c"an internal operation failed";
    /// The arguments are valid, but the library does not support them.
    NotSupported 15 c"CUBLAS_STATUS_NOT_SUPPORTED" c"the functionality is not supported";
    /// A licence is missing. This library never returns this status.
    LicenseError 16 c"CUBLAS_STATUS_LICENSE_ERROR"
        c"the functionality needs a licence that was not found";
    }
}

impl Status {
    /// The status's number.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The status's name in NVIDIA's headers.
    #[must_use]
    pub fn name(self) -> &'static CStr {
        self.texts()[0]
    }

    /// The name for a number, which need not be a valid status.
    #[must_use]
    pub fn name_of(code: i32) -> &'static CStr {
        Self::from_code(code).map_or(UNKNOWN, Self::name)
    }

    /// The description for a number, which need not be a valid status.
    #[must_use]
    pub fn description_of(code: i32) -> &'static CStr {
        Self::from_code(code).map_or(UNKNOWN, |status| status.texts()[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_codes_have_names() {
        assert_eq!(Status::name_of(7), c"CUBLAS_STATUS_INVALID_VALUE");
        assert_eq!(Status::name_of(2), UNKNOWN);
        assert_eq!(Status::description_of(-1), UNKNOWN);
    }
}
