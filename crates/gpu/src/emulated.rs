//! Makes the emulated driver the one that cudarc opens.
#![allow(unsafe_code, reason = "loading a library runs its initialisers")]

use libloading::Library;

use crate::library::reason;
use crate::{GpuError, Result};

/// Loads the emulated driver. Its SONAME is `libcuda.so`, so glibc answers the next
/// `dlopen("libcuda.so")`, which is cudarc's first, with it, even where a real one is installed.
///
/// # Errors
/// When its library is missing.
pub(crate) fn install() -> Result<()> {
    let path = emulated_cuda::library_path()
        .map_err(|error| GpuError::NoEmulator { reason: error.to_string() })?;
    // SAFETY: the library is this workspace's own, and has no initialisers.
    let library = unsafe { Library::new(&path) }
        .map_err(|error| GpuError::NoEmulator { reason: reason(&error) })?;
    // cudarc takes it for good.
    std::mem::forget(library);
    Ok(())
}
