//! Green contexts, and the device resources that they consist of.

use std::sync::{Arc, PoisonError};

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::green_context::{
    DeviceResource, GroupParameters, MULTIPROCESSORS, QUEUE, QUEUE_CONFIGURATION,
};
use crate::abi::registry::{new_handle, ordinal};
use crate::abi::{Device, Handle, In, List, Out};
use crate::api::calling_thread;
use crate::api::context::{release, retain};
use crate::api::device::check;
use crate::api::driver::driver;
use crate::api::event::invalidate_capture;
use crate::api::stream::wait_event;
use crate::event::{Mark, Recorded};
use crate::graph::operation::Operation;
use crate::green_context::multiprocessors::{self, Split};
use crate::green_context::{GreenContext, ResourceDescriptor};
use crate::stream::{self, NON_BLOCKING, Stream};

/// The number of concurrent work queues if `CUDA_DEVICE_MAX_CONNECTIONS` is unset.
const DEFAULT_CONNECTIONS: u32 = 8;
/// The flag `CU_GREEN_CTX_DEFAULT_STREAM`, which has no effect: the default stream always belongs
/// to the primary context.
const DEFAULT_STREAM: u32 = 1;

fn unknown(kind: u32) -> crate::abi::error::Error {
    Code::INVALID_RESOURCE_TYPE.because(format!("resource type {kind} is not available here"))
}

/// The compute capability, which determines how multiprocessors are grouped.
fn capability() -> Result<u32> {
    Ok(driver()?.hardware.settings.capability)
}

/// The default configuration of work queues: shared by all of the device's contexts.
fn queues(device: u32) -> DeviceResource {
    let connections = std::env::var("CUDA_DEVICE_MAX_CONNECTIONS").ok();
    let limit = connections.and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_CONNECTIONS);
    let mut data = [0; 10];
    data[..2].copy_from_slice(&[device, limit]);
    DeviceResource { kind: QUEUE_CONFIGURATION, device, data, ..DeviceResource::default() }
}

