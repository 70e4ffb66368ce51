//! Events: creation, recording, waiting and timing (`cuEvent…`).

use std::sync::Arc;

use crate::abi::error::{Code, Error, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::registry::new_handle;
use crate::abi::{Handle, Out};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::event::{DISABLE_TIMING, Event, FLAGS, INTERPROCESS, Mark, Point, Recorded};
use crate::graph::operation::Operation;
use crate::stream::capture;
use crate::stream::{self, Stream};

/// Records an event in a stream.
///
/// # Errors
/// `INVALID_HANDLE` if there is no such event, or the stream belongs to a different context; `INVALID_VALUE` for
/// unknown flags, and for flags that need a capture; `STREAM_CAPTURE_…` if the capture doesn't allow the record.
pub(crate) fn record(event: Handle, stream: &Arc<Stream>, flags: u32) -> Result {
    let event = driver()?.event(event)?;
    if event.context.handle != stream.context.handle {
        return Err(
            Code::INVALID_HANDLE.because("the event and the stream belong to different contexts")
        );
    }
    // The only flag is CU_EVENT_RECORD_EXTERNAL, which adds a node that records the event to a captured graph.
    fail_if!(flags > 1, INVALID_VALUE, "unknown flags {flags:#x}");
    let Some(capture) = stream.capture() else {
        fail_if!(flags == 1, INVALID_VALUE, "the stream is not being captured");
        let mark = event.mark();
        stream::enqueue(stream, Operation::Pass(Arc::clone(&mark)))?;
        event.record(Recorded::Stream(mark));
        return Ok(());
    };
    if flags == 1 {
        return stream::enqueue(stream, Operation::Record(event));
    }
    event.record(Recorded::Capture(capture.point(stream)?));
    Ok(())
}

/// Invalidates the capture in which an event was recorded, because of a call that can't be captured.
pub(crate) fn invalidate_capture(point: &Point, code: Code) -> Result<Error> {
    let capture = driver()?.captures.get(point.capture);
    Ok(capture.map_or_else(|| code.into(), |capture| capture.invalidate(code)))
}

/// The mark that the event last recorded; `None` if it was never recorded.
fn mark(event: &Event) -> Result<Option<Arc<Mark>>> {
    match event.recorded() {
        Recorded::Never => Ok(None),
        Recorded::Stream(mark) => Ok(Some(mark)),
        Recorded::Capture(point) => Err(invalidate_capture(&point, Code::CAPTURED_EVENT)?),
    }
}

export! {
    2000 fn cuEventCreate(out as required: Out<Handle>, flags: u32) {
        if flags & !FLAGS != 0 || flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
            return Err(Code::INVALID_VALUE
                .because(format!("unsupported flags {flags:#x} of an event")));
        }
        let context = calling_thread::context()?;
        let event = Arc::new(Event::new(new_handle(), context, flags)?);
        driver()?.events.insert(event.handle, Arc::clone(&event));
        out.set(event.handle)
    }

    4000 fn cuEventDestroy_v2(event: Handle) {
        let driver = driver()?;
        let event = driver.event(event)?;
        // The event can be dropped now, because work that waits for it has a reference to its mark.
        driver.events.remove(event.handle);
        Ok(())
    }

    2000 fn cuEventRecord(event: Handle, stream: Handle) also cuEventRecord_ptsz {
        record(event, &calling_thread::stream(stream)?, 0)
    }

    11010 fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32)
    also cuEventRecordWithFlags_ptsz {
        record(event, &calling_thread::stream(stream)?, flags)
    }

    2000 fn cuEventQuery(event: Handle) {
        let event = driver()?.event(event)?;
        event.context.check()?;
        let mark = mark(&event)?;
        capture::forbid_unsafe_call(&driver()?.captures)?;
        match mark {
            Some(mark) if !mark.is_passed()? => Err(Code::NOT_READY.into()),
            _ => event.context.report_fault(),
        }
    }

    2000 fn cuEventSynchronize(event: Handle) {
        let event = driver()?.event(event)?;
        event.context.check()?;
        let mark = mark(&event)?;
        capture::forbid_unsafe_call(&driver()?.captures)?;
        if let Some(mark) = mark {
            mark.wait()?;
        }
        event.context.report_fault()
    }

    2000 fn cuEventElapsedTime(milliseconds as required: Out<f32>, start: Handle, end: Handle), 12080 cuEventElapsedTime_v2 {
        let driver = driver()?;
        let (start, end) = (driver.event(start)?, driver.event(end)?);
        start.context.report_fault()?;
        milliseconds.set(Event::elapsed(&start, &end)?)
    }
}
