//! The order of work in the legacy default streams of several contexts.

use std::sync::Arc;

use crate::abi::error::Result;
use crate::api::driver::driver;
use crate::context::Context;
use crate::event::Mark;
use crate::graph::operation::Operation;
use crate::stream::{self, Stream, StreamKind};

/// Puts the work of a graph into a stream. From a legacy default stream it also stands in those of the other
/// contexts that its kernels are of. CUDA promises no order there, but on cards a program that counts on one
/// hardly ever sees the opposite: what it put into the other stream before is done long before the graph begins.
///
/// # Errors
/// As [`stream::enqueue`].
pub(crate) fn enqueue(stream: &Arc<Stream>, work: Arc<Vec<Operation>>) -> Result {
    let owner = |operation: &Operation| match operation {
        Operation::Launch { function, .. } => function.own_context(),
        _ => None,
    };
    let owners: Vec<_> = work.iter().filter_map(owner).collect();
    in_all(stream, owners, || stream::enqueue(stream, Operation::All(work)))
}

/// Has `put` put work into a stream, which from a legacy default stream also stands in those of other contexts:
/// it begins when what stands there is done, and what comes there later waits for it.
///
/// # Errors
/// As of `put`, and of [`Stream::submit`].
pub(crate) fn in_all(
    stream: &Arc<Stream>,
    owners: Vec<Arc<Context>>,
    put: impl FnOnce() -> Result,
) -> Result {
    let others = match stream.kind {
        StreamKind::Null => legacy_streams(stream, owners),
        _ => Vec::new(),
    };
    for other in &others {
        let before = Arc::new(Mark::default());
        // A context that has ended has no work to wait for.
        if other.submit(Operation::Pass(Arc::clone(&before))).is_ok() {
            stream.submit(Operation::WaitFor(before))?;
        }
    }
    put()?;
    if !others.is_empty() {
        let end = Arc::new(Mark::default());
        stream.submit(Operation::Pass(Arc::clone(&end)))?;
        for other in &others {
            // And none to come.
            other.submit(Operation::WaitFor(Arc::clone(&end))).ok();
        }
    }
    Ok(())
}

/// The legacy default streams of contexts, each once, but for that of a stream.
fn legacy_streams(stream: &Stream, owners: Vec<Arc<Context>>) -> Vec<Arc<Stream>> {
    let mut handles = vec![stream.context.handle];
    let mut streams = Vec::new();
    for context in owners {
        if handles.contains(&context.handle) {
            continue;
        }
        handles.push(context.handle);
        // A context that has ended has none.
        let found = driver().and_then(|driver| driver.streams_of(&context));
        streams.extend(found.map(|own| own.null()));
    }
    streams
}
