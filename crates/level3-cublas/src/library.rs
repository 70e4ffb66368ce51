//! What cuBLAS and cuBLASLt have in common.

use cudarc::driver::sys::CUdevice_attribute;
use gpu::Gpu;

use crate::error::Result;

/// The bytes that a library may compute in: what NVIDIA recommends (cuBLAS documentation,
/// `cublasSetWorkspace`), 32 MiB from compute capability 9.0 on, and 4 MiB before.
pub(crate) fn workspace(gpu: &Gpu) -> Result<usize> {
    let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    Ok(if gpu.context().attribute(major)? >= 9 { 32 << 20 } else { 4 << 20 })
}
