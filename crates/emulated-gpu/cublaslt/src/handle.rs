//! Handles, versions, status texts.

use std::ffi::{c_char, c_int};

use c_abi::{Registry, export};
use emulated_blas::{Driver, Rejection, Status, driver};

use crate::ffi::Out;

/// `cublasLtHandle_t`: a number that is no address, so that a wrong one is found and never followed.
pub(crate) type Handle = usize;

/// The release that is imitated: cuBLASLt 12.9.1.
const VERSION: [c_int; 3] = [12, 9, 1];
/// cudaRuntimeGetVersion's number for it.
const CUDART_VERSION: usize = 12090;

/// Handles look like no address a program might have.
static HANDLES: Registry<()> = Registry::new(0x31a6_0000_0000_0000);

fn unknown(handle: Handle) -> Rejection {
    let what = if handle == 0 { "null" } else { "not a living one" };
    Rejection::uninitialized(format!("lightHandle is {what}; make one with cublasLtCreate"))
}

/// Requires a handle; returns the driver, with a context for the calling thread.
pub(crate) fn open(handle: Handle) -> Result<&'static Driver, Rejection> {
    HANDLES.get(handle).ok_or_else(|| unknown(handle))?;
    let driver = driver()?;
    driver.bind()?;
    Ok(driver)
}

export! {
    /// Makes a handle.
    fn cublasLtCreate(handle: Out<'_, Handle>) {
        driver()?.bind()?;
        handle.required_as("lightHandle")?;
        handle.set(HANDLES.insert(()))
    }

    /// Destroys a handle. Work that was queued with it goes on.
    fn cublasLtDestroy(handle: Handle) {
        HANDLES.remove(handle).map(drop).ok_or_else(|| unknown(handle))
    }

    /// A part of the version: 0 major, 1 minor, 2 patch.
    fn cublasLtGetProperty(property: c_int, value: Out<'_, c_int>) {
        let part = usize::try_from(property).ok().and_then(|part| VERSION.get(part));
        let part = part.ok_or_else(|| Rejection::invalid(format!("type is {property}, which is none")));
        value.set_as(*part?, "value")
    }

    /// How many answers of the heuristic are remembered. It is asked anew each time here.
    fn cublasLtHeuristicsCacheGetCapacity(capacity: Out<'_, usize>) {
        capacity.set_as(0, "capacity")
    }

    /// Without effect: the heuristic costs nothing here.
    fn cublasLtHeuristicsCacheSetCapacity(capacity: usize) {
        let _ = capacity;
        Ok(())
    }
}

/// The release that is imitated.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetVersion() -> usize {
    let [major, minor, patch] = VERSION;
    (major * 10_000 + minor * 100 + patch) as usize
}

/// The runtime that the imitated release was built with.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetCudartVersion() -> usize {
    CUDART_VERSION
}

/// The name of a status.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetStatusName(status: c_int) -> *const c_char {
    Status::name_of(status).as_ptr()
}

/// What a status means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetStatusString(status: c_int) -> *const c_char {
    Status::description_of(status).as_ptr()
}

/// Without effect; returns the mask before, which was 0.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtDisableCpuInstructionsSetMask(_mask: u32) -> u32 {
    0
}
