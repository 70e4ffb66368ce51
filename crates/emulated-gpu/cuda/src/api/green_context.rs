//! Green contexts, and the resources of devices that they are made of.

use std::sync::{Arc, PoisonError};

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::green_context::{
    DeviceResource, GroupParameters, MULTIPROCESSORS, QUEUE, QUEUE_CONFIGURATION,
};
use crate::abi::registry::{fresh, number};
use crate::abi::{Device, Handle, In, List, Out};
use crate::api::calling_thread;
use crate::api::context::{release, retain};
use crate::api::device::check;
use crate::api::driver::driver;
use crate::api::event::captured;
use crate::api::stream::wait_event;
use crate::event::{Mark, Recorded};
use crate::graph::operation::Operation;
use crate::green_context::multiprocessors::{self, Split};
use crate::green_context::{Description, Green};
use crate::stream::{self, NON_BLOCKING, Stream};

/// As many streams' work goes to a card at once where `CUDA_DEVICE_MAX_CONNECTIONS` says nothing.
const CONNECTIONS: u32 = 8;
/// `CU_GREEN_CTX_DEFAULT_STREAM`: its default stream is the primary context's, either way.
const DEFAULT_STREAM: u32 = 1;

fn unknown(kind: u32) -> crate::abi::error::Error {
    Code::INVALID_RESOURCE_TYPE
        .because(format!("there is no resource of type {kind} to be had here"))
}

/// The compute capability, which says how multiprocessors are grouped.
fn capability() -> Result<u32> {
    Ok(driver()?.hardware.settings.capability)
}

/// How work queues are shared, where nobody said how: by all of the device's contexts.
fn queues(device: u32) -> DeviceResource {
    let connections = std::env::var("CUDA_DEVICE_MAX_CONNECTIONS").ok();
    let limit = connections.and_then(|text| text.parse().ok()).unwrap_or(CONNECTIONS);
    let mut data = [0; 10];
    data[..2].copy_from_slice(&[device, limit]);
    DeviceResource { kind: QUEUE_CONFIGURATION, device, data, ..DeviceResource::default() }
}

/// A resource of a context, green or not.
fn of_context(device: u32, green: Option<&Green>, kind: u32) -> Result<DeviceResource> {
    match (kind, green) {
        (MULTIPROCESSORS, Some(green)) => Ok(green.description.multiprocessors),
        (MULTIPROCESSORS, None) => Ok(multiprocessors::all(device, capability()?)),
        (QUEUE_CONFIGURATION, Some(green)) => Ok(green.description.queues),
        (QUEUE_CONFIGURATION, None) => Ok(queues(device)),
        (QUEUE, green) => {
            let mut data = [0; 10];
            data[0] = green.map_or(0, |green| number(green.handle));
            Ok(DeviceResource { kind, device, data, ..DeviceResource::default() })
        }
        _ => Err(unknown(kind)),
    }
}

unsafe fn write(result: Out<DeviceResource>, rest: Out<DeviceResource>, (groups, left): Split) {
    if !result.is_null() {
        result.set_all(groups);
    }
    rest.set_if_wanted(left);
}

/// Makes a stream of a green context's.
pub(crate) fn adopt(stream: &Arc<Stream>, green: Arc<Green>) -> Result {
    for mark in green.awaited() {
        stream::enqueue(stream, Operation::WaitFor(mark))?;
    }
    let _ = stream.green.set(green);
    Ok(())
}

fn describe(resources: &[DeviceResource]) -> Result<Description> {
    let Some(first) = resources.first() else {
        return Err(Code::INVALID_VALUE.because("a context has at least one resource"));
    };
    let device = first.device;
    let mut chosen = Vec::new();
    let mut queue = queues(device);
    for resource in resources {
        if resource.device != device {
            return Err(Code::INVALID_RESOURCE_CONFIGURATION
                .because("the resources are of different devices"));
        }
        match resource.kind {
            MULTIPROCESSORS => {
                multiprocessors::check(resource, capability()?)?;
                chosen.push(*resource);
            }
            QUEUE_CONFIGURATION => queue = *resource,
            QUEUE => {}
            kind => return Err(unknown(kind)),
        }
    }
    let multiprocessors = match multiprocessors::union(&chosen)? {
        Some(chosen) => chosen,
        None => multiprocessors::all(device, capability()?),
    };
    Ok(Description { device, multiprocessors, queues: queue })
}

