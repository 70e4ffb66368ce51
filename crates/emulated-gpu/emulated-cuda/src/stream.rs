//! Streams: each a queue of work, and a thread that does it in order.
//!
//! The legacy default stream waits for what stands in all other streams that don't opt out of it
//! (`CU_STREAM_NON_BLOCKING`), and they wait for what stands in it (CUDA Driver API, "Stream
//! synchronization behavior").

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;
use crate::border;
use crate::capture::Capture;
use crate::context::{self, Context};
use crate::driver::driver;
use crate::error::{Code, Result};
use crate::operation::Operation;

/// `CU_STREAM_NON_BLOCKING`
pub(crate) const NON_BLOCKING: u32 = 1;
/// The least and the greatest priority, as on devices of compute capability 9.0.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);

/// Which stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
    pub(crate) kind: Kind,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    queue: Mutex<Queue>,
    /// Work has come, or none will.
    work: Condvar,
    /// Work has been done.
    done: Condvar,
    capture: Mutex<Option<Arc<Capture>>>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    submitted: u64,
    completed: u64,
    /// Whether there is a thread that does the work.
    working: bool,
    closed: bool,
}

/// Work, and what has to be done in other streams before.
#[derive(Debug)]
struct Job {
    after: Vec<(Arc<Stream>, u64)>,
    operation: Operation,
}

impl Stream {
    pub(crate) fn new(
        handle: Handle,
        context: Arc<Context>,
        kind: Kind,
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
            queue: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            capture: Mutex::default(),
        }
    }

    /// Whether it and the legacy default stream wait for each other.
    pub(crate) fn is_blocking(&self) -> bool {
        self.kind != Kind::Null && self.flags & NON_BLOCKING == 0
    }

    /// What captures its work.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_capture(&self, capture: Option<Arc<Capture>>) {
        *self.capture.lock().unwrap_or_else(PoisonError::into_inner) = capture;
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts work at the end; says how much work stands in the stream then, since its beginning.
    ///
    /// # Errors
    /// The error that ended the context, and when there is no thread to be had.
    pub(crate) fn submit(self: &Arc<Self>, operation: Operation) -> Result<u64> {
        self.context.check()?;
        let _order = self.context.order();
        let after = self.others();
        let mut queue = self.queue();
        if !queue.working {
            let stream = Arc::clone(self);
            std::thread::Builder::new()
                .name(format!("emulated-gpu stream {}", self.id))
                .spawn(move || stream.run())
                .map_err(|error| {
                    Code::OPERATING_SYSTEM.because(format!("no thread for a stream: {error}"))
                })?;
            queue.working = true;
        }
        queue.jobs.push_back(Job { after, operation });
        queue.submitted += 1;
        let ticket = queue.submitted;
        drop(queue);
        self.work.notify_one();
        Ok(ticket)
    }

    /// The work of other streams that has to be done before what comes now.
    fn others(&self) -> Vec<(Arc<Self>, u64)> {
        let streams = match self.kind {
            Kind::Null => {
                let mut streams = self.context.all_streams();
                streams.retain(|stream| stream.is_blocking());
                streams
            }
            _ if self.is_blocking() => self.context.used_null_stream().into_iter().collect(),
            _ => Vec::new(),
        };
        let pending = streams.into_iter().filter_map(|stream| {
            let queue = stream.queue();
            let ticket = queue.submitted;
            let pending = queue.completed < ticket;
            drop(queue);
            pending.then_some((stream, ticket))
        });
        pending.collect()
    }

    /// Waits until so much work is done, since the beginning.
    pub(crate) fn wait_for(&self, ticket: u64) {
        let mut queue = self.queue();
        while queue.completed < ticket {
            queue = self.done.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until all is done that stands in it now.
    pub(crate) fn wait_for_all(&self) {
        let ticket = self.queue().submitted;
        self.wait_for(ticket);
    }

    /// Waits as `cuStreamSynchronize` does: the legacy default stream for the others too.
    ///
    /// # Errors
    /// The error that ended the context.
    pub(crate) fn synchronize(&self) -> Result {
        self.context.check()?;
        let others = if self.kind == Kind::Null { self.others() } else { Vec::new() };
        self.wait_for_all();
        for (stream, ticket) in others {
            stream.wait_for(ticket);
        }
        self.context.tell()
    }

    /// Whether all work is done.
    pub(crate) fn is_idle(&self) -> bool {
        let others = if self.kind == Kind::Null { self.others() } else { Vec::new() };
        let queue = self.queue();
        queue.completed == queue.submitted && others.is_empty()
    }

    /// Its thread ends when the work is done.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.work.notify_one();
    }

    /// Does the work.
    fn run(&self) {
        while let Some(job) = self.next() {
            for (stream, ticket) in &job.after {
                stream.wait_for(*ticket);
            }
            let code = border::early("a stream", || {
                job.operation.run(&self.context);
                Ok(())
            });
            if code != Code::SUCCESS {
                self.context.raise(code);
            }
            drop(job);
            self.queue().completed += 1;
            self.done.notify_all();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                queue.working = false;
                return None;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The stream of a handle: 0 is a default stream, 1 the legacy one, 2 that of the thread.
///
/// # Errors
/// `INVALID_HANDLE`, `INVALID_CONTEXT`, and the error that ended its context.
pub(crate) fn find(handle: Handle) -> Result<Arc<Stream>> {
    let stream = match handle {
        0 if border::is_per_thread() => context::current()?.thread_stream(),
        0 | 1 => context::current()?.null_stream(),
        2 => context::current()?.thread_stream(),
        _ => driver()?.stream(handle)?,
    };
    stream.context.check()?;
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
