//! Stream capture: work that is enqueued becomes a graph instead of being executed.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::abi::Handle;
use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Error, Result};
use crate::abi::registry::Registry;
use crate::event::Point;
use crate::graph::Graph;
use crate::graph::operation::Operation;
use crate::stream::{Stream, StreamKind, Streams};

enumeration! {
    /// The capture mode (`CUstreamCaptureMode`), which determines the threads that must not make calls that could
    /// disturb a capture.
    Mode, "there is no capture mode {}" {
        /// All threads.
        Global = 0,
        /// The capturing thread.
        ThreadLocal = 1,
        /// None.
        Relaxed = 2,
    }
}

thread_local! {
    /// `cuThreadExchangeStreamCaptureMode`
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Changes the calling thread's mode, and returns the previous one.
pub(crate) fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// A capture in progress: of one stream, and of the streams that joined it.
#[derive(Debug)]
pub(crate) struct Capture {
    /// `cuStreamGetCaptureInfo`
    pub(crate) id: u64,
    pub(crate) graph: Arc<Graph>,
    mode: Mode,
    origin: Handle,
    thread: ThreadId,
    state: Mutex<CaptureState>,
    /// The registry of captures in progress; it contains this capture until the capture ends.
    registry: Arc<Registry<Capture>>,
}

#[derive(Debug, Default)]
struct CaptureState {
    invalidated: bool,
    /// The participating streams by their handles, each with the nodes on which its next work depends.
    streams: HashMap<Handle, (Arc<Stream>, Vec<Handle>)>,
    /// The list of dependencies of each stream that the program received. A list is valid until the program requests
    /// that stream's list again.
    exposed: HashMap<Handle, Vec<Handle>>,
}

impl CaptureState {
    /// The nodes on which the next work of a stream depends.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED` if the capture is invalidated, or another thread has ended it.
    fn dependencies_of(&mut self, stream: &Stream) -> Result<&mut Vec<Handle>> {
        let invalid = self.invalidated;
        let participant = self.streams.get_mut(&stream.handle).filter(|_| !invalid);
        participant.map(|(_, nodes)| nodes).ok_or_else(|| Code::STREAM_CAPTURE_INVALIDATED.into())
    }
}

impl Capture {
    /// Begins to capture a stream into a graph, which may already have nodes.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the stream is already being captured, `STREAM_CAPTURE_UNSUPPORTED` for the legacy default
    /// stream, `CONTEXT_IS_DESTROYED` or `INVALID_HANDLE` if another thread destroys the context or the stream
    /// meanwhile.
    pub(crate) fn begin(
        stream: &Arc<Stream>,
        mode: Mode,
        (graph, after): (Arc<Graph>, Vec<Handle>),
        streams: &Registry<Stream>,
        registry: &Arc<Registry<Self>>,
    ) -> Result {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if stream.kind == StreamKind::Null {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED.because(
                "the legacy default stream can't be captured; create a stream with cuStreamCreate",
            ));
        }
        let captured = HashMap::from([(stream.handle, (Arc::clone(stream), after))]);
        let capture = Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            graph,
            mode,
            origin: stream.handle,
            thread: thread::current().id(),
            state: Mutex::new(CaptureState { streams: captured, ..CaptureState::default() }),
            registry: Arc::clone(registry),
        });
        // Destroying the context ends the captures of all its streams. The guard delays that until this capture is
        // registered and its stream knows about it.
        let Some(_guard) = stream.context.order.lock() else {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        };
        registry.insert(capture.handle(), Arc::clone(&capture));
        if !stream.begin_capture(&capture) {
            registry.remove(capture.handle());
            return Err(Code::ILLEGAL_STATE.because("the stream is being captured already"));
        }
        // A thread that destroys the stream first unregisters it, and then ends its capture.
        if stream.kind == StreamKind::Created && streams.get(stream.handle).is_none() {
            capture.abandon();
            return Err(Code::INVALID_HANDLE.because("another thread has destroyed the stream"));
        }
        Ok(())
    }

    fn handle(&self) -> Handle {
        self.id as Handle
    }

    fn state(&self) -> MutexGuard<'_, CaptureState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call has invalidated the capture.
    pub(crate) fn is_invalidated(&self) -> bool {
        self.state().invalidated
    }

    /// Invalidates the capture, and returns the error for the call that invalidated it.
    pub(crate) fn invalidate(&self, code: Code) -> Error {
        self.state().invalidated = true;
        code.because("this call is not allowed while the stream is being captured")
    }

    fn check(&self) -> Result {
        if self.is_invalidated() { Err(Code::STREAM_CAPTURE_INVALIDATED.into()) } else { Ok(()) }
    }

    /// Adds work of a participating stream as a node.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED` if the capture is invalidated, or another thread has ended it.
    pub(crate) fn add(&self, stream: &Stream, operation: Operation) -> Result<Handle> {
        // The lock is held throughout, so that work of other threads in this stream comes later.
        let mut state = self.state();
        let nodes = state.dependencies_of(stream)?;
        let node = self.graph.add(operation, nodes)?;
        *nodes = vec![node];
        Ok(node)
    }

    /// The nodes on which the next work of a stream depends.
    pub(crate) fn dependencies_of(&self, stream: &Stream) -> Vec<Handle> {
        let state = self.state();
        state.streams.get(&stream.handle).map(|(_, nodes)| nodes.clone()).unwrap_or_default()
    }

    /// The nodes on which the next work of a stream depends, as a list for the program: its length and its address. It
    /// is valid until the next request or the end of the capture.
    pub(crate) fn dependency_list(&self, stream: &Stream) -> (usize, *const Handle) {
        let nodes = self.dependencies_of(stream);
        let mut state = self.state();
        let exposed = state.exposed.entry(stream.handle).or_default();
        *exposed = nodes;
        (exposed.len(), exposed.as_ptr())
    }

    pub(crate) fn set_dependencies(&self, stream: &Stream, nodes: Vec<Handle>) {
        if let Some((_, after)) = self.state().streams.get_mut(&stream.handle) {
            *after = nodes;
        }
    }

    /// The current point of a stream in the capture, for an event.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED` if the capture is invalidated, or another thread has ended it.
    pub(crate) fn point(&self, stream: &Stream) -> Result<Point> {
        let nodes = self.state().dependencies_of(stream)?.clone();
        Ok(Point { capture: self.handle(), nodes })
    }

    /// Unregisters the capture, so that its streams execute their work again. Returns its final state.
    fn detach(&self) -> CaptureState {
        let state = std::mem::take(&mut *self.state());
        self.registry.remove(self.handle());
        for (stream, _) in state.streams.values() {
            stream.end_capture();
        }
        state
    }

    /// Discards the capture and its graph.
    pub(crate) fn abandon(&self) {
        self.detach();
    }

    /// Called when a participating stream is destroyed. If the capture began in it, the capture can't be ended any
    /// more and is discarded. Otherwise the work of that stream stays in the graph, and `end` checks whether the
    /// first stream waited for it.
    pub(crate) fn remove_stream(&self, stream: &Stream) {
        if self.origin == stream.handle {
            self.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED);
            self.abandon();
        }
    }

    /// Ends the capture and returns its graph.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNMATCHED` if the capture began in another stream, `…_WRONG_THREAD` if it began in another
    /// thread and is not relaxed, `…_INVALIDATED` if it is invalidated, `…_UNJOINED` if its first stream doesn't wait
    /// for all of its work.
    pub(crate) fn end(&self, stream: &Stream) -> Result<Arc<Graph>> {
        if self.origin != stream.handle {
            return Err(Code::STREAM_CAPTURE_UNMATCHED
                .because("the capture must be ended in the stream in which it began"));
        }
        if self.mode != Mode::Relaxed && self.thread != thread::current().id() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD.into());
        }
        let state = self.detach();
        if state.invalidated {
            return Err(Code::STREAM_CAPTURE_INVALIDATED.into());
        }
        let empty = Vec::new();
        let last = state.streams.get(&stream.handle).map_or(&empty, |(_, nodes)| nodes);
        let joined = self.graph.ancestors(last);
        let mut others = state.streams.values().flat_map(|(_, nodes)| nodes);
        if others.any(|node| !joined.contains(node)) {
            return Err(Code::STREAM_CAPTURE_UNJOINED.because(
                "another stream joined the capture, and the first stream did not wait for its work",
            ));
        }
        Ok(Arc::clone(&self.graph))
    }
}

