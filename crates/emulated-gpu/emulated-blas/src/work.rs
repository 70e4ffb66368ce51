//! Work on a stream, as a host function of the driver's.

#![allow(unsafe_code, reason = "the driver carries the work as a pointer")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Access, Driver, Rejection, Stream};

/// Something to be done when its turn on a stream comes.
pub struct Work {
    /// The exported function that asked for it.
    pub name: &'static str,
    /// What it touches.
    pub accesses: Vec<Access>,
    /// Does it; once, or as often as a graph is launched.
    pub run: Box<dyn Fn() + Send + Sync>,
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
    /// What the work touches has to be there when its turn comes.
    pub unsafe fn launch(self, driver: &Driver, stream: Stream) -> Result<(), Rejection> {
        let captured = driver.is_capturing(stream)?;
        driver.declare(stream, self.name, &self.accesses)?;
        let data = Box::into_raw(Box::new(self));
        let function = if captured { run_captured } else { run_once };
        // SAFETY: the driver calls `run_once` once. Captured work is never freed, since a graph may
        // be launched again at any time: a few hundred bytes for each captured call.
        let queued = unsafe { driver.launch_host_function(stream, function, data.cast()) };
        if queued.is_err() {
            // SAFETY: the driver has refused it, so nobody else frees it.
            drop(unsafe { Box::from_raw(data) });
        }
        queued
    }

    fn run(&self) {
        if catch_unwind(AssertUnwindSafe(&self.run)).is_err() {
            eprintln!(
                "{}: an internal error of the emulated library; results are wrong",
                self.name
            );
        }
    }
}

extern "C" fn run_once(data: *mut c_void) {
    // SAFETY: `launch` made it with `into_raw`, and the driver calls once.
    let work = unsafe { Box::from_raw(data.cast::<Work>()) };
    work.run();
}

extern "C" fn run_captured(data: *mut c_void) {
    // SAFETY: captured work is never freed.
    let work = unsafe { &*data.cast::<Work>() };
    work.run();
}
