//! Streams: each a queue of work, and a thread that does it in order.
//!
//! The legacy default stream waits for what stands in all other streams that don't opt out of it
//! (`CU_STREAM_NON_BLOCKING`), and they wait for what stands in it (CUDA Driver API, "Stream
//! synchronization behavior").

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::abi::Handle;
use crate::capture::Capture;
use crate::context::{self, Context};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::ffi;
use crate::green::Green;
use crate::operation::Operation;
use crate::queue::{Queue, Ticket};

/// `CU_STREAM_NON_BLOCKING`
pub(crate) const NON_BLOCKING: u32 = 1;
/// The least and the greatest priority, as on devices of compute capability 9.0.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);

/// Which stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The legacy default stream.
    Null,
    /// The default stream of a thread.
    PerThread,
    /// One that a program made.
    Created,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) handle: Handle,
    /// `cuStreamGetId`
    pub(crate) id: u64,
    pub(crate) context: Arc<Context>,
    pub(crate) kind: StreamKind,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// The green context that it is of, if it is of one.
    pub(crate) green: OnceLock<Arc<Green>>,
    queue: Arc<Queue<Operation>>,
    capture: Mutex<Option<Arc<Capture>>>,
}

impl Stream {
    pub(crate) fn new(
        handle: Handle,
        context: Arc<Context>,
        kind: StreamKind,
        flags: u32,
        priority: i32,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            handle,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context,
            kind,
            flags,
            priority,
            green: OnceLock::new(),
            queue: Arc::default(),
            capture: Mutex::default(),
        }
    }

    /// Whether it and the legacy default stream wait for each other.
    pub(crate) fn is_blocking(&self) -> bool {
        self.kind != StreamKind::Null && self.flags & NON_BLOCKING == 0
    }

    /// What captures its work.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has its work captured from now on; false when something captures it already.
    pub(crate) fn take_part(&self, capture: &Arc<Capture>) -> bool {
        let mut own = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = own.is_none();
        own.get_or_insert_with(|| Arc::clone(capture));
        is_free
    }

    /// Has its work done from now on.
    pub(crate) fn leave_capture(&self) {
        *self.capture.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Puts work at the end; says how much work stands in the stream then, since its beginning.
    ///
    /// # Errors
    /// The error that ended the context, and when there is no thread to be had.
    pub(crate) fn submit(self: &Arc<Self>, operation: Operation) -> Result<u64> {
        // What is taken now is waited for before the context is gone.
        let Some(_turn) = self.context.order.turn() else {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        };
        self.context.check()?;
        self.queue.push(self.others(), operation, || {
            let stream = Arc::clone(self);
            std::thread::Builder::new()
                .name(format!("emulated-gpu stream {}", self.id))
                .spawn(move || stream.run())
                .map(|_| ())
                .map_err(|error| {
                    Code::OPERATING_SYSTEM.because(format!("no thread for a stream: {error}"))
                })
        })
    }

    /// The work of other streams that has to be done before what comes now.
    fn others(&self) -> Vec<Ticket<Operation>> {
        let streams = match self.kind {
            StreamKind::Null => {
                let mut streams = self.context.all_streams();
                streams.retain(|stream| stream.is_blocking());
                streams
            }
            _ if self.is_blocking() => self.context.used_null_stream().into_iter().collect(),
            _ => Vec::new(),
        };
        streams.iter().filter_map(|stream| stream.queue.pending()).collect()
    }

    /// Waits until so much work is done, since the beginning.
    pub(crate) fn wait_for(&self, ticket: u64) {
        self.queue.wait_for(ticket);
    }

    /// How much work has been done since the beginning, and how much stands in it.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.queue.progress()
    }

    /// Waits until all is done that stands in it now.
    pub(crate) fn wait_for_all(&self) {
        self.queue.wait_for_all();
    }

    /// Waits as `cuStreamSynchronize` does: the legacy default stream for the others too.
    ///
    /// # Errors
    /// The error that ended the context.
    pub(crate) fn synchronize(&self) -> Result {
        self.context.check()?;
        let others = if self.kind == StreamKind::Null { self.others() } else { Vec::new() };
        self.wait_for_all();
        for (queue, ticket) in others {
            queue.wait_for(ticket);
        }
        self.context.tell()
    }

    /// Whether all work is done.
    pub(crate) fn is_idle(&self) -> bool {
        let others = if self.kind == StreamKind::Null { self.others() } else { Vec::new() };
        self.queue.pending().is_none() && others.is_empty()
    }

    /// Its thread ends when the work is done.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// Does the work.
    fn run(&self) {
        self.queue.work(|operation| {
            let code = ffi::early("a stream", || {
                operation.run(&self.context);
                Ok(())
            });
            if code != Code::SUCCESS {
                self.context.raise(code);
            }
        });
    }
}

/// The stream of a handle: 0 is a default stream, 1 the legacy one, 2 that of the thread.
///
/// # Errors
/// `INVALID_HANDLE`, `INVALID_CONTEXT`, `STREAM_DETACHED`, and the error that ended its context.
pub(crate) fn find(handle: Handle) -> Result<Arc<Stream>> {
    let stream = match handle {
        0 if ffi::is_per_thread() => context::current()?.thread_stream(),
        0 | 1 => context::current()?.null_stream(),
        2 => context::current()?.thread_stream(),
        _ => driver()?.stream(handle)?,
    };
    stream.context.check()?;
    if let Some(green) = stream.green.get() {
        green.check()?;
    }
    Ok(stream)
}

/// Puts work into a stream, or into the graph that it is captured into.
///
/// # Errors
/// As [`Stream::submit`], and what capturing forbids.
pub(crate) fn enqueue(stream: &Arc<Stream>, operation: Operation) -> Result {
    if let Some(capture) = stream.capture() {
        return capture.add(stream, operation).map(|_| ());
    }
    crate::capture::forbid_legacy(stream)?;
    stream.submit(operation).map(|_| ())
}

/// Puts work into a stream and waits for it.
///
/// # Errors
/// As [`enqueue`], what the work itself says, and that a capture can't be waited for.
pub(crate) fn enqueue_and_wait(stream: &Arc<Stream>, operation: Operation) -> Result {
    if let Some(capture) = stream.capture() {
        return Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
    }
    crate::capture::forbid_legacy(stream)?;
    let ticket = stream.submit(operation)?;
    stream.wait_for(ticket);
    stream.context.tell()
}