/// Makes a stream wait for a point of a capture in progress, so that it joins the capture.
///
/// # Errors
/// `STREAM_CAPTURE_IMPLICIT` for the legacy default stream, `…_MERGE` for a stream in another capture,
/// `…_INVALIDATED` if the capture is invalidated or has ended.
pub(crate) fn join(stream: &Arc<Stream>, point: &Point, captures: &Registry<Capture>) -> Result {
    let current = stream.capture();
    let Some(capture) = captures.get(point.capture) else {
        return Err(match current {
            _ if stream.kind == StreamKind::Null => Code::STREAM_CAPTURE_IMPLICIT.into(),
            Some(current) => current.invalidate(Code::STREAM_CAPTURE_MERGE),
            // The capture has ended.
            None => Code::STREAM_CAPTURE_INVALIDATED.into(),
        });
    };
    capture.check()?;
    if stream.kind == StreamKind::Null {
        return Err(capture.invalidate(Code::STREAM_CAPTURE_IMPLICIT));
    }
    match current {
        None => {
            let mut state = capture.state();
            // Another thread may have ended this capture, or begun to capture the stream, meanwhile.
            if state.streams.is_empty() || !stream.begin_capture(&capture) {
                return Err(Code::STREAM_CAPTURE_INVALIDATED.into());
            }
            state.streams.insert(stream.handle, (Arc::clone(stream), point.nodes.clone()));
        }
        Some(current) if Arc::ptr_eq(&current, &capture) => {
            let mut state = capture.state();
            let nodes = state.dependencies_of(stream)?;
            nodes.extend(&point.nodes);
            nodes.sort_unstable();
            nodes.dedup();
        }
        Some(current) => {
            current.invalidate(Code::STREAM_CAPTURE_MERGE);
            return Err(capture.invalidate(Code::STREAM_CAPTURE_MERGE));
        }
    }
    Ok(())
}

