//! The device that a thread uses. If the driver has a current context, it is that context's device, because programs
//! mix both APIs. Otherwise it is the device last passed to `cudaSetDevice`, by default device 0; its primary context
//! is retained and made current on first use.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use c_abi::Code;

use crate::driver;
use crate::ffi::Result;
use crate::registry;

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// The context that this library last made current. If another context is current, the program has made it current.
    static BOUND_CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// The retained primary contexts by device; all threads share them.
static RETAINED_CONTEXTS: Mutex<BTreeMap<i32, usize>> = Mutex::new(BTreeMap::new());

/// Initialises the driver.
pub(crate) fn start_driver() -> Result {
    driver::cuInit(0)
}

/// Ensures that the calling thread has a current context.
pub(crate) fn bind_context() -> Result {
    start_driver()?;
    let mut context = 0;
    driver::cuCtxGetCurrent(&mut context)?;
    // The context may be gone, because another thread has reset the device.
    if context == 0 || (context == BOUND_CONTEXT.get() && !is_retained(context)) {
        make_current(primary(DEVICE.get())?)?;
    }
    Ok(())
}

/// The calling thread's context, in which the copies and fills of a graph run.
pub(crate) fn current() -> Result<usize> {
    bind_context()?;
    let mut context = 0;
    driver::cuCtxGetCurrent(&mut context)?;
    Ok(context)
}

fn make_current(context: usize) -> Result {
    driver::cuCtxSetCurrent(context)?;
    BOUND_CONTEXT.set(context);
    Ok(())
}

fn is_retained(context: usize) -> bool {
    let retained = RETAINED_CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    retained.values().any(|bound| *bound == context)
}

/// The primary context of a device, retained on first use.
pub(crate) fn primary(device: i32) -> Result<usize> {
    check_device(device)?;
    let mut retained = RETAINED_CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = retained.get(&device) {
        return Ok(*context);
    }
    let mut context = 0;
    driver::cuDevicePrimaryCtxRetain(&mut context, device)?;
    retained.insert(device, context);
    Ok(context)
}

/// The number of devices.
pub(crate) fn device_count() -> Result<i32> {
    start_driver()?;
    let mut count = 0;
    driver::cuDeviceGetCount(&mut count)?;
    Ok(count)
}

fn check_device(device: i32) -> Result {
    let count = device_count()?;
    if (0..count).contains(&device) {
        return Ok(());
    }
    Err(Code::INVALID_DEVICE.because(format!(
        "device {device} is invalid: there are {count} devices; EMULATED_GPU_DEVICES sets their number"
    )))
}

/// `cudaSetDevice`
pub(crate) fn set_device(device: i32) -> Result {
    make_current(primary(device)?)?;
    DEVICE.set(device);
    Ok(())
}

/// `cudaGetDevice`
pub(crate) fn device() -> Result<i32> {
    start_driver()?;
    let mut context = 0;
    driver::cuCtxGetCurrent(&mut context)?;
    if context == 0 {
        return Ok(DEVICE.get());
    }
    let mut device = 0;
    driver::cuCtxGetDevice(&mut device)?;
    Ok(device)
}

/// `cudaDeviceReset`: destroys the context of the current device; the next use creates a new one.
pub(crate) fn reset() -> Result {
    let device = device()?;
    let mut retained = RETAINED_CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    driver::cuDevicePrimaryCtxReset_v2(device)?;
    driver::cuCtxSetCurrent(0)?;
    DEVICE.set(device);
    retained.remove(&device);
    // All devices share one loaded copy of the program's code, so the variables only get their initial values back when
    // the last device is reset.
    if retained.is_empty() {
        registry::unload()?;
    }
    Ok(())
}
