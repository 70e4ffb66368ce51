//! Events: marks in the order of a stream.

use std::sync::Arc;
use std::time::Instant;

use crate::abi::Handle;
use crate::capture::Point;
use crate::context::Context;
use crate::error::{Code, Result};
use crate::sync::{Condvar, Mutex, PoisonError};

/// `CU_EVENT_DISABLE_TIMING`
pub(crate) const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
pub(crate) const INTERPROCESS: u32 = 4;
/// All flags of an event.
pub(crate) const FLAGS: u32 = 7;

/// A point of a stream that work comes by, once.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    passed: Mutex<Option<Instant>>,
    condition: Condvar,
}

impl Mark {
    /// Work has come by.
    pub(crate) fn pass(&self) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.condition.notify_all();
    }

    /// When it did.
    pub(crate) fn passed(&self) -> Option<Instant> {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it does.
    pub(crate) fn wait(&self) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        while passed.is_none() {
            passed = self.condition.wait(passed).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What an event was recorded in last.
#[derive(Clone, Debug, Default)]
pub(crate) enum Recorded {
    #[default]
    Never,
    /// In a stream.
    Stream(Arc<Mark>),
    /// In a stream that was being captured.
    Capture(Point),
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) handle: Handle,
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u32,
    recorded: Mutex<Recorded>,
}

impl Event {
    pub(crate) fn new(handle: Handle, context: Arc<Context>, flags: u32) -> Self {
        Self { handle, context, flags, recorded: Mutex::default() }
    }

    pub(crate) fn record(&self, recorded: Recorded) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = recorded;
    }

    pub(crate) fn recorded(&self) -> Recorded {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn time(&self) -> Result<Instant> {
        if self.flags & DISABLE_TIMING != 0 {
            return Err(Code::INVALID_HANDLE
                .because("an event made with CU_EVENT_DISABLE_TIMING has no time"));
        }
        match self.recorded() {
            Recorded::Never => Err(Code::INVALID_HANDLE.because("an event was never recorded")),
            Recorded::Capture(_) => Err(Code::CAPTURED_EVENT.into()),
            Recorded::Stream(mark) => mark.passed().ok_or_else(|| Code::NOT_READY.into()),
        }
    }

    /// Milliseconds from one event to another.
    ///
    /// # Errors
    /// `INVALID_HANDLE` without times, `NOT_READY` before both have been passed.
    pub(crate) fn elapsed(start: &Self, end: &Self) -> Result<f32> {
        // What is wrong with either comes before what is not ready yet.
        let (start, end) = match (start.time(), end.time()) {
            (Ok(start), Ok(end)) => (start, end),
            (Err(error), other) | (other, Err(error)) => {
                let worse = other.err().filter(|other| other.code != Code::NOT_READY);
                return Err(worse.unwrap_or(error));
            }
        };
        let seconds = match end.checked_duration_since(start) {
            Some(after) => after.as_secs_f64(),
            None => -start.duration_since(end).as_secs_f64(),
        };
        Ok((seconds * 1e3) as f32)
    }
}
