//! Contexts: primary contexts, other contexts, and each thread's stack of current contexts.

pub(crate) mod coredump;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::registry::new_handle;
use crate::abi::{Device, Handle, In, Out};
use crate::api::calling_thread;
use crate::api::device::check;
use crate::api::driver::{VERSION, driver};
use crate::context::library_storage::PendingDestructors;
use crate::context::{Context, Primary};
use crate::stream::capture;
use crate::stream::{PRIORITIES, Stream};

/// A mask of all valid flags of a context.
const FLAGS: u32 = 0xff;
/// A mask of the scheduling bits, which select how host threads wait: one of the values 0, 1, 2, 4.
const SCHEDULING: u32 = 7;

fn check_flags(flags: u32) -> Result {
    if flags & !FLAGS != 0 || !matches!(flags & SCHEDULING, 0 | 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE.because(format!("unknown flags {flags:#x} of a context")));
    }
    Ok(())
}

fn create(out: Out<Handle>, flags: u32, device: Device) -> Result {
    out.required()?;
    check_flags(flags)?;
    let device = check(device)?;
    let context = driver()?.create_context(new_handle(), flags, device);
    calling_thread::push(context.handle);
    out.set(context.handle)
}

/// The context with this handle; 0 for the calling thread's.
///
/// # Errors
/// `INVALID_CONTEXT` if there is no such context.
pub(crate) fn find(handle: Handle) -> Result<Arc<Context>> {
    if handle == 0 {
        return calling_thread::context_of_any_state();
    }
    driver()?.contexts.get(handle).ok_or_else(|| {
        Code::INVALID_CONTEXT.because(format!("there is no context {handle:#x}; was it destroyed?"))
    })
}

/// Checks that a handle may be made current: that of a context, or of a primary context that doesn't exist yet, which
/// NVIDIA's runtime library makes current before it retains it.
fn check_current(handle: Handle) -> Result {
    let is_primary = |primary: &std::sync::Mutex<Primary>| {
        primary.lock().unwrap_or_else(PoisonError::into_inner).has(handle)
    };
    if driver()?.primary.iter().any(is_primary) { Ok(()) } else { find(handle).map(|_| ()) }
}

/// Calls `f` with the device's primary context, which is locked meanwhile.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device; otherwise the errors of `f`.
pub(crate) fn with_primary<T>(
    device: Device,
    f: impl FnOnce(&mut Primary) -> Result<T>,
) -> Result<T> {
    let device = check(device)? as usize;
    let primary = driver()?.primary.get(device).ok_or(Code::INVALID_DEVICE)?;
    f(&mut primary.lock().unwrap_or_else(PoisonError::into_inner))
}

fn synchronize(context: &Context) -> Result {
    let streams = driver()?.streams_of(context)?;
    capture::forbid_waiting(&streams)?;
    streams.synchronize();
    context.report_fault()
}

/// The legacy default stream of a usable context.
fn null_stream(context: Handle) -> Result<Arc<Stream>> {
    let context = find(context)?;
    context.check()?;
    Ok(driver()?.streams_of(&context)?.null())
}

/// Retains the primary context of a device, creating it if necessary.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device.
pub(crate) fn retain(device: Device) -> Result<Arc<Context>> {
    let driver = driver()?;
    let make = |handle, flags, device| driver.create_context(handle, flags, device);
    with_primary(device, |primary| Ok(primary.retain(make)))
}

/// Destroys the device's primary context if `f` returns it.
fn end(device: Device, f: impl FnOnce(&mut Primary) -> Result<Option<Arc<Context>>>) -> Result {
    // The lock is held until the context is destroyed, because the next primary context has the same handle.
    let ended = with_primary(device, |primary| match f(primary)? {
        Some(context) => driver()?.destroy_context(&context),
        None => Ok(PendingDestructors::default()),
    })?;
    ended.run();
    Ok(())
}

/// Releases the primary context of a device once.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such device; `INVALID_CONTEXT` if its primary context is not retained.
pub(crate) fn release(device: Device) -> Result {
    end(device, Primary::release)
}

