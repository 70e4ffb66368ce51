//! Work that stands in the legacy default streams of several contexts.

use std::sync::Arc;

use crate::context::Context;
use crate::driver::driver;
use crate::error::Result;
use crate::event::Mark;
use crate::operation::Operation;
use crate::stream::{self, Stream, StreamKind};

/// Puts the work of a graph into a stream. From a legacy default stream it also stands in those of the other
/// contexts that its kernels are of: it begins when what stands there is done, and what comes there later waits
/// for it. CUDA promises no order there, but on cards a program that counts on one hardly ever sees the
/// opposite: what it put into the other stream before is done long before the graph begins.
///
/// # Errors
/// As [`stream::enqueue`].
pub(crate) fn enqueue(stream: &Arc<Stream>, work: Arc<Vec<Operation>>) -> Result {
    let others = if stream.kind == StreamKind::Null { others(stream, &work) } else { Vec::new() };
    for other in &others {
        let before = Arc::new(Mark::default());
        // A context that has ended has no work to wait for.
        if other.submit(Operation::Pass(Arc::clone(&before))).is_ok() {
            stream.submit(Operation::WaitFor(before))?;
        }
    }
    stream::enqueue(stream, Operation::All(work))?;
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

/// The legacy default streams of the contexts that kernels are of, but for that of a stream.
fn others(stream: &Stream, work: &[Operation]) -> Vec<Arc<Stream>> {
    let mut contexts: Vec<Arc<Context>> = Vec::new();
    for operation in work {
        let Operation::Launch { function, .. } = operation else { continue };
        let Some(context) = function.own_context() else { continue };
        let known = contexts.iter().chain([&stream.context]).any(|one| Arc::ptr_eq(one, &context));
        if !known {
            contexts.push(context);
        }
    }
    // A context that has ended has none.
    let streams = |context: &Arc<Context>| driver().ok()?.streams_of(context).ok();
    contexts.iter().filter_map(streams).map(|streams| streams.null()).collect()
}
