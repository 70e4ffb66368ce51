//! Ordering of work in the legacy default streams of several contexts.

use std::sync::Arc;

use crate::abi::error::Result;
use crate::api::driver::driver;
use crate::context::Context;
use crate::event::Mark;
use crate::graph::operation::Operation;
use crate::stream::{self, Stream, StreamKind};

/// Enqueues the work of a graph. In a legacy default stream, it is also ordered with the legacy default streams of the
/// other contexts to which its kernels belong. CUDA promises no such order. But on real cards, earlier work of those
/// streams almost always ends long before the graph begins, and some programs rely on it.
///
/// # Errors
/// The errors of [`stream::enqueue`].
pub(crate) fn enqueue(stream: &Arc<Stream>, work: Arc<Vec<Operation>>) -> Result {
    let owner = |operation: &Operation| match operation {
        Operation::Launch { function, .. } => function.module_context(),
        _ => None,
    };
    let owners: Vec<_> = work.iter().filter_map(owner).collect();
    order_with_others(stream, owners, || stream::enqueue(stream, Operation::All(work)))
}

/// Calls `put`, which enqueues work. In a legacy default stream, that work is also ordered with the legacy default
/// streams of `owners`: it waits for their pending work, and their later work waits for it.
///
/// # Errors
/// The errors of `put` and [`Stream::submit`].
pub(crate) fn order_with_others(
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
        // A destroyed context has no work to wait for.
        if other.submit(Operation::Pass(Arc::clone(&before))).is_ok() {
            stream.submit(Operation::WaitFor(before))?;
        }
    }
    put()?;
    if !others.is_empty() {
        let end = Arc::new(Mark::default());
        stream.submit(Operation::Pass(Arc::clone(&end)))?;
        for other in &others {
            // An error is ignored: a destroyed context gets no more work that would have to wait.
            other.submit(Operation::WaitFor(Arc::clone(&end))).ok();
        }
    }
    Ok(())
}

/// The legacy default streams of the given contexts, without duplicates and without `stream` itself.
fn legacy_streams(stream: &Stream, owners: Vec<Arc<Context>>) -> Vec<Arc<Stream>> {
    let mut handles = vec![stream.context.handle];
    let mut streams = Vec::new();
    for context in owners {
        if handles.contains(&context.handle) {
            continue;
        }
        handles.push(context.handle);
        // A destroyed context has no streams.
        let context_streams = driver().and_then(|driver| driver.streams_of(&context));
        streams.extend(context_streams.map(|streams| streams.null()));
    }
    streams
}
