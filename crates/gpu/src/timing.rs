//! How long a stretch of work takes on the device itself, by CUDA events.

use std::time::Duration;

use cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};

use crate::Result;

/// A stretch of work in a stream, between two events. The host waits for nothing until
/// [`elapsed`](Self::elapsed) is asked.
#[derive(Debug)]
pub struct Stretch {
    start: CudaEvent,
    end: CudaEvent,
}

impl Stretch {
    /// Puts an event before and one behind what `work` puts into the stream.
    ///
    /// # Errors
    /// What `work` says, or the driver.
    pub fn record(stream: &CudaStream, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        work()?;
        Ok(Self { start, end: event()? })
    }

    /// A stretch between two events that were recorded elsewhere, with timing.
    #[must_use]
    pub const fn between(start: CudaEvent, end: CudaEvent) -> Self {
        Self { start, end }
    }

    /// The time from one event to the other; waits for both. CUDA's clock ticks twice in a
    /// microsecond or so.
    ///
    /// # Errors
    /// What the driver says.
    pub fn elapsed(&self) -> Result<Duration> {
        let milliseconds = self.start.elapsed_ms(&self.end)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) * 1e-3))
    }

    /// The time from the start of `origin` to the start of this stretch.
    ///
    /// # Errors
    /// What the driver says.
    pub fn since(&self, origin: &Self) -> Result<Duration> {
        let milliseconds = origin.start.elapsed_ms(&self.start)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) * 1e-3))
    }
}
