//! Events, which mark points in the order of a stream's work.

pub(crate) mod interprocess;

use std::sync::Arc;
use std::time::Instant;

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::context::Context;
use crate::sync::{Condvar, Mutex, PoisonError};
use interprocess::SharedEvent;

/// `CU_EVENT_DISABLE_TIMING`
pub(crate) const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
pub(crate) const INTERPROCESS: u32 = 4;
/// A mask of all valid flags of an event.
pub(crate) const FLAGS: u32 = 7;

/// A point in a stream, which the stream's work passes once.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    passed: Mutex<Option<Instant>>,
    condition: Condvar,
    /// The shared event and the ticket of the record, for interprocess events.
    shared: Option<(Arc<SharedEvent>, u32)>,
}

impl Mark {
    /// Marks the point as passed.
    pub(crate) fn pass(&self) {
        if let Some((event, ticket)) = &self.shared {
            event.pass(*ticket);
        }
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.condition.notify_all();
    }

    /// The time at which the point was passed; `None` if it wasn't passed yet. For an interprocess event, the time is
    /// not known, so the current time is returned.
    pub(crate) fn passed(&self) -> Option<Instant> {
        if let Some((event, ticket)) = &self.shared {
            return event.has_passed(*ticket).then(Instant::now);
        }
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the point was passed.
    ///
    /// # Errors
    /// See [`wait`](Self::wait).
    pub(crate) fn is_passed(&self) -> Result<bool> {
        match &self.shared {
            Some((event, ticket)) => event.check(*ticket),
            None => Ok(self.passed().is_some()),
        }
    }

    /// Waits until the point is passed.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` if another process recorded the event and has ended.
    pub(crate) fn wait(&self) -> Result {
        if let Some((event, ticket)) = &self.shared {
            return event.wait(*ticket);
        }
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        while passed.is_none() {
            passed = self.condition.wait(passed).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

/// A point in a stream that is being captured, as recorded by an event.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The capture's handle.
    pub(crate) capture: Handle,
    /// The nodes that precede the point.
    pub(crate) nodes: Vec<Handle>,
}

/// An event's last record.
#[derive(Clone, Debug, Default)]
pub(crate) enum Recorded {
    #[default]
    Never,
    /// The record was made in a stream.
    Stream(Arc<Mark>),
    /// The record was made in a stream that was being captured.
    Capture(Point),
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) handle: Handle,
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u32,
    recorded: Mutex<Recorded>,
    /// The state that is shared with other processes, if this is an interprocess event.
    pub(crate) shared: Option<Arc<SharedEvent>>,
}

impl Event {
    /// A new event.
    ///
    /// # Errors
    /// For an interprocess event, the errors of [`SharedEvent::new`].
    pub(crate) fn new(handle: Handle, context: Arc<Context>, flags: u32) -> Result<Self> {
        let is_shared = flags & INTERPROCESS != 0;
        let shared = is_shared.then(|| SharedEvent::new().map(Arc::new)).transpose()?;
        Ok(Self { handle, context, flags, recorded: Mutex::default(), shared })
    }

    /// An event that another process created.
    pub(crate) fn shared(
        handle: Handle,
        context: Arc<Context>,
        flags: u32,
        shared: SharedEvent,
    ) -> Self {
        Self { handle, context, flags, recorded: Mutex::default(), shared: Some(Arc::new(shared)) }
    }

    /// A mark for the event's next record.
    pub(crate) fn mark(&self) -> Arc<Mark> {
        let shared = self.shared.as_ref().map(|event| (Arc::clone(event), event.draw()));
        Arc::new(Mark { shared, ..Mark::default() })
    }

    pub(crate) fn record(&self, recorded: Recorded) {
        if let Recorded::Stream(mark) = &recorded
            && let Some((event, ticket)) = &mark.shared
        {
            event.record(*ticket);
        }
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = recorded;
    }

    /// The last record. Any process may have made the last record of an interprocess event.
    pub(crate) fn recorded(&self) -> Recorded {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (&self.shared, recorded) {
            (Some(event), Recorded::Never | Recorded::Stream(_)) => match event.recorded() {
                Some(ticket) => {
                    let shared = Some((Arc::clone(event), ticket));
                    Recorded::Stream(Arc::new(Mark { shared, ..Mark::default() }))
                }
                None => Recorded::Never,
            },
            (_, recorded) => recorded,
        }
    }

    fn time(&self) -> Result<Instant> {
        if self.flags & DISABLE_TIMING != 0 {
            return Err(Code::INVALID_HANDLE
                .because("an event created with CU_EVENT_DISABLE_TIMING has no time"));
        }
        match self.recorded() {
            Recorded::Never => Err(Code::INVALID_HANDLE.because("the event was never recorded")),
            Recorded::Capture(_) => Err(Code::CAPTURED_EVENT.into()),
            Recorded::Stream(mark) => mark.passed().ok_or_else(|| Code::NOT_READY.into()),
        }
    }

    /// The milliseconds between two events.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if an event has no time, `CAPTURED_EVENT` if its last record was captured into a graph,
    /// `NOT_READY` before both were passed.
    pub(crate) fn elapsed(start: &Self, end: &Self) -> Result<f32> {
        // If the two errors differ, an error other than NOT_READY is returned.
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