export! {
    12040 fn cuDeviceGetDevResource(device: Device, resource as required: Out<DeviceResource>, kind: u32) {
        let device = check(device)?;
        match kind {
            MULTIPROCESSORS | QUEUE_CONFIGURATION => resource.set(of_context(device, None, kind)?),
            _ => Err(unknown(kind)),
        }
    }

    12040 fn cuCtxGetDevResource(handle: Handle, resource as required: Out<DeviceResource>, kind: u32) {
        let handle = if handle == 0 { calling_thread::handle() } else { handle };
        let device = crate::api::context::find(handle)?.device;
        resource.set(of_context(device, driver()?.green_of_context(handle).as_deref(), kind)?)
    }

    12040 fn cuGreenCtxGetDevResource(green: Handle, resource as required: Out<DeviceResource>, kind: u32) {
        let green = driver()?.green(green)?;
        resource.set(of_context(green.description.device, Some(&green), kind)?)
    }

    13010 fn cuStreamGetDevResource(stream: Handle, resource as required: Out<DeviceResource>, kind: u32)
    also cuStreamGetDevResource_ptsz {
        if kind != MULTIPROCESSORS {
            return Err(unknown(kind));
        }
        let (stream, green) = of_stream(stream)?;
        resource.set(of_context(stream.context.device, green.as_deref(), kind)?)
    }

    12040 fn cuDevSmResourceSplitByCount(
        result: Out<DeviceResource>, count: Out<u32>, input: In<DeviceResource>,
        rest: Out<DeviceResource>, flags: u32, least: u32,
    ) {
        let wanted = if result.is_null() { u32::MAX } else { count.get()? };
        count.required()?;
        let split = multiprocessors::by_count(&input.get()?, wanted, least, flags, capability()?)?;
        count.set(split.0.len() as u32)?;
        write(result, rest, split);
        Ok(())
    }

    13010 fn cuDevSmResourceSplit(
        result: Out<DeviceResource>, count: u32, input: In<DeviceResource>,
        rest: Out<DeviceResource>, flags: u32, parameters: Out<GroupParameters>,
    ) {
        let mut groups = parameters.read_only().list(count as usize)?;
        fail_if!(groups.is_empty() || flags != 0, INVALID_VALUE, "no group, or unknown flags");
        let split = multiprocessors::by_groups(
            &input.get()?, &mut groups, !result.is_null(), capability()?,
        )?;
        parameters.set_all(groups);
        write(result, rest, split);
        Ok(())
    }

    12040 fn cuDevResourceGenerateDesc(
        out as required: Out<Handle>, resources: In<DeviceResource>, count: u32,
    ) {
        let description = describe(&resources.list(count as usize)?)?;
        let handle = fresh();
        driver()?.descriptions.insert(handle, Arc::new(description));
        out.set(handle)
    }

    12040 fn cuGreenCtxCreate(out as required: Out<Handle>, description: Handle, device: Device, flags: u32) {
        let driver = driver()?;
        let on = check(device)?;
        let missing = || Code::INVALID_VALUE.because("there is no such description of resources");
        let description = driver.descriptions.get(description).ok_or_else(missing)?;
        if flags & !DEFAULT_STREAM != 0 || description.device != on {
            return Err(Code::INVALID_VALUE
                .because(format!("flags {flags:#x}, or resources of another device")));
        }
        let owner = retain(device)?;
        let green = Green::new(fresh(), fresh(), (*description).clone());
        driver.contexts.insert(green.context, owner);
        let handle = green.handle;
        driver.greens.insert(handle, Arc::new(green));
        out.set(handle)
    }

    12040 fn cuGreenCtxDestroy(handle: Handle) {
        let green = driver()?.green(handle)?;
        if !green.end() {
            return Err(Code::CONTEXT_IS_DESTROYED.into());
        }
        let driver = driver()?;
        for capture in streams_of(&green)?.iter().filter_map(|stream| stream.capture()) {
            let _ = capture.invalidate(Code::STREAM_CAPTURE_INVALIDATED);
        }
        driver.greens.remove(handle);
        driver.contexts.remove(green.context);
        release(green.description.device as Device)
    }

    12040 fn cuCtxFromGreenCtx(out as required: Out<Handle>, green: Handle) {
        out.set(driver()?.green(green)?.context)
    }

    12090 fn cuGreenCtxGetId(handle: Handle, id as required: Out<u64>) {
        let missing = || Code::INVALID_CONTEXT.because("the current context is no green one");
        let green = match handle {
            0 => calling_thread::green()?.ok_or_else(missing)?,
            _ => driver()?.green(handle)?,
        };
        id.set(number(green.handle).into())
    }

    12050 fn cuGreenCtxStreamCreate(
        out as required: Out<Handle>, green: Handle, flags: u32, priority: i32,
    ) {
        if flags != NON_BLOCKING {
            return Err(Code::INVALID_VALUE.because("the stream has to be CU_STREAM_NON_BLOCKING"));
        }
        let green = driver()?.green(green)?;
        let context = crate::api::context::find(green.context)?;
        context.check()?;
        let stream = driver()?.streams_of(&context)?.create(flags, priority);
        adopt(&stream, green)?;
        let handle = stream.handle;
        driver()?.streams.insert(handle, stream);
        out.set(handle)
    }

    12040 fn cuStreamGetGreenCtx(stream: Handle, out as required: Out<Handle>) also cuStreamGetGreenCtx_ptsz {
        out.set(of_stream(stream)?.1.map_or(0, |green| green.handle))
    }

    12040 fn cuGreenCtxRecordEvent(green: Handle, event: Handle) {
        let green = driver()?.green(green)?;
        let event = driver()?.event(event)?;
        let context = crate::api::context::find(green.context)?;
        if event.context.handle != context.handle {
            return Err(Code::INVALID_HANDLE.because("the event is of another context"));
        }
        let streams = streams_of(&green)?;
        forbid_capture(&streams)?;
        // A stream of nobody's waits for what stands in each, and then passes the mark.
        let all = driver()?.streams_of(&context)?.create(NON_BLOCKING, 0);
        for stream in &streams {
            let mark: Arc<Mark> = Arc::default();
            stream::enqueue(stream, Operation::Pass(Arc::clone(&mark)))?;
            stream::enqueue(&all, Operation::WaitFor(mark))?;
        }
        let mark = event.mark();
        stream::enqueue(&all, Operation::Pass(Arc::clone(&mark)))?;
        all.close();
        event.record(Recorded::Stream(mark));
        Ok(())
    }

    12040 fn cuGreenCtxWaitEvent(green: Handle, event: Handle) {
        let green = driver()?.green(green)?;
        let streams = streams_of(&green)?;
        let recorded = driver()?.event(event)?.recorded();
        forbid_capture(&streams)?;
        if let Recorded::Capture(point) = &recorded {
            return Err(captured(point, Code::STREAM_CAPTURE_UNSUPPORTED)?);
        }
        for stream in &streams {
            wait_event(stream, event, 0)?;
        }
        if let Recorded::Stream(mark) = recorded {
            green.awaited.lock().unwrap_or_else(PoisonError::into_inner).push(mark);
        }
        Ok(())
    }
}

/// The streams of a green context.
fn streams_of(green: &Arc<Green>) -> Result<Vec<Arc<Stream>>> {
    let mut streams = driver()?.streams.all();
    streams.retain(|stream| stream.green.get().is_some_and(|own| Arc::ptr_eq(own, green)));
    Ok(streams)
}

/// A stream, and the green context that it is of: of a default stream the current one.
pub(crate) fn of_stream(handle: Handle) -> Result<(Arc<Stream>, Option<Arc<Green>>)> {
    let stream = calling_thread::stream(handle)?;
    let green = if handle <= 2 { calling_thread::green()? } else { stream.green.get().cloned() };
    Ok((stream, green))
}

/// What is captured ends where all work of a context is asked for.
fn forbid_capture(streams: &[Arc<Stream>]) -> Result {
    let mut failed = Ok(());
    for capture in streams.iter().filter_map(|stream| stream.capture()) {
        failed = Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
    }
    failed
}
