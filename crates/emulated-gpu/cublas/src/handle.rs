//! Handles and their settings.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use c_abi::{Registry, export};
use emulated_blas::{
    Compute, Driver, InputRounding, PointerMode, Rejection, Result, StreamHandle, driver,
};

use crate::ffi::Out;

/// The handle `cublasHandle_t`, which is a number here, not an address, so that an invalid handle
/// is detected and never dereferenced.
pub(crate) type Handle = usize;

/// The settings of a handle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) stream: StreamHandle,
    pub(crate) pointer_mode: PointerMode,
    /// `cublasMath_t`
    pub(crate) math_mode: c_int,
    /// `cublasAtomicsMode_t`; it has no effect, because this library uses no atomics.
    pub(crate) atomics_mode: c_int,
    /// The number of multiprocessors to use; it has no effect.
    pub(crate) sm_count_target: c_int,
}

/// `CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`, which is added to a math mode.
const DISALLOW_REDUCED_PRECISION_REDUCTION: c_int = 16;

impl Settings {
    /// The compute type of functions for single precision, whose names contain `S` or `C`.
    pub(crate) fn single_precision(&self) -> Compute {
        match self.math_mode & !DISALLOW_REDUCED_PRECISION_REDUCTION {
            // CUBLAS_TENSOR_OP_MATH, which is CUBLAS_COMPUTE_32F_FAST_16F.
            1 => Compute::F32(InputRounding::F16),
            // CUBLAS_TF32_TENSOR_OP_MATH, which is CUBLAS_COMPUTE_32F_FAST_TF32.
            3 => Compute::from_code(77).unwrap_or(Compute::F32(InputRounding::Full)),
            _ => Compute::F32(InputRounding::Full),
        }
    }
}

/// All handles. They are numbers that don't look like addresses.
static HANDLES: Registry<Mutex<Settings>> = Registry::new(0x31a5_0000_0000_0000);

fn unknown_handle(handle: Handle) -> Rejection {
    let what = if handle == 0 { "null" } else { "not valid" };
    Rejection::uninitialized(format!("the handle is {what}; create one with cublasCreate_v2"))
}

/// A copy of a handle's current settings.
pub(crate) fn settings(handle: Handle) -> Result<Settings> {
    let mut settings = Settings::default();
    change_settings(handle, |stored| settings = *stored)?;
    Ok(settings)
}

/// A handle's settings, and the driver with a context for the calling thread.
pub(crate) fn open(handle: Handle) -> Result<(Settings, &'static Driver)> {
    let settings = settings(handle)?;
    let driver = driver()?;
    driver.ensure_context()?;
    Ok((settings, driver))
}

/// Changes the settings of a handle.
pub(crate) fn change_settings(handle: Handle, change: impl FnOnce(&mut Settings)) -> Result {
    let settings = HANDLES.get(handle).ok_or_else(|| unknown_handle(handle))?;
    change(&mut settings.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

export! {
    /// Creates a handle.
    fn cublasCreate_v2(handle: Out<'_, Handle>) {
        driver()?.ensure_context()?;
        handle.require_as("handle")?;
        handle.set(HANDLES.insert(Mutex::default()))
    }

    /// Waits until the handle's work is done, and destroys it.
    fn cublasDestroy_v2(handle: Handle) {
        let settings = settings(handle)?;
        HANDLES.remove(handle).ok_or_else(|| unknown_handle(handle))?;
        // If earlier work failed, later calls on the stream report that; destroying the handle
        // succeeds.
        if let Ok(driver) = driver()
            && driver.ensure_context().is_ok()
        {
            let _ = driver.synchronize(settings.stream);
        }
        Ok(())
    }
}
