//! Streams and stream capture.

use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Device, Handle, In, List, Out, Pointer, StreamCallback};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::event::Recorded;
use crate::graph::Graph;
use crate::graph::operation::Operation;
use crate::graph::operation::stream_memory::{Wait, WaitCondition, Write};
use crate::memory::copy::check_device;
use crate::stream::capture::{self, Capture, Mode};
use crate::stream::{self, NON_BLOCKING, Stream};

fn create(out: Out<Handle>, flags: u32, priority: i32) -> Result {
    out.required()?;
    fail_if!(flags & !NON_BLOCKING != 0, INVALID_VALUE, "unknown flags {flags:#x} of a stream");
    let context = calling_thread::context()?;
    // A priority outside the range is clamped.
    let stream = driver()?.streams_of(&context)?.create(flags, priority);
    if let Some(green) = calling_thread::green()? {
        crate::api::green_context::assign_green_context(&stream, green)?;
    }
    driver()?.streams.insert(stream.handle, Arc::clone(&stream));
    out.set(stream.handle)
}

/// Makes a stream wait for an event.
///
/// # Errors
/// `INVALID_HANDLE` if there is no such event, `INVALID_VALUE` for unknown flags, and `STREAM_CAPTURE_…` if the
/// capture doesn't allow the wait.
pub(crate) fn wait_event(stream: &Arc<Stream>, event: Handle, flags: u32) -> Result {
    let event = driver()?.event(event)?;
    // The only flag is CU_EVENT_WAIT_EXTERNAL, which adds a node that waits for the event to a captured graph.
    fail_if!(flags > 1, INVALID_VALUE, "unknown flags {flags:#x}");
    if flags == 1 && stream.capture().is_some() {
        return stream::enqueue(stream, Operation::WaitForEvent(event));
    }
    match (event.recorded(), stream.capture()) {
        (Recorded::Never, _) => Ok(()),
        (Recorded::Capture(point), _) => capture::join(stream, &point, &driver()?.captures),
        (Recorded::Stream(_), Some(capture)) => {
            Err(capture.invalidate(Code::STREAM_CAPTURE_ISOLATION))
        }
        (Recorded::Stream(mark), None) if mark.passed().is_some() => Ok(()),
        (Recorded::Stream(mark), None) => stream::enqueue(stream, Operation::WaitFor(mark)),
    }
}

/// Begins to capture a stream into a new graph.
fn begin(stream: Handle, mode: Mode) -> Result {
    let (driver, stream) = (driver()?, calling_thread::stream(stream)?);
    let graph = Arc::new(Graph::new(Arc::clone(&driver.graphs)));
    Capture::begin(&stream, mode, (graph, Vec::new()), &driver.streams, &driver.captures)
}

/// The status of a capture as `CUstreamCaptureStatus`: 0 none, 1 active, 2 invalidated.
fn status(capture: Option<&Arc<Capture>>) -> u32 {
    capture.map_or(0, |capture| if capture.is_invalidated() { 2 } else { 1 })
}

fn info(
    stream: Handle,
    out: Out<u32>,
    id: Out<u64>,
) -> Result<Option<(Arc<Stream>, Arc<Capture>)>> {
    out.required()?;
    let stream = calling_thread::stream(stream)?;
    capture::forbid_legacy(&stream)?;
    let capture = stream.capture();
    out.set(status(capture.as_ref()))?;
    if let Some(capture) = &capture {
        id.set_if_wanted(capture.id);
    }
    Ok(capture.map(|capture| (stream, capture)))
}

/// Writes the nodes that the next work will depend on. The caller may read the list until the next call.
fn dependencies(capture: &Capture, stream: &Stream, list: Out<*const Handle>, count: Out<usize>) {
    let (len, nodes) = capture.dependency_list(stream);
    count.set_if_wanted(len);
    list.set_if_wanted(nodes);
}

unsafe fn update(stream: Handle, nodes: In<Handle>, count: usize, flags: u32) -> Result {
    let stream = calling_thread::stream(stream)?;
    let capture = stream.capture().ok_or(Code::ILLEGAL_STATE)?;
    let mut new = nodes.list(count)?;
    fail_if!(flags > 1, INVALID_VALUE, "unknown flags {flags:#x}");
    if flags == 0 {
        new.extend(capture.dependencies_of(&stream));
    }
    capture.set_dependencies(&stream, new);
    Ok(())
}

fn write(stream: Handle, write: Write) -> Result {
    let stream = calling_thread::stream(stream)?;
    check_device(driver()?.hardware.memory(), write.address, write.size as u64)?;
    if !write.address.is_multiple_of(write.size as u64) {
        return Err(Code::INVALID_VALUE.because("the address is not aligned"));
    }
    stream::enqueue(&stream, Operation::Write(write))
}

