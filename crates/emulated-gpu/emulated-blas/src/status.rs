//! The status codes of cuBLAS and cuBLASLt.

use std::ffi::CStr;

/// What is said of numbers that are no status.
const UNKNOWN: &CStr = c"<unknown>";

/// A status, with the number that `cublasStatus_t` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done, or queued.
    Success = 0,
    /// The handle is not one, or the driver can't be used.
    NotInitialized = 1,
    /// No memory.
    AllocFailed = 3,
    /// An argument is wrong, or two of them contradict each other.
    InvalidValue = 7,
    /// The device lacks what the call needs.
    ArchMismatch = 8,
    /// Device memory can't be reached.
    MappingError = 11,
    /// The device could not run the work.
    ExecutionFailed = 13,
    /// A fault of the library's.
    InternalError = 14,
    /// The arguments make sense, and the library does not do this.
    NotSupported = 15,
    /// A licence is missing. Never returned here.
    LicenseError = 16,
}

impl Status {
    const ALL: [Self; 10] = [
        Self::Success,
        Self::NotInitialized,
        Self::AllocFailed,
        Self::InvalidValue,
        Self::ArchMismatch,
        Self::MappingError,
        Self::ExecutionFailed,
        Self::InternalError,
        Self::NotSupported,
        Self::LicenseError,
    ];

    /// The status of that number.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    /// Its number.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// Its name in NVIDIA's headers.
    #[must_use]
    pub fn name(self) -> &'static CStr {
        match self {
            Self::Success => c"CUBLAS_STATUS_SUCCESS",
            Self::NotInitialized => c"CUBLAS_STATUS_NOT_INITIALIZED",
            Self::AllocFailed => c"CUBLAS_STATUS_ALLOC_FAILED",
            Self::InvalidValue => c"CUBLAS_STATUS_INVALID_VALUE",
            Self::ArchMismatch => c"CUBLAS_STATUS_ARCH_MISMATCH",
            Self::MappingError => c"CUBLAS_STATUS_MAPPING_ERROR",
            Self::ExecutionFailed => c"CUBLAS_STATUS_EXECUTION_FAILED",
            Self::InternalError => c"CUBLAS_STATUS_INTERNAL_ERROR",
            Self::NotSupported => c"CUBLAS_STATUS_NOT_SUPPORTED",
            Self::LicenseError => c"CUBLAS_STATUS_LICENSE_ERROR",
        }
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

    /// What it means, in a few words.
    #[must_use]
    pub fn description(self) -> &'static CStr {
        match self {
            Self::Success => c"success",
            Self::NotInitialized => c"the library was not initialized",
            Self::AllocFailed => c"the resource allocation failed",
            Self::InvalidValue => c"an unsupported value or parameter was passed to the function",
            Self::ArchMismatch => c"the device lacks a feature that the function needs",
            Self::MappingError => c"device memory could not be reached",
            Self::ExecutionFailed => c"the work failed to execute on the device",
            Self::InternalError => c"an internal operation failed",
            Self::NotSupported => c"the functionality is not supported",
            Self::LicenseError => c"the functionality needs a licence that was not found",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_found_by_its_number() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
        }
        assert_eq!(Status::name_of(7), c"CUBLAS_STATUS_INVALID_VALUE");
        assert_eq!(Status::name_of(2), UNKNOWN);
        assert_eq!(Status::description_of(-1), UNKNOWN);
    }
}