export! {
    7000 fn cuDevicePrimaryCtxRetain(out as required: Out<Handle>, device: Device) {
        out.set(retain(device)?.handle)
    }

    7000 fn cuDevicePrimaryCtxRelease(device: Device), 11000 cuDevicePrimaryCtxRelease_v2 {
        release(device)
    }

    7000 fn cuDevicePrimaryCtxReset(device: Device), 11000 cuDevicePrimaryCtxReset_v2 {
        // The context is removed however often it was retained.
        end(device, |primary| Ok(primary.context.take()))
    }

    7000 fn cuDevicePrimaryCtxSetFlags(device: Device, flags: u32), 11000 cuDevicePrimaryCtxSetFlags_v2 {
        check_flags(flags)?;
        with_primary(device, |primary| {
            primary.flags = flags;
            if let Some(context) = &primary.context {
                context.flags.store(flags, Ordering::Relaxed);
            }
            Ok(())
        })
    }

    7000 fn cuDevicePrimaryCtxGetState(device: Device, flags: Out<u32>, active: Out<i32>) {
        with_primary(device, |primary| {
            flags.set(primary.flags)?;
            active.set(i32::from(primary.context.is_some()))
        })
    }

    3020 fn cuCtxCreate_v2(out: Out<Handle>, flags: u32, device: Device) {
        create(out, flags, device)
    }

    11040 fn cuCtxCreate_v3(
        out: Out<Handle>, _affinity: In<u8>, count: i32, flags: u32, device: Device,
    ) {
        if count != 0 {
            return Err(Code::UNSUPPORTED_EXEC_AFFINITY.into());
        }
        create(out, flags, device)
    }

    12050 fn cuCtxCreate_v4(
        out: Out<Handle>, parameters: In<[usize; 3]>, flags: u32, device: Device,
    ) {
        if !parameters.is_null() && parameters.get()?.iter().any(|word| *word != 0) {
            return Err(Code::NOT_SUPPORTED
                .because("affinity and graphics contexts are not emulated; pass null"));
        }
        create(out, flags, device)
    }

    4000 fn cuCtxDestroy_v2(context: Handle) {
        let context = if context == 0 {
            return Err(Code::INVALID_CONTEXT.because("the context is null"));
        } else {
            find(context)?
        };
        if with_primary(context.device as Device, |primary| Ok(primary.context.as_ref().is_some_and(|one| one.handle == context.handle)))? {
            return Err(Code::INVALID_CONTEXT
                .because("this is the primary context; release it with cuDevicePrimaryCtxRelease"));
        }
        if calling_thread::handle() == context.handle {
            calling_thread::pop();
        }
        driver()?.destroy_context(&context)?.run();
        Ok(())
    }

    4000 fn cuCtxPushCurrent_v2(context: Handle) {
        fail_if!(context == 0, INVALID_CONTEXT, "the context is null");
        // A context may have several handles, for example of green contexts. The pushed one becomes current.
        find(context)?;
        calling_thread::push(context);
        Ok(())
    }

    4000 fn cuCtxPopCurrent_v2(out: Out<Handle>) {
        let handle = calling_thread::pop().ok_or(Code::INVALID_CONTEXT)?;
        out.set_if_wanted(handle);
        Ok(())
    }

    4000 fn cuCtxSetCurrent(context: Handle) {
        if context != 0 {
            check_current(context)?;
        }
        calling_thread::set(context);
        Ok(())
    }

    4000 fn cuCtxGetCurrent(out: Out<Handle>) {
        out.set(calling_thread::handle())
    }

    2000 fn cuCtxGetDevice(device as required: Out<Device>) {
        device.set(calling_thread::context_of_any_state()?.device as Device)
    }

    13000 fn cuCtxGetDevice_v2(device as required: Out<Device>, context: Handle) {
        device.set(find(context)?.device as Device)
    }

    7000 fn cuCtxGetFlags(flags as required: Out<u32>) {
        flags.set(calling_thread::context()?.flags.load(Ordering::Relaxed))
    }

    12010 fn cuCtxSetFlags(flags: u32) {
        check_flags(flags)?;
        calling_thread::context()?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    12000 fn cuCtxGetId(context: Handle, id as required: Out<u64>) {
        id.set(find(context)?.id)
    }

    3020 fn cuCtxGetApiVersion(context: Handle, version as required: Out<u32>) {
        find(context)?;
        version.set(VERSION as u32)
    }

    2000 fn cuCtxSynchronize() {
        synchronize(&*calling_thread::context()?)
    }

    13000 fn cuCtxSynchronize_v2(context: Handle) {
        let context = find(context)?;
        context.check()?;
        synchronize(&context)
    }

    3010 fn cuCtxGetLimit(value as required: Out<usize>, limit: u32) {
        value.set(calling_thread::context()?.limit(limit)? as usize)
    }

    3010 fn cuCtxSetLimit(limit: u32, value: usize) {
        calling_thread::context()?.set_limit(limit, value as u64)
    }

    3020 fn cuCtxGetCacheConfig(config as required: Out<u32>) {
        config.set(calling_thread::context()?.cache.load(Ordering::Relaxed))
    }

    3020 fn cuCtxSetCacheConfig(config: u32) {
        fail_if!(config > 3, INVALID_VALUE, "there is no cache configuration {config}");
        calling_thread::context()?.cache.store(config, Ordering::Relaxed);
        Ok(())
    }

    4020 fn cuCtxGetSharedMemConfig(config as required: Out<u32>) {
        config.set(calling_thread::context()?.shared_banks.load(Ordering::Relaxed))
    }

    4020 fn cuCtxSetSharedMemConfig(config: u32) {
        fail_if!(config > 2, INVALID_VALUE, "there is no bank configuration {config}");
        // Banks of shared memory have had 4 bytes since compute capability 5.0, so the setting has no effect.
        calling_thread::context()?;
        Ok(())
    }

    5050 fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        calling_thread::context()?;
        least.set_if_wanted(PRIORITIES.0);
        greatest.set_if_wanted(PRIORITIES.1);
        Ok(())
    }

    11000 fn cuCtxResetPersistingL2Cache() {
        calling_thread::context().map(|_| ())
    }

    11040 fn cuCtxGetExecAffinity(_affinity: Out<u8>, _kind: i32) {
        Err(Code::UNSUPPORTED_EXEC_AFFINITY.into())
    }

    4000 fn cuCtxEnablePeerAccess(peer: Handle, flags: u32) {
        let context = calling_thread::context()?;
        let peer = find(peer)?;
        if flags != 0 || context.handle == peer.handle {
            return Err(Code::INVALID_VALUE
                .because("flags must be 0, and a context is not its own peer"));
        }
        context.set_peer(peer.device, true)
    }

    4000 fn cuCtxDisablePeerAccess(peer: Handle) {
        calling_thread::context()?.set_peer(find(peer)?.device, false)
    }

    2000 fn cuCtxAttach(out as required: Out<Handle>, _flags: u32) {
        out.set(calling_thread::context()?.handle)
    }

    2000 fn cuCtxDetach(context: Handle) {
        find(context).map(|_| ())
    }

    12050 fn cuCtxRecordEvent(context: Handle, event: Handle) {
        crate::api::event::record(event, &null_stream(context)?, 0)
    }

    12050 fn cuCtxWaitEvent(context: Handle, event: Handle) {
        crate::api::stream::wait_event(&null_stream(context)?, event, 0)
    }

    11030 fn cuFlushGPUDirectRDMAWrites(_target: i32, _scope: i32) {
        Err(Code::NOT_SUPPORTED.because("no other device writes to the emulated GPU"))
    }

    4000 fn cuProfilerStart(), 4000 cuProfilerStop {
        calling_thread::context().map(|_| ())
    }

    10010 fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        let new = capture::Mode::from_number(mode.get()?)?;
        mode.set(capture::exchange_mode(new) as u32)
    }
}

/// Called before memory is returned to the host. Waits for the work of all contexts that may use memory of the owner's
/// device (of all contexts if the owner is unknown). Contexts of other devices are not waited for, because their work
/// may depend on the caller's next call, as a collective does.
pub(crate) fn synchronize_users(owner: Option<Handle>) -> Result {
    let driver = driver()?;
    let contexts = &driver.contexts;
    let device = owner.and_then(|owner| contexts.get(owner)).map(|owner| owner.device);
    let may_use = |context: &Context| {
        device.is_none_or(|device| context.device == device || context.has_peer(device))
    };
    for context in contexts.all().into_iter().filter(|context| may_use(context)) {
        // If another thread has destroyed the context meanwhile, that thread has waited for the context's work.
        if let Ok(streams) = driver.streams_of(&context) {
            streams.synchronize();
        }
    }
    Ok(())
}
