//! The driver calls that only NCCL needs (contexts, memory, events); `emulated_blas` has all other
//! driver calls.

use std::ffi::{c_int, c_void};

use c_abi::{DriverError, driver_functions};

use crate::ffi::{Code, Error, Result};

/// A `CUcontext`.
pub(crate) type Context = usize;
/// A `CUevent`.
type Event = usize;
/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;

driver_functions! {
    DriverError;
    safe {
        cuCtxGetCurrent(context: &mut Context);
        cuCtxGetDevice(device: &mut c_int);
        cuCtxPushCurrent_v2(context: Context);
        cuCtxPopCurrent_v2(context: &mut Context);
        cuDevicePrimaryCtxRetain(context: &mut Context, device: c_int);
        cuDeviceGetCount(count: &mut c_int);
        cuMemAlloc_v2(address: &mut u64, bytes: usize);
        cuEventCreate(event: &mut Event, flags: u32);
        cuEventRecord(event: Event, stream: usize);
        cuEventDestroy_v2(event: Event);
        cuStreamWaitEvent(stream: usize, event: Event, flags: u32);
    }
    unsafe {
        cuMemFree_v2(address: u64);
    }
}

fn check_driver_call(called: Result<(), DriverError>, what: &str) -> Result {
    called.map_err(|error| match error {
        DriverError::NotCalled(fault) => fault.into(),
        DriverError::Code(_) => Error::new(Code::UnhandledCuda, format!("{what}: {error}")),
    })
}

/// The calling thread's context and its device. If no context is current, the first device's
/// primary context becomes current, as in the CUDA runtime.
pub(crate) fn current() -> Result<(Context, i32)> {
    emulated_blas::driver()?.ensure_context()?;
    let (mut context, mut device) = (0, 0);
    check_driver_call(cuCtxGetCurrent(&mut context), "the thread's context")?;
    check_driver_call(cuCtxGetDevice(&mut device), "the context's device")?;
    Ok((context, device))
}

/// The primary context of a device.
pub(crate) fn primary(device: i32) -> Result<Context> {
    let mut context = 0;
    check_driver_call(cuDevicePrimaryCtxRetain(&mut context, device), &format!("device {device}"))?;
    Ok(context)
}

/// The number of devices.
pub(crate) fn devices() -> Result<i32> {
    // Loads and initialises the driver if necessary.
    emulated_blas::driver()?;
    let mut count = 0;
    check_driver_call(cuDeviceGetCount(&mut count), "the number of devices")?;
    Ok(count)
}

/// Runs `body` with a context as the current one.
pub(crate) fn with_context<T>(context: Context, body: impl FnOnce() -> Result<T>) -> Result<T> {
    check_driver_call(cuCtxPushCurrent_v2(context), "the communicator's context")?;
    let done = body();
    // Popping only undoes the push above; its result doesn't matter.
    let _ = cuCtxPopCurrent_v2(&mut 0);
    done
}

/// Makes later work in the stream `to` wait for the work that is pending in the stream `from`.
///
/// # Errors
/// `ncclUnhandledCudaError` if `to` or `from` is not a stream of the current context.
pub(crate) fn order_streams(from: usize, to: usize) -> Result {
    let mut event = 0;
    check_driver_call(cuEventCreate(&mut event, DISABLE_TIMING), "an event")?;
    let recorded = check_driver_call(cuEventRecord(event, from), "an event of a stream");
    let waits = recorded
        .and_then(|()| check_driver_call(cuStreamWaitEvent(to, event, 0), "waiting for a stream"));
    // The driver keeps the event until no stream waits for it any more.
    let _ = cuEventDestroy_v2(event);
    waits
}

/// Allocates device memory.
pub(crate) fn allocate(size: usize) -> Result<u64> {
    let mut address = 0;
    check_driver_call(cuMemAlloc_v2(&mut address, size), &format!("{size} bytes"))?;
    Ok(address)
}

/// Frees device memory.
///
/// # Errors
/// `ncclUnhandledCudaError` if no allocation begins there.
///
/// # Safety
/// Nothing uses the memory any more.
pub(crate) unsafe fn free(address: *mut c_void) -> Result {
    // SAFETY: nothing uses the memory, as the caller promises; the driver checks the address.
    check_driver_call(unsafe { cuMemFree_v2(address as u64) }, &format!("freeing {address:?}"))
}
