//! Handles, versions and status texts.

use std::ffi::{c_char, c_int};

use c_abi::{Registry, export};
use emulated_blas::{Driver, Rejection, Result, Status, driver};

use crate::ffi::Out;

/// The handle `cublasLtHandle_t`, which is a number here, not an address, so that an invalid handle
/// is detected and never dereferenced.
pub(crate) type Handle = usize;

/// The emulated release: cuBLASLt 12.9.1.
const VERSION: [c_int; 3] = [12, 9, 1];
/// The CUDA runtime of that release, as `cudaRuntimeGetVersion` encodes it.
const CUDART_VERSION: usize = 12090;

/// All handles. They are numbers that don't look like addresses.
static HANDLES: Registry<()> = Registry::new(0x31a6_0000_0000_0000);

fn unknown_handle(handle: Handle) -> Rejection {
    let what = if handle == 0 { "null" } else { "not valid" };
    Rejection::uninitialized(format!("lightHandle is {what}; create one with cublasLtCreate"))
}

/// Checks a handle, and returns the driver with a context for the calling thread.
pub(crate) fn open(handle: Handle) -> Result<&'static Driver> {
    HANDLES.get(handle).ok_or_else(|| unknown_handle(handle))?;
    let driver = driver()?;
    driver.ensure_context()?;
    Ok(driver)
}

export! {
    /// Creates a handle.
    fn cublasLtCreate(handle: Out<'_, Handle>) {
        driver()?.ensure_context()?;
        handle.require_as("lightHandle")?;
        handle.set(HANDLES.insert(()))
    }

    /// Destroys a handle; work that was enqueued with it continues.
    fn cublasLtDestroy(handle: Handle) {
        HANDLES.remove(handle).map(drop).ok_or_else(|| unknown_handle(handle))
    }

    /// Returns a part of the version: 0 is major, 1 minor, 2 patch.
    fn cublasLtGetProperty(property: c_int, value: Out<'_, c_int>) {
        let part = usize::try_from(property).ok().and_then(|part| VERSION.get(part));
        let part = part.ok_or_else(|| Rejection::invalid(format!("type is {property}, which is not a libraryPropertyType")));
        value.set_as(*part?, "value")
    }

    /// Returns the capacity of the heuristic's cache: 0, because nothing is cached.
    fn cublasLtHeuristicsCacheGetCapacity(capacity: Out<'_, usize>) {
        capacity.set_as(0, "capacity")
    }

    /// Sets the capacity of the heuristic's cache, which has no effect, because nothing is cached.
    fn cublasLtHeuristicsCacheSetCapacity(capacity: usize) {
        let _ = capacity;
        Ok(())
    }
}

/// Returns the emulated release.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetVersion() -> usize {
    let [major, minor, patch] = VERSION;
    (major * 10_000 + minor * 100 + patch) as usize
}

/// The CUDA runtime version with which the emulated release was built.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetCudartVersion() -> usize {
    CUDART_VERSION
}

/// The name of a status.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetStatusName(status: c_int) -> *const c_char {
    Status::name_of(status).as_ptr()
}

/// The description of a status.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetStatusString(status: c_int) -> *const c_char {
    Status::description_of(status).as_ptr()
}

/// Sets the mask of CPU instructions, which has no effect. Returns the previous mask, which is
/// always 0.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtDisableCpuInstructionsSetMask(_mask: u32) -> u32 {
    0
}
