//! Times of work on the device, measured with CUDA events.

use std::time::Duration;

use cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};

use crate::Result;

/// A stretch of work in a stream between two events. The host doesn't wait before
/// [`elapsed`](Self::elapsed) is called.
#[derive(Debug)]
pub struct Stretch {
    start: CudaEvent,
    end: CudaEvent,
}

impl Stretch {
    /// Records an event, calls `work`, which enqueues work in the stream, and records a second
    /// event.
    ///
    /// # Errors
    /// The error of `work`; the driver's error.
    pub fn record(stream: &CudaStream, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        work()?;
        Ok(Self { start, end: event()? })
    }

    /// The work between two events that have been recorded with timing.
    #[must_use]
    pub const fn between(start: CudaEvent, end: CudaEvent) -> Self {
        Self { start, end }
    }

    /// The time from one event to the other; waits for both. The resolution is about half a
    /// microsecond.
    ///
    /// # Errors
    /// The driver's error.
    pub fn elapsed(&self) -> Result<Duration> {
        between(&self.start, &self.end)
    }

    /// The time from the start of `origin` to the start of this stretch.
    ///
    /// # Errors
    /// The driver's error.
    pub fn since(&self, origin: &Self) -> Result<Duration> {
        between(&origin.start, &self.start)
    }
}

/// The time from one event to another; 0 if they are in the other order.
fn between(start: &CudaEvent, end: &CudaEvent) -> Result<Duration> {
    Ok(Duration::from_secs_f64(f64::from(start.elapsed_ms(end)?.max(0.0)) * 1e-3))
}
