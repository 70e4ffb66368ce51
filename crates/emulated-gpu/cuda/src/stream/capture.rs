//! Stream capture: what is put into a stream becomes a graph instead of being done.

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
    /// `CUstreamCaptureMode`: whose calls are kept from disturbing a capture.
    Mode, "there is no capture mode {}" {
        /// Everybody's.
        Global = 0,
        /// Those of the thread that captures.
        ThreadLocal = 1,
        /// Nobody's.
        Relaxed = 2,
    }
}

thread_local! {
    /// `cuThreadExchangeStreamCaptureMode`
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Changes the calling thread's mode; what it was before.
pub(crate) fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// A capture that is going on: of one stream, and of those that came to depend on it.
#[derive(Debug)]
pub(crate) struct Capture {
    /// `cuStreamGetCaptureInfo`
    pub(crate) id: u64,
    pub(crate) graph: Arc<Graph>,
    mode: Mode,
    origin: Handle,
    thread: ThreadId,
    state: Mutex<State>,
    /// Those that go on, with this one until it ends.
    others: Arc<Registry<Capture>>,
}

#[derive(Debug, Default)]
struct State {
    invalidated: bool,
    /// Each stream that takes part, and the nodes that its next work comes after.
    streams: HashMap<Handle, (Arc<Stream>, Vec<Handle>)>,
    /// What the program was given to read, of each stream, until it asks again.
    given: HashMap<Handle, Vec<Handle>>,
}

impl State {
    /// The nodes that the next work of a stream comes after.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED`
    fn nodes_of(&mut self, stream: &Stream) -> Result<&mut Vec<Handle>> {
        let invalid = self.invalidated;
        let own = self.streams.get_mut(&stream.handle).filter(|_| !invalid);
        own.map(|(_, nodes)| nodes).ok_or_else(|| Code::STREAM_CAPTURE_INVALIDATED.into())
    }
}

impl Capture {
    /// Begins to capture one of the streams that there are, into a graph that may have nodes already, beside
    /// other captures.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when it is captured already, `STREAM_CAPTURE_UNSUPPORTED` for the legacy
    /// default stream, `CONTEXT_IS_DESTROYED` and `INVALID_HANDLE` where another thread destroys the
    /// context or the stream meanwhile.
    pub(crate) fn begin(
        stream: &Arc<Stream>,
        mode: Mode,
        (graph, after): (Arc<Graph>, Vec<Handle>),
        streams: &Registry<Stream>,
        others: &Arc<Registry<Self>>,
    ) -> Result {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if stream.kind == StreamKind::Null {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED.because(
                "the legacy default stream can't be captured; make one with cuStreamCreate",
            ));
        }
        let own = HashMap::from([(stream.handle, (Arc::clone(stream), after))]);
        let capture = Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            graph,
            mode,
            origin: stream.handle,
            thread: thread::current().id(),
            state: Mutex::new(State { streams: own, ..State::default() }),
            others: Arc::clone(others),
        });
        // Until it is on the list, and its stream knows of it, the context is not destroyed: who does that
        // ends the captures of all streams.
        let Some(_turn) = stream.context.order.turn() else {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        };
        others.insert(capture.handle(), Arc::clone(&capture));
        if !stream.take_part(&capture) {
            others.remove(capture.handle());
            return Err(Code::ILLEGAL_STATE.because("the stream is captured already"));
        }
        // Who destroys a stream takes it off the list first, and ends its capture then.
        if stream.kind == StreamKind::Created && streams.get(stream.handle).is_none() {
            capture.abandon();
            return Err(Code::INVALID_HANDLE.because("another thread has destroyed the stream"));
        }
        Ok(())
    }

    fn handle(&self) -> Handle {
        self.id as Handle
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something has made it useless.
    pub(crate) fn is_invalidated(&self) -> bool {
        self.state().invalidated
    }

    /// Makes it useless; gives back the error that did.
    pub(crate) fn invalidate(&self, code: Code) -> Error {
        self.state().invalidated = true;
        code.because("the stream is being captured, which this call can't be part of")
    }

    fn check(&self) -> Result {
        if self.is_invalidated() { Err(Code::STREAM_CAPTURE_INVALIDATED.into()) } else { Ok(()) }
    }

    /// Adds work of a stream that is captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED`, also when another thread has ended the capture meanwhile.
    pub(crate) fn add(&self, stream: &Stream, operation: Operation) -> Result<Handle> {
        // The lock is held throughout: work that another thread puts into the stream comes after.
        let mut state = self.state();
        let nodes = state.nodes_of(stream)?;
        let node = self.graph.add(operation, nodes)?;
        *nodes = vec![node];
        Ok(node)
    }

    /// The nodes that the next work of a stream comes after.
    pub(crate) fn nodes_of(&self, stream: &Stream) -> Vec<Handle> {
        let state = self.state();
        state.streams.get(&stream.handle).map(|(_, nodes)| nodes.clone()).unwrap_or_default()
    }

    /// The same, for the program to read: how many, and where they stand until it asks again or the
    /// capture ends.
    pub(crate) fn give_nodes(&self, stream: &Stream) -> (usize, *const Handle) {
        let nodes = self.nodes_of(stream);
        let mut state = self.state();
        let given = state.given.entry(stream.handle).or_default();
        *given = nodes;
        (given.len(), given.as_ptr())
    }

    pub(crate) fn set_nodes(&self, stream: &Stream, nodes: Vec<Handle>) {
        if let Some((_, own)) = self.state().streams.get_mut(&stream.handle) {
            *own = nodes;
        }
    }

    /// Where a stream is in it, for an event.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED`
    pub(crate) fn point(&self, stream: &Stream) -> Result<Point> {
        let nodes = self.state().nodes_of(stream)?.clone();
        Ok(Point { capture: self.handle(), nodes })
    }

    /// Forgets it: its streams do their work from now on. What it has come to.
    fn leave(&self) -> State {
        let state = std::mem::take(&mut *self.state());
        self.others.remove(self.handle());
        for (own, _) in state.streams.values() {
            own.leave_capture();
        }
        state
    }

    /// Forgets it and its graph: nobody can end it any longer.
    pub(crate) fn abandon(&self) {
        self.leave();
    }

    /// A stream that takes part is going: where it was begun in that one, nobody can end it. Another one has
    /// put in what it was to, and at the end it counts whether the first has waited for that.
    pub(crate) fn lose(&self, stream: &Stream) {
        if self.origin == stream.handle {
            self.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED);
            self.abandon();
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNMATCHED`, `…_WRONG_THREAD`, `…_INVALIDATED`, `…_UNJOINED`.
    pub(crate) fn end(&self, stream: &Stream) -> Result<Arc<Graph>> {
        if self.origin != stream.handle {
            return Err(Code::STREAM_CAPTURE_UNMATCHED
                .because("end the capture in the stream in which it was begun"));
        }
        if self.mode != Mode::Relaxed && self.thread != thread::current().id() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD.into());
        }
        let state = self.leave();
        if state.invalidated {
            return Err(Code::STREAM_CAPTURE_INVALIDATED.into());
        }
        let empty = Vec::new();
        let last = state.streams.get(&stream.handle).map_or(&empty, |(_, nodes)| nodes);
        let joined = self.graph.ancestors(last);
        let mut others = state.streams.values().flat_map(|(_, nodes)| nodes);
        if others.any(|node| !joined.contains(node)) {
            return Err(Code::STREAM_CAPTURE_UNJOINED.because(
                "another stream took part in the capture, and the first one never waited for its end",
            ));
        }
        Ok(Arc::clone(&self.graph))
    }
}

/// Makes a stream wait for a point of a capture, of those that go on: it takes part from then on.
///
/// # Errors
/// `STREAM_CAPTURE_IMPLICIT` for the legacy default stream, `…_MERGE` for a stream that is captured
/// otherwise, `…_INVALIDATED`.
pub(crate) fn join(stream: &Arc<Stream>, point: &Point, captures: &Registry<Capture>) -> Result {
    let own = stream.capture();
    let Some(capture) = captures.get(point.capture) else {
        return Err(match own {
            _ if stream.kind == StreamKind::Null => Code::STREAM_CAPTURE_IMPLICIT.into(),
            Some(own) => own.invalidate(Code::STREAM_CAPTURE_MERGE),
            // It has ended.
            None => Code::STREAM_CAPTURE_INVALIDATED.into(),
        });
    };
    capture.check()?;
    if stream.kind == StreamKind::Null {
        return Err(capture.invalidate(Code::STREAM_CAPTURE_IMPLICIT));
    }
    match own {
        None => {
            let mut state = capture.state();
            // Another thread may have ended it, or have the stream captured, meanwhile.
            if state.streams.is_empty() || !stream.take_part(&capture) {
                return Err(Code::STREAM_CAPTURE_INVALIDATED.into());
            }
            state.streams.insert(stream.handle, (Arc::clone(stream), point.nodes.clone()));
        }
        Some(own) if Arc::ptr_eq(&own, &capture) => {
            let mut state = capture.state();
            let nodes = state.nodes_of(stream)?;
            nodes.extend(&point.nodes);
            nodes.sort_unstable();
            nodes.dedup();
        }
        Some(own) => {
            own.invalidate(Code::STREAM_CAPTURE_MERGE);
            return Err(capture.invalidate(Code::STREAM_CAPTURE_MERGE));
        }
    }
    Ok(())
}

/// Fails when work in the legacy default stream would come to depend on a capture.
///
/// # Errors
/// `STREAM_CAPTURE_IMPLICIT`
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

/// Fails when a call that may disturb a capture is made while one is going on that keeps the
/// calling thread from it (CUDA Driver API, `cuThreadExchangeStreamCaptureMode`).
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED`
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

/// Fails when one of a context's streams is captured: its work can't be waited for.
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED`
pub(crate) fn forbid_waiting(streams: &Streams) -> Result {
    let captures = streams.all().into_iter().filter_map(|stream| stream.capture());
    let mut first = Ok(());
    for capture in captures {
        first = first.and(Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED)));
    }
    first
}
