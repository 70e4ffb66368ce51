//! Handles, versions, status texts.

use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use emulated_blas::{Driver, Rejection, Status, driver};

use crate::ffi::{export, put};

/// `cublasLtHandle_t`: a number that is no address, so that a wrong one is found and never followed.
pub(crate) type Handle = *mut c_void;

/// The release that is imitated: cuBLASLt 12.9.1.
const VERSION: [c_int; 3] = [12, 9, 1];
/// cudaRuntimeGetVersion's number for it.
const CUDART_VERSION: usize = 12090;

fn handles() -> MutexGuard<'static, HashSet<usize>> {
    static HANDLES: OnceLock<Mutex<HashSet<usize>>> = OnceLock::new();
    HANDLES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown(handle: Handle) -> Rejection {
    let what = if handle.is_null() { "null" } else { "not a living one" };
    Rejection::uninitialized(format!("lightHandle is {what}; make one with cublasLtCreate"))
}

/// Requires a handle; returns the driver, with a context for the calling thread.
pub(crate) fn open(handle: Handle) -> Result<&'static Driver, Rejection> {
    if !handles().contains(&(handle as usize)) {
        return Err(unknown(handle));
    }
    let driver = driver()?;
    driver.bind()?;
    Ok(driver)
}

export! {
    /// Makes a handle.
    fn cublasLtCreate(handle: *mut Handle) {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        driver()?.bind()?;
        if handle.is_null() {
            return Err(Rejection::invalid("lightHandle is a null pointer"));
        }
        // Numbers that look like no address a program might have, and are never used again.
        let number = NEXT.fetch_add(1, Ordering::Relaxed) << 4 | 0x31a6_0000_0000_0000;
        handles().insert(number);
        put(handle, number as Handle, "lightHandle")
    }

    /// Destroys a handle. Work that was queued with it goes on.
    fn cublasLtDestroy(handle: Handle) {
        if handles().remove(&(handle as usize)) { Ok(()) } else { Err(unknown(handle)) }
    }

    /// A part of the version: 0 major, 1 minor, 2 patch.
    fn cublasLtGetProperty(property: c_int, value: *mut c_int) {
        let part = usize::try_from(property).ok().and_then(|part| VERSION.get(part));
        let part = part.ok_or_else(|| Rejection::invalid(format!("type is {property}, which is none")));
        put(value, *part?, "value")
    }

    /// How many answers of the heuristic are remembered. It is asked anew each time here.
    fn cublasLtHeuristicsCacheGetCapacity(capacity: *mut usize) {
        put(capacity, 0, "capacity")
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
