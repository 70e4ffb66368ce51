//! The settings of a handle, versions, and status texts.

use std::ffi::{c_char, c_int, c_void};

use c_abi::export;
use emulated_blas::{PointerMode, Rejection, Result, Status, StreamHandle, check_range, reject_if};

use crate::ffi::Out;
use crate::handle::{Handle, change_settings, open, settings};

/// The emulated release: cuBLAS 12.9.1.
const VERSION: [c_int; 3] = [12, 9, 1];
/// The CUDA runtime of that release, as `cudaRuntimeGetVersion` encodes it.
const CUDART_VERSION: usize = 12090;
/// The required alignment of a workspace (cuBLAS documentation, `cublasSetWorkspace`).
const WORKSPACE_ALIGNMENT: u64 = 256;

fn check_choice(value: c_int, choices: &[c_int], what: &str) -> Result {
    if choices.contains(&value) {
        return Ok(());
    }
    Err(Rejection::invalid(format!("{what} is {value}, which is not one of {choices:?}")))
}

export! {
    /// Sets the stream of later calls, and resets the workspace to the library's own.
    fn cublasSetStream_v2(handle: Handle, stream: StreamHandle) {
        let (_, driver) = open(handle)?;
        reject_if!(!driver.is_valid_stream(stream), invalid, "streamId {:#x} is not a stream", stream.0);
        change_settings(handle, |settings| settings.stream = stream)
    }

    /// Returns the handle's stream.
    fn cublasGetStream_v2(handle: Handle, stream: Out<'_, StreamHandle>) {
        stream.set_as(settings(handle)?.stream, "streamId")
    }

    /// Checks a workspace. It isn't used, because the library needs none.
    fn cublasSetWorkspace_v2(handle: Handle, workspace: *mut c_void, size: usize) {
        let (_, driver) = open(handle)?;
        let address = workspace as u64;
        if !address.is_multiple_of(WORKSPACE_ALIGNMENT) {
            return Err(Rejection::invalid(format!(
                "workspace is at {address:#x}, which is not a multiple of {WORKSPACE_ALIGNMENT}"
            )));
        }
        if address == 0 {
            return Ok(());
        }
        check_range(driver, "workspace", address, size as u64)
    }

    /// Sets whether scalars are in host or device memory.
    fn cublasSetPointerMode_v2(handle: Handle, mode: c_int) {
        check_choice(mode, &[0, 1], "mode")?;
        let mode = if mode == 0 { PointerMode::Host } else { PointerMode::Device };
        change_settings(handle, |settings| settings.pointer_mode = mode)
    }

    /// Returns whether scalars are in host or device memory.
    fn cublasGetPointerMode_v2(handle: Handle, mode: Out<'_, c_int>) {
        mode.set_as(settings(handle)?.pointer_mode as c_int, "mode")
    }

    /// Sets the math mode of single precision (`cublasMath_t`).
    fn cublasSetMathMode(handle: Handle, mode: c_int) {
        let plain = mode & !16;
        check_choice(plain, &[0, 1, 2, 3, 4, 8], "mode (without the flag 16)")?;
        change_settings(handle, |settings| settings.math_mode = mode)
    }

    /// Returns the math mode.
    fn cublasGetMathMode(handle: Handle, mode: Out<'_, c_int>) {
        mode.set_as(settings(handle)?.math_mode, "mode")
    }

    /// Sets whether atomics may make results depend on their order; here they never do.
    fn cublasSetAtomicsMode(handle: Handle, mode: c_int) {
        check_choice(mode, &[0, 1], "mode")?;
        change_settings(handle, |settings| settings.atomics_mode = mode)
    }

    /// Returns the atomics mode.
    fn cublasGetAtomicsMode(handle: Handle, mode: Out<'_, c_int>) {
        mode.set_as(settings(handle)?.atomics_mode, "mode")
    }

    /// Stores the number of multiprocessors to use; it has no effect.
    fn cublasSetSmCountTarget(handle: Handle, count: c_int) {
        reject_if!(count < 0, invalid, "smCountTarget is {count}: it must not be negative");
        change_settings(handle, |settings| settings.sm_count_target = count)
    }

    /// Returns the number of multiprocessors to use.
    fn cublasGetSmCountTarget(handle: Handle, count: Out<'_, c_int>) {
        count.set_as(settings(handle)?.sm_count_target, "smCountTarget")
    }

    /// Returns the emulated release. As in NVIDIA's library, the handle is ignored.
    fn cublasGetVersion_v2(handle: Handle, version: Out<'_, c_int>) {
        let _ = handle;
        let [major, minor, patch] = VERSION;
        version.set_as(major * 10_000 + minor * 100 + patch, "version")
    }

    /// Returns a part of the version: 0 is major, 1 minor, 2 patch.
    fn cublasGetProperty(property: c_int, value: Out<'_, c_int>) {
        check_choice(property, &[0, 1, 2], "type")?;
        value.set_as(VERSION[property as usize], "value")
    }
}

/// The CUDA runtime version with which the emulated release was built.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasGetCudartVersion() -> usize {
    CUDART_VERSION
}

/// The name of a status.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasGetStatusName(status: c_int) -> *const c_char {
    Status::name_of(status).as_ptr()
}

/// The description of a status.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasGetStatusString(status: c_int) -> *const c_char {
    Status::description_of(status).as_ptr()
}
