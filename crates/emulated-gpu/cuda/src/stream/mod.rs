//! Streams: each a queue of work, and a thread that does it in order.
//!
//! The legacy default stream waits for what stands in all other streams that don't opt out of it
//! (`CU_STREAM_NON_BLOCKING`), and they wait for what stands in it (CUDA Driver API, "Stream
//! synchronization behavior").

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
use crate::abi::registry::fresh;
use crate::context::Context;
use crate::graph::operation::Operation;
use crate::green_context::Green;
use crate::stream::capture::{Capture, forbid_legacy};
use crate::sync::queue::{Queue, Ticket};

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
    /// Those of its context.
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

/// The contexts in which a thread has a per-thread default stream, which is destroyed when the thread exits.
struct OfThread {
    thread: ThreadId,
    contexts: RefCell<Vec<Weak<Streams>>>,
}

thread_local! {
    static OF_THREAD: OfThread =
        OfThread { thread: thread::current().id(), contexts: RefCell::default() };
}

impl Drop for OfThread {
    fn drop(&mut self) {
        // In a forked process, a lock may be held by a thread that is not there.
        if process::check().is_ok() {
            let contexts = self.contexts.take();
            contexts.iter().filter_map(Weak::upgrade).for_each(|one| one.end_thread(self.thread));
        }
    }
}

impl Streams {
    /// Of a new context.
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

    /// The default stream of the calling thread, until the thread exits.
    pub(crate) fn of_thread(self: &Arc<Self>) -> Arc<Stream> {
        let mut list = self.list();
        let List { per_thread, all, .. } = &mut *list;
        let thread = thread::current().id();
        if let Some(stream) = per_thread.get(&thread) {
            return Arc::clone(stream);
        }
        let stream = self.add(all, 2, StreamKind::PerThread, 0, 0);
        let is_noted = OF_THREAD.try_with(|own| {
            let mut contexts = own.contexts.borrow_mut();
            contexts.retain(|one| one.strong_count() > 0);
            contexts.push(Arc::downgrade(self));
        });
        match is_noted {
            Ok(()) => {
                per_thread.insert(thread, Arc::clone(&stream));
            }
            // The thread is exiting, and its other thread-local variables are gone: a closed stream does what
            // is put into it, and keeps nothing.
            Err(_) => stream.close(),
        }
        stream
    }

    /// Removes the default stream of a thread that exits. The work in it is still done.
    fn end_thread(&self, thread: ThreadId) {
        let stream = self.list().per_thread.remove(&thread);
        if let Some(stream) = stream {
            stream.end();
        }
    }

    /// Makes a stream.
    pub(crate) fn create(self: &Arc<Self>, flags: u32, priority: i32) -> Arc<Stream> {
        let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
        let all = &mut self.list().all;
        self.add(all, fresh(), StreamKind::Created, flags, priority)
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
        // Before the list grows, what is gone makes room.
        if all.len() == all.capacity() {
            all.retain(|stream| stream.strong_count() > 0);
        }
        all.push(Arc::downgrade(&stream));
        stream
    }

    /// Every stream in which there may be work.
    pub(crate) fn all(&self) -> Vec<Arc<Stream>> {
        self.list().all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Waits until all work is done.
    pub(crate) fn synchronize(&self) {
        self.all().iter().for_each(|stream| stream.wait_for_all());
    }

    /// Their threads end when the work is done, and nothing holds the default streams any longer: streams
    /// hold their context, and their threads hold the streams.
    pub(crate) fn close(&self) {
        let list = std::mem::take(&mut *self.list());
        list.all.iter().filter_map(Weak::upgrade).for_each(|stream| stream.close());
    }
}

impl Stream {
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
            thread::Builder::new()
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
                let mut streams = self.siblings.all();
                streams.retain(|stream| stream.is_blocking());
                streams
            }
            _ if self.is_blocking() => self.siblings.list().null.iter().cloned().collect(),
            _ => Vec::new(),
        };
        streams.iter().filter_map(|stream| stream.queue.pending()).collect()
    }

    /// Waits until this much work is done, since the beginning.
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

    /// Nobody puts anything into it any longer. What is in it is still done, and a capture loses it.
    pub(crate) fn end(&self) {
        if let Some(capture) = self.capture() {
            capture.lose(self);
        }
        self.close();
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

/// Puts work into a stream, or into the graph that it is captured into.
///
/// # Errors
/// As [`Stream::submit`], and what capturing forbids.
pub(crate) fn enqueue(stream: &Arc<Stream>, operation: Operation) -> Result {
    if let Some(capture) = stream.capture() {
        return capture.add(stream, operation).map(|_| ());
    }
    forbid_legacy(stream)?;
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
    forbid_legacy(stream)?;
    let ticket = stream.submit(operation)?;
    stream.wait_for(ticket);
    stream.context.tell()
}
