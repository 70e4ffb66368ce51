//! Result codes, and types of pointer arguments, of the exported functions.

use std::ffi::c_int;

use c_abi::Fault;

/// The result of the body of an exported function.
pub(crate) type Result<T = ()> = std::result::Result<T, Status>;
pub(crate) type In<'a, T> = c_abi::In<'a, T, Status>;
pub(crate) type Out<'a, T> = c_abi::Out<'a, T, Status>;
pub(crate) type Text<'a> = c_abi::Text<'a, Status>;

/// `nvJitLinkResult` of version 13, without the results that are never returned here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Success = 0,
    UnrecognizedOption = 1,
    MissingArch = 2,
    InvalidInput = 3,
    PtxCompile = 4,
    NvvmCompile = 5,
    Internal = 6,
    UnrecognizedInput = 8,
    NullInput = 10,
    IncompatibleOptions = 11,
    IncorrectInputType = 12,
    MissingFatbin = 15,
    UnrecognizedArch = 16,
    LtoNotEnabled = 18,
}

/// The version of the header with which the caller was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// Version 12, or a caller without a header. The largest result code is 9.
    Twelve,
    Thirteen,
}

impl Status {
    /// The number of a result in the caller's header. Results that version 12 lacks are converted
    /// to the results that it has for the same errors.
    pub(crate) fn code(self, header: Header) -> c_int {
        use Status::{IncompatibleOptions, IncorrectInputType, MissingFatbin, NullInput};
        let status_of_header = match self {
            status if header == Header::Thirteen => status,
            NullInput | IncompatibleOptions | IncorrectInputType | MissingFatbin => {
                Self::InvalidInput
            }
            Self::UnrecognizedArch | Self::LtoNotEnabled => Self::Internal,
            status => status,
        };
        status_of_header as c_int
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Null(_) => Self::NullInput,
            _ => Self::Internal,
        }
    }
}

/// Runs the body of an exported function.
pub(crate) fn guard(header: Header, body: impl FnOnce() -> Result) -> c_int {
    c_abi::guard(body).err().unwrap_or(Status::Success).code(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        assert_eq!(guard(Header::Twelve, || panic!("on purpose")), Status::Internal as c_int);
        assert_eq!(guard(Header::Thirteen, || Err(Status::LtoNotEnabled)), 18);
    }

    #[test]
    fn no_result_is_newer_than_the_callers_header() {
        use Status::*;
        let newer = [IncompatibleOptions, IncorrectInputType, MissingFatbin, UnrecognizedArch];
        for status in newer.into_iter().chain([Success, NullInput, LtoNotEnabled]) {
            assert_eq!(status.code(Header::Thirteen), status as c_int);
            assert!(status.code(Header::Twelve) <= 9, "{status:?}");
            assert_eq!(status.code(Header::Twelve) == 0, status == Status::Success);
        }
    }
}