/// Fails if work in the legacy default stream would depend on a capture.
///
/// # Errors
/// `STREAM_CAPTURE_IMPLICIT` in that case.
pub(crate) fn forbid_legacy(stream: &Stream) -> Result {
    if stream.kind != StreamKind::Null {
        return Ok(());
    }
    for other in stream.siblings.all() {
        if other.is_blocking()
            && let Some(capture) = other.capture()
        {
            return Err(capture.invalidate(Code::STREAM_CAPTURE_IMPLICIT));
        }
    }
    Ok(())
}

/// Fails if a capture in progress forbids the calling thread potentially unsafe calls (CUDA Driver API,
/// `cuThreadExchangeStreamCaptureMode`).
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED` in that case.
pub(crate) fn forbid_unsafe_call(captures: &Registry<Capture>) -> Result {
    let mode = MODE.get();
    if mode == Mode::Relaxed {
        return Ok(());
    }
    let here = thread::current().id();
    for capture in captures.all() {
        let mine = capture.thread == here && capture.mode != Mode::Relaxed;
        if mine || mode == Mode::Global && capture.mode == Mode::Global {
            return Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
        }
    }
    Ok(())
}

/// Fails if a stream of a context is being captured, because its work can't be waited for.
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED` in that case.
pub(crate) fn forbid_waiting(streams: &Streams) -> Result {
    let captures = streams.all().into_iter().filter_map(|stream| stream.capture());
    let mut first = Ok(());
    for capture in captures {
        first = first.and(Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED)));
    }
    first
}
