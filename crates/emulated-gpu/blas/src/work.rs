//! Work on a stream, as the driver's `emulatedGpuLaunchWork` takes it.

#![allow(unsafe_code, reason = "the driver carries the work as a pointer")]

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::driver::AskDoor;
use crate::{Access, Door, Driver, Refused, Rejection, StreamHandle};

/// `CUDA_ERROR_UNKNOWN`
pub(crate) const UNKNOWN: c_int = 999;

/// What work does: once, or as often as a graph is launched. It gets the door for what it finds out
/// only then.
pub type Run = Box<dyn Fn(&Door) -> Result<(), Refused> + Send + Sync>;

/// Something to be done when its turn on a stream comes.
pub struct Work {
    /// The exported function that asked for it.
    pub name: &'static str,
    /// What it touches, asked for before it begins.
    pub accesses: Vec<Access>,
    /// Does it, unless some of the accesses are refused. Touches nothing else of the device's memory
    /// without asking the door.
    pub run: Run,
}

/// Work, and what it asks.
struct Carried {
    work: Work,
    ask: AskDoor,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Work").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Work {
    /// Puts it on a stream.
    ///
    /// # Errors
    /// When the driver does not take it.
    ///
    /// # Safety
    /// Of device memory, `run` touches what `accesses` or the door have admitted, as they say. What
    /// it touches of the host's has to be there when its turn comes.
    pub unsafe fn launch(self, driver: &Driver, stream: StreamHandle) -> Result<(), Rejection> {
        let (name, ask) = (self.name, driver.ask_door);
        let data = Box::into_raw(Box::new(Carried { work: self, ask }));
        // SAFETY: the driver calls `release` once, after the last call of `run`.
        let queued = unsafe { driver.launch_work(stream, name, run, data.cast(), release) };
        if queued.is_err() {
            // SAFETY: the driver has refused it, so nobody else frees it.
            drop(unsafe { Box::from_raw(data) });
        }
        queued
    }
}

extern "C" fn run(data: *mut c_void, door: *const c_void) -> c_int {
    // SAFETY: `launch` made it, and it is freed only by `release`.
    let Carried { work, ask } = unsafe { &*data.cast::<Carried>() };
    // SAFETY: the driver passes the door to the work that it runs now, and waits for this function.
    let door = unsafe { Door::new(*ask, door) };
    let admitted = || door.admit(&work.accesses).and_then(|()| (work.run)(&door));
    match catch_unwind(AssertUnwindSafe(admitted)) {
        Ok(Ok(())) => 0,
        // The driver has reported it.
        Ok(Err(Refused(code))) => code,
        Err(_) => UNKNOWN,
    }
}

extern "C" fn release(data: *mut c_void) {
    // SAFETY: `launch` made it with `into_raw`, and the driver calls once.
    let carried = unsafe { Box::from_raw(data.cast::<Carried>()) };
    // What it holds is plain data; a panic, if there were one, must not cross into the driver.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(carried)));
}
