//! What cuBLAS and cuBLASLt have in common.
#![allow(unsafe_code, reason = "loading a library runs its initialisers")]

use std::fmt::Display;
use std::path::PathBuf;

use cudarc::driver::sys::CUdevice_attribute;
use gpu::{Gpu, GpuError};

use crate::error::Result;

/// Has cudarc find a library: NVIDIA's on its GPU, and this workspace's, at `emulated`, on the emulated
/// GPU.
pub(crate) fn install(
    gpu: &Gpu,
    library: &str,
    emulated: Result<PathBuf, impl Display>,
) -> Result<()> {
    let emulated = match emulated {
        Ok(path) => path,
        // It isn't looked at there.
        Err(_) if !gpu.is_emulated() => PathBuf::new(),
        Err(missing) => return Err(GpuError::NoEmulator { reason: missing.to_string() }.into()),
    };
    // SAFETY: it is this workspace's library, which stands in for NVIDIA's of that name.
    Ok(unsafe { gpu.install_library(library, &emulated) }?)
}

/// The bytes that a library may compute in: what NVIDIA recommends (cuBLAS documentation,
/// `cublasSetWorkspace`), 32 MiB from compute capability 9.0 on, and 4 MiB before.
pub(crate) fn workspace(gpu: &Gpu) -> Result<usize> {
    let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    Ok(if gpu.context().attribute(major)? >= 9 { 32 << 20 } else { 4 << 20 })
}
