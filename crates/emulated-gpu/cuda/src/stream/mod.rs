//! Streams. A stream has a queue of work, and a thread that executes the work in order.
//!
//! The legacy default stream waits for the pending work of all other streams, except those created with
//! `CU_STREAM_NON_BLOCKING`, and they wait for its work (CUDA Driver API, "Stream synchronization behavior").

pub(crate) mod capture;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, ThreadId};

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::ffi;
use crate::abi::process;
use crate::abi::registry::new_handle;
use crate::context::Context;
use crate::graph::operation::Operation;
use crate::green_context::GreenContext;
use crate::stream::capture::{Capture, forbid_legacy};
use crate::sync::queue::{Queue, Ticket};

/// `CU_STREAM_NON_BLOCKING`
pub(crate) const NON_BLOCKING: u32 = 1;
/// The lowest and the highest priority, as on devices of compute capability 9.0.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The legacy default stream.
    Null,
    /// The default stream of a thread.
    PerThread,
    /// A stream that the program created.
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
    /// The green context to which the stream belongs, if there is one.
    pub(crate) green: OnceLock<Arc<GreenContext>>,
    /// All streams of this stream's context.
    pub(crate) siblings: Arc<Streams>,
    queue: Arc<Queue<Operation>>,
    capture: Mutex<Option<Arc<Capture>>>,
}

/// The streams of a context.
#[derive(Debug)]
pub(crate) struct Streams {
    context: Arc<Context>,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    null: Option<Arc<Stream>>,
    per_thread: HashMap<ThreadId, Arc<Stream>>,
    all: Vec<Weak<Stream>>,
}

/// The contexts in which a thread has a per-thread default stream. These streams are destroyed when the thread exits.
struct ThreadStreams {
    thread: ThreadId,
    contexts: RefCell<Vec<Weak<Streams>>>,
}

thread_local! {
    static THREAD_STREAMS: ThreadStreams =
        ThreadStreams { thread: thread::current().id(), contexts: RefCell::default() };
}

impl Drop for ThreadStreams {
    fn drop(&mut self) {
        // In a forked process, the lock may be held by a thread that doesn't exist there.
        if process::check().is_ok() {
            let contexts = self.contexts.take();
            contexts
                .iter()
                .filter_map(Weak::upgrade)
                .for_each(|context| context.end_thread(self.thread));
        }
    }
}

impl Streams {
    /// The set of streams of a new context, which is empty.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, list: Mutex::default() }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The legacy default stream.
    pub(crate) fn null(self: &Arc<Self>) -> Arc<Stream> {
        let mut list = self.list();
        let List { null, all, .. } = &mut *list;
        let stream = null.get_or_insert_with(|| self.add(all, 1, StreamKind::Null, 0, 0));
        Arc::clone(stream)
    }

    /// The per-thread default stream of the calling thread.
    pub(crate) fn per_thread(self: &Arc<Self>) -> Arc<Stream> {
        let mut list = self.list();
        let List { per_thread, all, .. } = &mut *list;
        let thread = thread::current().id();
        if let Some(stream) = per_thread.get(&thread) {
            return Arc::clone(stream);
        }
        let stream = self.add(all, 2, StreamKind::PerThread, 0, 0);
        let is_recorded = THREAD_STREAMS.try_with(|thread_streams| {
            let mut contexts = thread_streams.contexts.borrow_mut();
            contexts.retain(|context| context.strong_count() > 0);
            contexts.push(Arc::downgrade(self));
        });
        match is_recorded {
            Ok(()) => {
                per_thread.insert(thread, Arc::clone(&stream));
            }
            // The thread is exiting, and has lost its thread-local variables. A closed stream still executes its
            // work, but keeps no thread alive after that.
            Err(_) => stream.close(),
        }
        stream
    }

    /// Removes the per-thread default stream of an exiting thread. Its pending work is still executed.
    fn end_thread(&self, thread: ThreadId) {
        let stream = self.list().per_thread.remove(&thread);
        if let Some(stream) = stream {
            stream.end();
        }
    }

    /// Creates a stream.
    pub(crate) fn create(self: &Arc<Self>, flags: u32, priority: i32) -> Arc<Stream> {
        let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
        let all = &mut self.list().all;
        self.add(all, new_handle(), StreamKind::Created, flags, priority)
    }

    fn add(
        self: &Arc<Self>,
        all: &mut Vec<Weak<Stream>>,
        handle: Handle,
        kind: StreamKind,
        flags: u32,
        priority: i32,
    ) -> Arc<Stream> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let stream = Arc::new(Stream {
            handle,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context: Arc::clone(&self.context),
            kind,
            flags,
            priority,
            green: OnceLock::new(),
            siblings: Arc::clone(self),
            queue: Arc::default(),
            capture: Mutex::default(),
        });
        // Before the list grows, remove streams that no longer exist.
        if all.len() == all.capacity() {
            all.retain(|stream| stream.strong_count() > 0);
        }
        all.push(Arc::downgrade(&stream));
        stream
    }

    /// Every stream that may have pending work.
    pub(crate) fn all(&self) -> Vec<Arc<Stream>> {
        self.list().all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Waits until all pending work is done.
    pub(crate) fn synchronize(&self) {
        self.all().iter().for_each(|stream| stream.wait_for_all());
    }

    /// Makes the streams' threads end when their work is done, and drops the default streams. Without this there
    /// would be cycles: streams refer to their context, and threads to their streams.
    pub(crate) fn close(&self) {
        let list = std::mem::take(&mut *self.list());
        list.all.iter().filter_map(Weak::upgrade).for_each(|stream| stream.close());
    }
}

