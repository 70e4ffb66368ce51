//! Which device a thread uses: the one of the driver's current context where there is one, as programs
//! mix both APIs, and else the one that `cudaSetDevice` named, at first device 0. Its primary context
//! is retained, and made current, when it is first needed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use c_abi::Code;

use crate::driver;
use crate::ffi::Result;
use crate::registry;

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// The context that this library made current last. Another one is the program's choice.
    static BOUND: Cell<usize> = const { Cell::new(0) };
}

/// The primary contexts that have been retained, by device: once for all threads.
static RETAINED: Mutex<BTreeMap<i32, usize>> = Mutex::new(BTreeMap::new());

/// The driver is ready.
pub(crate) fn start() -> Result {
    driver::cuInit(0)
}

/// The calling thread has a context.
pub(crate) fn bind() -> Result {
    start()?;
    let mut context = 0;
    driver::cuCtxGetCurrent(&mut context)?;
    // A thread may have reset the device of another's.
    if context == 0 || (context == BOUND.get() && !is_retained(context)) {
        make_current(primary(DEVICE.get())?)?;
    }
    Ok(())
}

/// The context that copies and fills of a graph are in: the calling thread's.
pub(crate) fn current() -> Result<usize> {
    bind()?;
    let mut context = 0;
    driver::cuCtxGetCurrent(&mut context)?;
    Ok(context)
}

fn make_current(context: usize) -> Result {
    driver::cuCtxSetCurrent(context)?;
    BOUND.set(context);
    Ok(())
}

fn is_retained(context: usize) -> bool {
    let retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    retained.values().any(|one| *one == context)
}

/// The primary context of a device.
pub(crate) fn primary(device: i32) -> Result<usize> {
    check(device)?;
    let mut retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = retained.get(&device) {
        return Ok(*context);
    }
    let mut context = 0;
    driver::cuDevicePrimaryCtxRetain(&mut context, device)?;
    retained.insert(device, context);
    Ok(context)
}

/// How many devices there are.
pub(crate) fn count() -> Result<i32> {
    start()?;
    let mut count = 0;
    driver::cuDeviceGetCount(&mut count)?;
    Ok(count)
}

fn check(device: i32) -> Result {
    let count = count()?;
    if (0..count).contains(&device) {
        return Ok(());
    }
    Err(Code::INVALID_DEVICE.because(format!(
        "there is no device {device}: there are {count} (EMULATED_GPU_DEVICES says how many)"
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
    start()?;
    let mut context = 0;
    driver::cuCtxGetCurrent(&mut context)?;
    if context == 0 {
        return Ok(DEVICE.get());
    }
    let mut device = 0;
    driver::cuCtxGetDevice(&mut device)?;
    Ok(device)
}

/// `cudaDeviceReset`: what the thread's device has is gone, and comes new when it is next needed.
pub(crate) fn reset() -> Result {
    let device = device()?;
    let mut retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    driver::cuDevicePrimaryCtxReset_v2(device)?;
    driver::cuCtxSetCurrent(0)?;
    DEVICE.set(device);
    retained.remove(&device);
    // The code of a program is loaded once for all devices: its variables are as they were written
    // when the last of them is reset.
    if retained.is_empty() {
        registry::unload()?;
    }
    Ok(())
}
