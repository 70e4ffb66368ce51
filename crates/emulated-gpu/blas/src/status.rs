//! The status codes of cuBLAS and cuBLASLt.

use std::ffi::CStr;

/// What is said of numbers that are no status.
const UNKNOWN: &CStr = c"<unknown>";

/// Declares `cublasStatus_t`: of each status its number, its name in NVIDIA's headers, what it means in a
/// few words, and when it is returned here.
macro_rules! statuses {
    ($($(#[$meta:meta])* $status:ident $code:literal $name:literal $description:literal;)*) => {
        /// A status, with the number that `cublasStatus_t` gives it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Status {
            $($(#[$meta])* $status = $code,)*
        }

        impl Status {
            const ALL: &[Self] = &[$(Self::$status),*];

            /// Its name in NVIDIA's headers.
            #[must_use]
            pub fn name(self) -> &'static CStr {
                match self {
                    $(Self::$status => $name,)*
                }
            }

            /// What it means, in a few words.
            #[must_use]
            pub fn description(self) -> &'static CStr {
                match self {
                    $(Self::$status => $description,)*
                }
            }
        }
    };
}

statuses! {
    /// Done, or queued.
    Success 0 c"CUBLAS_STATUS_SUCCESS" c"success";
    /// The handle is not one, or the driver can't be used.
    NotInitialized 1 c"CUBLAS_STATUS_NOT_INITIALIZED" c"the library was not initialized";
    /// No memory.
    AllocFailed 3 c"CUBLAS_STATUS_ALLOC_FAILED" c"the resource allocation failed";
    /// An argument is wrong, or two of them contradict each other.
    InvalidValue 7 c"CUBLAS_STATUS_INVALID_VALUE"
        c"an unsupported value or parameter was passed to the function";
    /// The device lacks what the call needs.
    ArchMismatch 8 c"CUBLAS_STATUS_ARCH_MISMATCH"
        c"the device lacks a feature that the function needs";
    /// Device memory can't be reached.
    MappingError 11 c"CUBLAS_STATUS_MAPPING_ERROR" c"device memory could not be reached";
    /// The device could not run the work.
    ExecutionFailed 13 c"CUBLAS_STATUS_EXECUTION_FAILED"
        c"the work failed to execute on the device";
    /// A fault of the library's.
    InternalError 14 c"CUBLAS_STATUS_INTERNAL_ERROR" c"an internal operation failed";
    /// The arguments make sense, and the library does not do this.
    NotSupported 15 c"CUBLAS_STATUS_NOT_SUPPORTED" c"the functionality is not supported";
    /// A licence is missing. Never returned here.
    LicenseError 16 c"CUBLAS_STATUS_LICENSE_ERROR"
        c"the functionality needs a licence that was not found";
}

impl Status {
    /// The status of that number.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.code() == code)
    }

    /// Its number.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name of a number, which may be no status.
    #[must_use]
    pub fn name_of(code: i32) -> &'static CStr {
        Self::from_code(code).map_or(UNKNOWN, Self::name)
    }

    /// The description of a number, which may be no status.
    #[must_use]
    pub fn description_of(code: i32) -> &'static CStr {
        Self::from_code(code).map_or(UNKNOWN, Self::description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_found_by_its_number() {
        for &status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
        }
        assert_eq!(Status::name_of(7), c"CUBLAS_STATUS_INVALID_VALUE");
        assert_eq!(Status::name_of(2), UNKNOWN);
        assert_eq!(Status::description_of(-1), UNKNOWN);
    }
}
