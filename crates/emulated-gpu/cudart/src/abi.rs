//! The runtime's structures in the layout of its `driver_types.h`, and the driver's structures built from them.

pub(crate) mod texture;

pub(crate) use c_abi::{Copy3d as DriverCopy3D, Side3d as DriverSide};

/// `dim3`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

/// `cudaExtent`, and `cudaPos`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `cudaPitchedPtr`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PitchedPointer {
    pub(crate) address: usize,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `cudaMemcpy3DParms`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copy3D {
    pub(crate) from_array: usize,
    pub(crate) from_at: Extent,
    pub(crate) from: PitchedPointer,
    pub(crate) to_array: usize,
    pub(crate) to_at: Extent,
    pub(crate) to: PitchedPointer,
    pub(crate) extent: Extent,
    pub(crate) kind: i32,
}

/// `cudaLaunchConfig_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: usize,
    pub(crate) stream: usize,
    pub(crate) attributes: usize,
    pub(crate) count: u32,
}

/// The driver's `CUlaunchConfig`. Launch attributes have the same layout in both APIs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverLaunchConfig {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: u32,
    pub(crate) stream: usize,
    pub(crate) attributes: usize,
    pub(crate) count: u32,
}

/// `cudaKernelNodeParams`. The first version of the driver's `CUDA_KERNEL_NODE_PARAMS` has the same layout; there,
/// `function` is the driver's handle of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelNode {
    pub(crate) function: usize,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared: u32,
    pub(crate) parameters: usize,
    pub(crate) extra: usize,
}

/// `cudaFuncAttributes`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FunctionAttributes {
    pub(crate) shared: usize,
    pub(crate) constant: usize,
    pub(crate) local: usize,
    /// The attributes that have the numbers 0 and 4 to 15 in the driver.
    pub(crate) numbers: [i32; 13],
    pub(crate) reserved: [i32; 16],
}

/// `cudaPointerAttributes` without the reserved fields that CUDA 13 appends.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PointerAttributes {
    pub(crate) kind: i32,
    pub(crate) device: i32,
    pub(crate) device_pointer: usize,
    pub(crate) host_pointer: usize,
}

/// Replaces stream 0 by the per-thread default stream, for the `_ptds` and `_ptsz` functions.
pub(crate) fn per_thread(stream: usize) -> usize {
    /// `cudaStreamPerThread`
    const PER_THREAD: usize = 2;
    if stream == 0 { PER_THREAD } else { stream }
}