/// A resource of a context, which may be a green context.
fn context_resource(
    device: u32,
    green: Option<&GreenContext>,
    kind: u32,
) -> Result<DeviceResource> {
    match (kind, green) {
        (MULTIPROCESSORS, Some(green)) => Ok(green.resources.multiprocessors),
        (MULTIPROCESSORS, None) => Ok(multiprocessors::all(device, capability()?)),
        (QUEUE_CONFIGURATION, Some(green)) => Ok(green.resources.queues),
        (QUEUE_CONFIGURATION, None) => Ok(queues(device)),
        (QUEUE, green) => {
            let mut data = [0; 10];
            data[0] = green.map_or(0, |green| ordinal(green.handle));
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

/// Assigns a stream to a green context.
pub(crate) fn assign_green_context(stream: &Arc<Stream>, green: Arc<GreenContext>) -> Result {
    for mark in green.awaited_marks() {
        stream::enqueue(stream, Operation::WaitFor(mark))?;
    }
    let _ = stream.green.set(green);
    Ok(())
}

fn describe(resources: &[DeviceResource]) -> Result<ResourceDescriptor> {
    let Some(first) = resources.first() else {
        return Err(Code::INVALID_VALUE.because("a green context needs at least one resource"));
    };
    let device = first.device;
    let mut chosen = Vec::new();
    let mut queue = queues(device);
    for resource in resources {
        if resource.device != device {
            return Err(Code::INVALID_RESOURCE_CONFIGURATION
                .because("the resources belong to different devices"));
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
    Ok(ResourceDescriptor { device, multiprocessors, queues: queue })
}

export! {
    12040 fn cuDeviceGetDevResource(device: Device, resource as required: Out<DeviceResource>, kind: u32) {
        let device = check(device)?;
        match kind {
            MULTIPROCESSORS | QUEUE_CONFIGURATION => resource.set(context_resource(device, None, kind)?),
            _ => Err(unknown(kind)),
        }
    }

    12040 fn cuCtxGetDevResource(handle: Handle, resource as required: Out<DeviceResource>, kind: u32) {
        let handle = if handle == 0 { calling_thread::handle() } else { handle };
        let device = crate::api::context::find(handle)?.device;
        resource.set(context_resource(device, driver()?.green_of_context(handle).as_deref(), kind)?)
    }

    12040 fn cuGreenCtxGetDevResource(green: Handle, resource as required: Out<DeviceResource>, kind: u32) {
        let green = driver()?.green(green)?;
        resource.set(context_resource(green.resources.device, Some(&green), kind)?)
    }

    13010 fn cuStreamGetDevResource(stream: Handle, resource as required: Out<DeviceResource>, kind: u32)
    also cuStreamGetDevResource_ptsz {
        if kind != MULTIPROCESSORS {
            return Err(unknown(kind));
        }
        let (stream, green) = stream_and_green(stream)?;
        resource.set(context_resource(stream.context.device, green.as_deref(), kind)?)
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
        fail_if!(groups.is_empty() || flags != 0, INVALID_VALUE, "there must be at least one group, and flags must be 0");
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
        let handle = new_handle();
        driver()?.resource_descriptors.insert(handle, Arc::new(description));
        out.set(handle)
    }

    12040 fn cuGreenCtxCreate(out as required: Out<Handle>, description: Handle, device: Device, flags: u32) {
        let driver = driver()?;
        let on = check(device)?;
        let missing = || Code::INVALID_VALUE.because("there is no such resource descriptor");
        let description = driver.resource_descriptors.get(description).ok_or_else(missing)?;
        if flags & !DEFAULT_STREAM != 0 || description.device != on {
            return Err(Code::INVALID_VALUE
                .because(format!("unknown flags {flags:#x}, or the resources belong to another device")));
        }
        let owner = retain(device)?;
        let green = GreenContext::new(new_handle(), new_handle(), (*description).clone());
        driver.contexts.insert(green.context, owner);
        let handle = green.handle;
        driver.green_contexts.insert(handle, Arc::new(green));
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
        driver.green_contexts.remove(handle);
        driver.contexts.remove(green.context);
        release(green.resources.device as Device)
    }

    12040 fn cuCtxFromGreenCtx(out as required: Out<Handle>, green: Handle) {
        out.set(driver()?.green(green)?.context)
    }

    12090 fn cuGreenCtxGetId(handle: Handle, id as required: Out<u64>) {
        let missing = || Code::INVALID_CONTEXT.because("the current context is not a green context");
        let green = match handle {
            0 => calling_thread::green()?.ok_or_else(missing)?,
            _ => driver()?.green(handle)?,
        };
        id.set(ordinal(green.handle).into())
    }

    12050 fn cuGreenCtxStreamCreate(
        out as required: Out<Handle>, green: Handle, flags: u32, priority: i32,
    ) {
        fail_if!(flags != NON_BLOCKING, INVALID_VALUE, "the flags must be CU_STREAM_NON_BLOCKING");
        let green = driver()?.green(green)?;
        let context = crate::api::context::find(green.context)?;
        context.check()?;
        let stream = driver()?.streams_of(&context)?.create(flags, priority);
        assign_green_context(&stream, green)?;
        let handle = stream.handle;
        driver()?.streams.insert(handle, stream);
        out.set(handle)
    }

    12040 fn cuStreamGetGreenCtx(stream: Handle, out as required: Out<Handle>) also cuStreamGetGreenCtx_ptsz {
        out.set(stream_and_green(stream)?.1.map_or(0, |green| green.handle))
    }

    12040 fn cuGreenCtxRecordEvent(green: Handle, event: Handle) {
        let green = driver()?.green(green)?;
        let event = driver()?.event(event)?;
        let context = crate::api::context::find(green.context)?;
        fail_if!(event.context.handle != context.handle, INVALID_HANDLE, "the event belongs to another context");
        let streams = streams_of(&green)?;
        forbid_capture(&streams)?;
        // A temporary stream waits for the pending work of each stream; a mark in that stream is
        // passed when all of them have finished.
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
            return Err(invalidate_capture(point, Code::STREAM_CAPTURE_UNSUPPORTED)?);
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
fn streams_of(green: &Arc<GreenContext>) -> Result<Vec<Arc<Stream>>> {
    let mut streams = driver()?.streams.all();
    streams.retain(|stream| stream.green.get().is_some_and(|other| Arc::ptr_eq(other, green)));
    Ok(streams)
}

/// Finds a stream and its green context. For a default stream, this is the current green context.
pub(crate) fn stream_and_green(handle: Handle) -> Result<(Arc<Stream>, Option<Arc<GreenContext>>)> {
    let stream = calling_thread::stream(handle)?;
    let green = if handle <= 2 { calling_thread::green()? } else { stream.green.get().cloned() };
    Ok((stream, green))
}

/// Invalidates the captures in progress: a call that concerns all work of a context can't be
/// captured.
fn forbid_capture(streams: &[Arc<Stream>]) -> Result {
    let mut failed = Ok(());
    for capture in streams.iter().filter_map(|stream| stream.capture()) {
        failed = Err(capture.invalidate(Code::STREAM_CAPTURE_UNSUPPORTED));
    }
    failed
}
