//! Work of host libraries, such as cuBLAS: a function that is called when the stream reaches it. It must request
//! every range of device memory before accessing it. These ranges stay valid until the function returns, even if they
//! are freed meanwhile.

#![allow(unsafe_code, reason = "calls functions of the library")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ptx_emulator::Memory;
use ptx_emulator::memory::Reach;

use crate::abi::error::{Code, Error, Result};
use crate::abi::ffi;
use crate::memory::library_access::{Declaration, Range};

/// The function type `EmulatedGpuWork`, which does the work. Its arguments are the work's data, and the requester
/// through which it requests device memory.
pub(crate) type WorkFunction =
    Option<unsafe extern "C" fn(*mut c_void, *const AccessRequester<'_>) -> Code>;
/// The function type `EmulatedGpuRelease`, which frees the data of work that will not run again.
pub(crate) type ReleaseFunction = Option<unsafe extern "C" fn(*mut c_void)>;

/// Work of a library.
#[derive(Debug)]
pub(crate) struct LibraryWork {
    /// The name of the operation, for reports.
    pub(crate) operation: String,
    run: WorkFunction,
    data: usize,
    release: ReleaseFunction,
    /// Whether a stream or a graph accepted the work. Otherwise its data still belongs to the caller.
    accepted: AtomicBool,
}

/// The structure `EmulatedGpuAccessRequester`: the handle with which a library requests memory while its work runs.
#[derive(Debug)]
pub(crate) struct AccessRequester<'work> {
    work: &'work LibraryWork,
    memory: &'work Memory,
    /// The device that does the work, and the devices whose memory it may access.
    from: Reach,
    /// The first rejected request, which makes the context unusable even if the library ignores it.
    rejected: Mutex<Option<Error>>,
}

impl LibraryWork {
    pub(crate) fn new(
        operation: String,
        run: WorkFunction,
        data: usize,
        release: ReleaseFunction,
    ) -> Self {
        Self { operation, run, data, release, accepted: AtomicBool::new(true) }
    }

    /// Leaves the data of work that was not accepted to the caller.
    pub(crate) fn release(&self) {
        self.accepted.store(false, Ordering::Relaxed);
    }

    /// Runs the work.
    ///
    /// # Errors
    /// `ILLEGAL_ADDRESS`, `MISALIGNED_ADDRESS` or `LAUNCH_FAILED`, with a report, if a memory request was rejected;
    /// otherwise the code that the library's function returns.
    pub(crate) fn run(&self, memory: &Memory, from: Reach) -> Result {
        let Some(run) = self.run else { return Ok(()) };
        let requester = AccessRequester { work: self, memory, from, rejected: Mutex::new(None) };
        // SAFETY: the library passed the function to be called with this data; the requester lives until the call returns.
        let call = || unsafe { run(self.data as *mut c_void, &raw const requester) };
        // The function accesses the requested ranges at their addresses, so they must not be reused before it
        // returns.
        let code = memory.with_lease(|| ffi::host_function(call));
        let Self { operation, .. } = self;
        match requester.rejected.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None if code == Code::SUCCESS => Ok(()),
            None => {
                Err(code.because(format!("library {operation}: it failed with error {}", code.0)))
            }
        }
    }
}

impl Drop for LibraryWork {
    fn drop(&mut self) {
        if self.accepted.load(Ordering::Relaxed)
            && let Some(release) = self.release
        {
            // SAFETY: the library passed the function to be called with this data, and `run` isn't called any more.
            ffi::host_function(|| unsafe { release(self.data as *mut c_void) });
        }
    }
}

impl AccessRequester<'_> {
    /// Grants the library access to all of the ranges, or to none.
    ///
    /// # Errors
    /// The errors of [`Declaration::check`]. The first error is stored.
    pub(crate) fn request(&self, ranges: Vec<Range>) -> Result {
        let declaration = Declaration { operation: self.work.operation.clone(), ranges };
        declaration.check(self.memory, self.from).map_err(|error| {
            let code = error.code;
            let mut rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
            rejected.get_or_insert(error);
            code.into()
        })
    }
}
