//! Requests for access to device memory: running work must request each range before it uses it.

#![allow(unsafe_code, reason = "asks the driver, in C, and reads device memory that it gave")]

use std::ffi::c_void;

use crate::driver::{AccessFunction, OUT_OF_MEMORY};
use crate::words::read_words;
use crate::work::CUDA_ERROR_UNKNOWN;
use crate::{Access, Rejection, Result, Status, filled};

/// The error of work that must stop: either the driver has refused access and reported why, or the work itself has
/// failed and reported that. The driver ends the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub(crate) i32);

impl Refused {
    /// An error with a driver code, for work that has failed and has reported the reason itself.
    #[must_use]
    pub fn with_code(code: i32) -> Self {
        Self(code)
    }
}

impl From<Rejection> for Refused {
    /// Converts a failure of the work itself, usually because the host is out of memory for intermediate results. The
    /// driver then ends the context.
    fn from(rejection: Rejection) -> Self {
        c_abi::report("emulated library", &rejection.to_string());
        Self(if rejection.status == Status::AllocFailed {
            OUT_OF_MEMORY
        } else {
            CUDA_ERROR_UNKNOWN
        })
    }
}

/// The handle with which running work requests access to device memory. It can be neither copied
/// nor kept: work only borrows it.
///
/// ```
/// let run: emulated_blas::RunWork = Box::new(|requester| requester.request(&[]));
/// ```
///
/// ```compile_fail,E0507
/// let run: emulated_blas::RunWork = Box::new(|requester| {
///     let copy: emulated_blas::AccessRequester = *requester;
///     copy.request(&[])
/// });
/// ```
///
/// ```compile_fail,E0521
/// fn keep(_: &'static emulated_blas::AccessRequester) {}
/// fn work(requester: &emulated_blas::AccessRequester) {
///     keep(requester);
/// }
/// ```
#[derive(Debug)]
pub struct AccessRequester {
    access_function: AccessFunction,
    requester: *const c_void,
}

impl AccessRequester {
    /// Wraps the handle that the driver passes to running work.
    ///
    /// # Safety
    /// The driver has passed `requester` to running work, which must not end before this value is dropped.
    /// `access_function` is the driver's `emulatedGpuAccess`.
    pub(crate) unsafe fn new(access_function: AccessFunction, requester: *const c_void) -> Self {
        Self { access_function, requester }
    }

    /// Requests access to all of these ranges. Afterwards, the work may access them as declared, until it ends.
    ///
    /// # Errors
    /// If a range is not inside a single allocation, is misaligned, or is read without ever having been written (if the
    /// driver checks that).
    pub fn request(&self, accesses: &[Access]) -> Result<(), Refused> {
        if accesses.is_empty() {
            return Ok(());
        }
        // SAFETY: the work is running, as `new` requires, and the list is valid during the call.
        match unsafe { (self.access_function)(self.requester, accesses.as_ptr(), accesses.len()) } {
            0 => Ok(()),
            code => Err(Refused(code)),
        }
    }

    /// Requests access to an array of addresses in device memory, and reads each address exactly
    /// once. If a kernel changes the array later, the ranges that were requested stay the same.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn addresses(&self, array: u64, count: u64) -> Result<Vec<u64>, Refused> {
        const SIZE: u64 = size_of::<u64>() as u64;
        if count == 0 {
            return Ok(Vec::new());
        }
        self.request(&[Access::read_bytes(array, count.saturating_mul(SIZE)).aligned_to(SIZE)])?;
        let mut list = filled(0, count as usize)?;
        // SAFETY: access to the array was granted, and it is aligned.
        unsafe { read_words(array as *const u8, &mut list) };
        Ok(list)
    }
}
