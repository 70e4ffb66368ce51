//! Return types and pointer types of the exported functions.

use std::ffi::{CStr, c_uint};

use c_abi::{Fault, c_enum};

/// The code returned to C.
pub(crate) type ReturnCode = c_uint;
/// The result of a call.
pub(crate) type Result<T = ()> = std::result::Result<T, Status>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Status>;
pub(crate) type Text<'a> = c_abi::Text<'a, Status>;

c_enum! {
    /// `nvmlReturn_t`
    pub(crate) enum Status: CStr {
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
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Null(_) => Self::InvalidArgument,
            Fault::Panic => Self::Unknown,
            Fault::NoDriver(_) => Self::LibraryNotFound,
            Fault::RealDriver | Fault::MissingFunction(_) => Self::DriverNotLoaded,
        }
    }
}

/// The description of a status number, for `nvmlErrorString`.
pub(crate) fn text(number: c_uint) -> &'static CStr {
    let status = Status::from_code(number as i32).unwrap_or(Status::Unknown);
    status.texts()[0]
}

/// Runs the body of an exported function.
pub(crate) fn guard(_function: &str, body: impl FnOnce() -> Result) -> ReturnCode {
    c_abi::guard(body).err().unwrap_or(Status::Success) as c_uint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        assert_eq!(guard("", || panic!("on purpose")), 999);
        assert_eq!(guard("", || Err(Status::NotSupported)), 3);
        assert_eq!(guard("", || Ok(())), 0);
    }

    #[test]
    fn every_number_has_a_description() {
        assert_eq!(text(0), c"Success");
        assert_eq!(text(Status::NotSupported as c_uint), c"Not Supported");
        assert_eq!(text(12345), text(999));
    }
}