fn wait(stream: Handle, address: Pointer, value: u64, size: usize, flags: u32) -> Result {
    let stream = calling_thread::stream(stream)?;
    let condition = WaitCondition::from_flags(flags)?;
    check_device(driver()?.hardware.memory(), address, size as u64)?;
    fail_if!(!address.is_multiple_of(size as u64), INVALID_VALUE, "the address is not aligned");
    stream::enqueue(&stream, Operation::Wait(Wait { address, value, size, condition }))
}

/// The capture's status and id, with the graph and the dependencies of the next node.
fn info_of_graph(
    stream: Handle,
    (out, id): (Out<u32>, Out<u64>),
    graph: Out<Handle>,
    (list, count): (Out<*const Handle>, Out<usize>),
) -> Result {
    if let Some((stream, capture)) = info(stream, out, id)? {
        driver()?.graphs.graphs.insert(capture.graph.handle, Arc::clone(&capture.graph));
        graph.set_if_wanted(capture.graph.handle);
        dependencies(&capture, &stream, list, count);
    }
    Ok(())
}

export! {
    2000 fn cuStreamCreate(out: Out<Handle>, flags: u32) {
        create(out, flags, 0)
    }

    5050 fn cuStreamCreateWithPriority(out: Out<Handle>, flags: u32, priority: i32) {
        create(out, flags, priority)
    }

    4000 fn cuStreamDestroy_v2(stream: Handle) {
        fail_if!(stream <= 2, INVALID_HANDLE, "a default stream can't be destroyed");
        let driver = driver()?;
        let stream = driver.stream(stream)?;
        driver.streams.remove(stream.handle);
        stream.end();
        Ok(())
    }

    2000 fn cuStreamSynchronize(stream: Handle) also cuStreamSynchronize_ptsz {
        let stream = calling_thread::stream(stream)?;
        if let Some(capture) = stream.capture() {
            return Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
        }
        capture::forbid_legacy(&stream)?;
        stream.synchronize()
    }

    2000 fn cuStreamQuery(stream: Handle) also cuStreamQuery_ptsz {
        let stream = calling_thread::stream(stream)?;
        if let Some(capture) = stream.capture() {
            return Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
        }
        capture::forbid_legacy(&stream)?;
        if !stream.is_idle() {
            return Err(Code::NOT_READY.into());
        }
        stream.context.report_fault()
    }

    3020 fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32)
    also cuStreamWaitEvent_ptsz {
        wait_event(&calling_thread::stream(stream)?, event, flags)
    }

    5000 fn cuStreamAddCallback(stream: Handle, function: StreamCallback, data: Out<u8>, flags: u32)
    also cuStreamAddCallback_ptsz {
        fail_if!(flags != 0 || function.is_none(), INVALID_VALUE, "flags must be 0, and the callback not null");
        let target = calling_thread::stream(stream)?;
        if let Some(capture) = target.capture() {
            return Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
        }
        stream::enqueue(&target, Operation::Callback { function, stream, data: data.address() })
    }

    5050 fn cuStreamGetPriority(stream: Handle, priority as required: Out<i32>) also cuStreamGetPriority_ptsz {
        priority.set(calling_thread::stream(stream)?.priority)
    }

    5050 fn cuStreamGetFlags(stream: Handle, flags as required: Out<u32>) also cuStreamGetFlags_ptsz {
        flags.set(calling_thread::stream(stream)?.flags)
    }

    12000 fn cuStreamGetId(stream: Handle, id as required: Out<u64>) also cuStreamGetId_ptsz {
        id.set(calling_thread::stream(stream)?.id)
    }

    12080 fn cuStreamGetDevice(stream: Handle, device as required: Out<Device>) also cuStreamGetDevice_ptsz {
        device.set(calling_thread::stream(stream)?.context.device as Device)
    }

    9020 fn cuStreamGetCtx(stream: Handle, out as required: Out<Handle>) also cuStreamGetCtx_ptsz {
        let (stream, green) = crate::api::green_context::stream_and_green(stream)?;
        out.set(green.map_or(stream.context.handle, |green| green.context))
    }

    12050 fn cuStreamGetCtx_v2(stream: Handle, out as required: Out<Handle>, green: Out<Handle>)
    also cuStreamGetCtx_v2_ptsz {
        let (stream, owner) = crate::api::green_context::stream_and_green(stream)?;
        green.set_if_wanted(owner.map_or(0, |green| green.handle));
        out.set(stream.context.handle)
    }

    11000 fn cuStreamCopyAttributes(to: Handle, from: Handle) also cuStreamCopyAttributes_ptsz {
        calling_thread::stream(to)?;
        // Stream attributes are hints, which have no effect here.
        calling_thread::stream(from).map(|_| ())
    }

    10000 fn cuStreamBeginCapture(stream: Handle) also cuStreamBeginCapture_ptsz {
        begin(stream, Mode::Global)
    }

    10010 fn cuStreamBeginCapture_v2(stream: Handle, mode: u32) also cuStreamBeginCapture_v2_ptsz {
        begin(stream, Mode::from_number(mode)?)
    }

    12030 fn cuStreamBeginCaptureToGraph(
        stream: Handle, graph: Handle, after: In<Handle>, _edges: In<u64>, count: usize, mode: u32,
    ) also cuStreamBeginCaptureToGraph_ptsz {
        let stream = calling_thread::stream(stream)?;
        let driver = driver()?;
        let graph = driver.graph(graph)?;
        let after = after.list(count)?;
        fail_if!(!graph.nodes().contain_all(&after), INVALID_VALUE, "a dependency is not a node of the graph");
        Capture::begin(&stream, Mode::from_number(mode)?, (graph, after), &driver.streams, &driver.captures)
    }

    10000 fn cuStreamEndCapture(stream: Handle, out: Out<Handle>) also cuStreamEndCapture_ptsz {
        out.set_if_wanted(0);
        let stream = calling_thread::stream(stream)?;
        let capture = stream.capture().ok_or_else(|| {
            Code::ILLEGAL_STATE.because("the stream is not being captured")
        })?;
        // Without `out`, the program would have no handle to destroy the graph.
        if driver()?.graphs.graphs.get(capture.graph.handle).is_none() {
            out.required()?;
        }
        let graph = capture.end(&stream)?;
        driver()?.graphs.graphs.insert(graph.handle, Arc::clone(&graph));
        out.set_if_wanted(graph.handle);
        Ok(())
    }

    10000 fn cuStreamIsCapturing(stream: Handle, out: Out<u32>) also cuStreamIsCapturing_ptsz {
        info(stream, out, Out::null()).map(|_| ())
    }

    10010 fn cuStreamGetCaptureInfo(stream: Handle, out: Out<u32>, id: Out<u64>)
    also cuStreamGetCaptureInfo_ptsz {
        info(stream, out, id).map(|_| ())
    }

    11030 fn cuStreamGetCaptureInfo_v2(
        stream: Handle, out: Out<u32>, id: Out<u64>, graph: Out<Handle>, list: Out<*const Handle>,
        count: Out<usize>,
    ) also cuStreamGetCaptureInfo_v2_ptsz {
        info_of_graph(stream, (out, id), graph, (list, count))
    }

    12030 fn cuStreamGetCaptureInfo_v3(
        stream: Handle, out: Out<u32>, id: Out<u64>, graph: Out<Handle>, list: Out<*const Handle>,
        edges: Out<*const u64>, count: Out<usize>,
    ) also cuStreamGetCaptureInfo_v3_ptsz {
        edges.set_if_wanted(std::ptr::null());
        info_of_graph(stream, (out, id), graph, (list, count))
    }

    11030 fn cuStreamUpdateCaptureDependencies(
        stream: Handle, nodes: In<Handle>, count: usize, flags: u32,
    ) also cuStreamUpdateCaptureDependencies_ptsz {
        update(stream, nodes, count, flags)
    }

    12030 fn cuStreamUpdateCaptureDependencies_v2(
        stream: Handle, nodes: In<Handle>, _edges: In<u64>, count: usize, flags: u32,
    ) also cuStreamUpdateCaptureDependencies_v2_ptsz {
        update(stream, nodes, count, flags)
    }

    8000 fn cuStreamWriteValue32_v2(stream: Handle, address: Pointer, value: u32, _flags: u32)
    also cuStreamWriteValue32_v2_ptsz {
        write(stream, Write { address, value: u64::from(value), size: 4 })
    }

    9000 fn cuStreamWriteValue64_v2(stream: Handle, address: Pointer, value: u64, _flags: u32)
    also cuStreamWriteValue64_v2_ptsz {
        write(stream, Write { address, value, size: 8 })
    }

    8000 fn cuStreamWaitValue32_v2(stream: Handle, address: Pointer, value: u32, flags: u32)
    also cuStreamWaitValue32_v2_ptsz {
        wait(stream, address, u64::from(value), 4, flags)
    }

    9000 fn cuStreamWaitValue64_v2(stream: Handle, address: Pointer, value: u64, flags: u32)
    also cuStreamWaitValue64_v2_ptsz {
        wait(stream, address, value, 8, flags)
    }
}
