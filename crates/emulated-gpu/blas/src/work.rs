//! Work on a stream, launched by the driver's `emulatedGpuLaunchWork`.

#![allow(unsafe_code, reason = "the driver carries the work as a pointer")]

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::driver::AccessFunction;
use crate::{Access, AccessRequester, Driver, Refused, Result, StreamHandle};

/// `CUDA_ERROR_UNKNOWN`
pub(crate) const CUDA_ERROR_UNKNOWN: c_int = 999;

/// The function that does the work; it runs once, or at every launch of a captured graph. It uses
/// the [`AccessRequester`] for ranges that it only knows at run time.
pub type RunWork = Box<dyn Fn(&AccessRequester) -> Result<(), Refused> + Send + Sync>;

/// Work on a stream, which runs when all earlier work on the stream has finished.
pub struct StreamWork {
    /// The name of the exported function that was called.
    pub name: &'static str,
    /// The accesses that are requested before the work begins.
    pub accesses: Vec<Access>,
    /// The work itself. It only runs if access to all of `accesses` was granted, and has to request other device memory
    /// from the [`AccessRequester`].
    pub run: RunWork,
}

/// Launched work, with the driver's function that grants access.
struct LaunchedWork {
    work: StreamWork,
    access_function: AccessFunction,
}

impl std::fmt::Debug for StreamWork {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StreamWork").field("name", &self.name).finish_non_exhaustive()
    }
}

impl StreamWork {
    /// Enqueues the work on a stream.
    ///
    /// # Errors
    /// If the driver refuses the work.
    ///
    /// # Safety
    /// `run` may only access device memory that is declared in `accesses`, or that the [`AccessRequester`] has granted,
    /// and only as declared. Host memory that it accesses must be valid when the work runs.
    pub unsafe fn launch(self, driver: &Driver, stream: StreamHandle) -> Result {
        let (name, access_function) = (self.name, driver.access_function);
        let data = Box::into_raw(Box::new(LaunchedWork { work: self, access_function }));
        // SAFETY: the driver calls `release` once, after the last call of `run`.
        let queued = unsafe { driver.launch_work(stream, name, run, data.cast(), release) };
        if queued.is_err() {
            // SAFETY: the driver has refused the work, so it will not call `release`.
            drop(unsafe { Box::from_raw(data) });
        }
        queued
    }
}

extern "C" fn run(data: *mut c_void, requester: *const c_void) -> c_int {
    // SAFETY: `launch` has created the object at `data`, and only `release` frees it.
    let LaunchedWork { work, access_function } = unsafe { &*data.cast::<LaunchedWork>() };
    // SAFETY: the driver passes the handle for this work, and waits until this function returns.
    let requester = unsafe { AccessRequester::new(*access_function, requester) };
    let run_if_granted = || requester.request(&work.accesses).and_then(|()| (work.run)(&requester));
    match catch_unwind(AssertUnwindSafe(run_if_granted)) {
        Ok(Ok(())) => 0,
        // The driver or the work has already reported the error.
        Ok(Err(Refused(code))) => code,
        Err(_) => CUDA_ERROR_UNKNOWN,
    }
}

extern "C" fn release(data: *mut c_void) {
    // SAFETY: `launch` has created the object at `data` with `into_raw`, and the driver calls this function once.
    let launched = unsafe { Box::from_raw(data.cast::<LaunchedWork>()) };
    // Dropping plain data can't panic, but a panic must never unwind into the driver.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(launched)));
}
