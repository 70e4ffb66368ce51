//! Work of host libraries, such as cuBLAS: a function that is called when its turn in the stream has come, and that
//! asks for every range of device memory before it accesses it. These ranges stay where they are until the function
//! returns, even if they are freed meanwhile.

#![allow(unsafe_code, reason = "calls functions of the library's")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ptx_emulator::Memory;
use ptx_emulator::memory::Reach;

use crate::abi::error::{Code, Error, Result};
use crate::abi::ffi;
use crate::memory::library_access::{Declaration, Range};

/// `EmulatedGpuWork`: does the work, with what belongs to it and with the door to device memory.
pub(crate) type WorkFunction = Option<unsafe extern "C" fn(*mut c_void, *const Door<'_>) -> Code>;
/// `EmulatedGpuRelease`: gives back what belongs to work that is not done again.
pub(crate) type ReleaseFunction = Option<unsafe extern "C" fn(*mut c_void)>;

/// Work of a library.
#[derive(Debug)]
pub(crate) struct Work {
    /// The name of the operation, for reports.
    pub(crate) operation: String,
    run: WorkFunction,
    data: usize,
    release: ReleaseFunction,
    /// Whether a stream or a graph has taken it. What none took stays the caller's.
    taken: AtomicBool,
}

/// What a library asks for memory while its work runs: `EmulatedGpuDoor`.
#[derive(Debug)]
pub(crate) struct Door<'work> {
    work: &'work Work,
    memory: &'work Memory,
    /// The device that it works on.
    from: Reach,
    /// The first refusal, which ends the context whatever the library makes of it.
    refused: Mutex<Option<Error>>,
}

impl Work {
    pub(crate) fn new(
        operation: String,
        run: WorkFunction,
        data: usize,
        release: ReleaseFunction,
    ) -> Self {
        Self { operation, run, data, release, taken: AtomicBool::new(true) }
    }

    /// It was refused, and its data is the caller's.
    pub(crate) fn give_back(&self) {
        self.taken.store(false, Ordering::Relaxed);
    }

    /// Does it.
    ///
    /// # Errors
    /// `ILLEGAL_ADDRESS`, `MISALIGNED_ADDRESS` and `LAUNCH_FAILED` for memory that it asked for in
    /// vain, with the report, and what the library's function says.
    pub(crate) fn run(&self, memory: &Memory, from: Reach) -> Result {
        let Some(run) = self.run else { return Ok(()) };
        let door = Door { work: self, memory, from, refused: Mutex::new(None) };
        // SAFETY: the library gave both for this; the door lives for the call.
        let call = || unsafe { run(self.data as *mut c_void, &raw const door) };
        // The door's ranges are accessed at their addresses until the function returns.
        let code = memory.keep_while(|| ffi::host_function(call));
        let Self { operation, .. } = self;
        match door.refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None if code == Code::SUCCESS => Ok(()),
            None => Err(code.because(format!("library {operation}: it failed with {}", code.0))),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.taken.load(Ordering::Relaxed)
            && let Some(release) = self.release
        {
            // SAFETY: the library gave both for this, and nothing calls `run` any longer.
            ffi::host_function(|| unsafe { release(self.data as *mut c_void) });
        }
    }
}

impl Door<'_> {
    /// Lets the library access ranges, or none of them.
    ///
    /// # Errors
    /// As [`Declaration::check`], and remembers it.
    pub(crate) fn admit(&self, ranges: Vec<Range>) -> Result {
        let declaration = Declaration { operation: self.work.operation.clone(), ranges };
        declaration.check(self.memory, self.from).map_err(|error| {
            let code = error.code;
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert(error);
            code.into()
        })
    }
}