impl Stream {
    /// Whether this stream and the legacy default stream wait for each other.
    pub(crate) fn is_blocking(&self) -> bool {
        self.kind != StreamKind::Null && self.flags & NON_BLOCKING == 0
    }

    /// The capture in which the stream participates.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Joins a capture; returns false if the stream already participates in one.
    pub(crate) fn begin_capture(&self, capture: &Arc<Capture>) -> bool {
        let mut current = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = current.is_none();
        current.get_or_insert_with(|| Arc::clone(capture));
        is_free
    }

    /// Leaves the capture, so that the stream's work is executed again.
    pub(crate) fn end_capture(&self) {
        *self.capture.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Enqueues work. Returns its ticket: the number of operations enqueued so far.
    ///
    /// # Errors
    /// The error that made the context unusable, or `OPERATING_SYSTEM` if the stream's thread can't be created.
    pub(crate) fn submit(self: &Arc<Self>, operation: Operation) -> Result<u64> {
        // Work that is accepted under this guard is finished before the context is destroyed.
        let Some(_guard) = self.context.order.lock() else {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        };
        self.context.check()?;
        self.queue.push(self.blocking_work(), operation, || {
            let stream = Arc::clone(self);
            thread::Builder::new()
                .name(format!("emulated-gpu stream {}", self.id))
                .spawn(move || stream.run())
                .map(|_| ())
                .map_err(|error| {
                    Code::OPERATING_SYSTEM
                        .because(format!("can't create the thread of a stream: {error}"))
                })
        })
    }

    /// The pending work of other streams for which new work must wait.
    fn blocking_work(&self) -> Vec<Ticket<Operation>> {
        let streams = match self.kind {
            StreamKind::Null => {
                let mut streams = self.siblings.all();
                streams.retain(|stream| stream.is_blocking());
                streams
            }
            _ if self.is_blocking() => self.siblings.list().null.iter().cloned().collect(),
            _ => Vec::new(),
        };
        streams.iter().filter_map(|stream| stream.queue.pending()).collect()
    }

    /// Waits until the work with this ticket is done.
    pub(crate) fn wait_for(&self, ticket: u64) {
        self.queue.wait_for(ticket);
    }

    /// The number of operations that were executed so far, and the number of pending ones.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.queue.progress()
    }

    /// Waits until all pending work is done.
    pub(crate) fn wait_for_all(&self) {
        self.queue.wait_for_all();
    }

    /// Waits as `cuStreamSynchronize` does; the legacy default stream also waits for the blocking streams.
    ///
    /// # Errors
    /// The error that made the context unusable.
    pub(crate) fn synchronize(&self) -> Result {
        self.context.check()?;
        let others = if self.kind == StreamKind::Null { self.blocking_work() } else { Vec::new() };
        self.wait_for_all();
        for (queue, ticket) in others {
            queue.wait_for(ticket);
        }
        self.context.report_fault()
    }

    /// Whether all work is done.
    pub(crate) fn is_idle(&self) -> bool {
        let others = if self.kind == StreamKind::Null { self.blocking_work() } else { Vec::new() };
        self.queue.pending().is_none() && others.is_empty()
    }

    /// Makes the stream's thread end when all work is done.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// Called when the stream is destroyed. Pending work is still executed. A capture that began in this stream is
    /// discarded; any other capture keeps the work that this stream recorded.
    pub(crate) fn end(&self) {
        if let Some(capture) = self.capture() {
            capture.remove_stream(self);
        }
        self.close();
    }

    /// Executes the queue's work; called on the stream's thread.
    fn run(&self) {
        self.queue.work(|operation| {
            let code = ffi::call_before_init("a stream", || {
                operation.run(&self.context);
                Ok(())
            });
            if code != Code::SUCCESS {
                self.context.raise(code);
            }
        });
    }
}

/// Enqueues work, or adds it to the graph if the stream is being captured.
///
/// # Errors
/// The errors of [`Stream::submit`], and `STREAM_CAPTURE_…` if a capture doesn't allow the work.
pub(crate) fn enqueue(stream: &Arc<Stream>, operation: Operation) -> Result {
    if let Some(capture) = stream.capture() {
        return capture.add(stream, operation).map(|_| ());
    }
    forbid_legacy(stream)?;
    stream.submit(operation).map(|_| ())
}

/// Enqueues work and waits until it is done.
///
/// # Errors
/// The errors of [`enqueue`] and of the work itself; `STREAM_CAPTURE_UNSUPPORTED` during a capture.
pub(crate) fn enqueue_and_wait(stream: &Arc<Stream>, operation: Operation) -> Result {
    if let Some(capture) = stream.capture() {
        return Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
    }
    forbid_legacy(stream)?;
    let ticket = stream.submit(operation)?;
    stream.wait_for(ticket);
    stream.context.report_fault()
}
