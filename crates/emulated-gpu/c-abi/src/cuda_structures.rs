//! Structures of CUDA's `cuda.h` that the emulated runtime fills in for the driver.

use std::ffi::{c_int, c_uint};

/// The source or the destination of a `CUDA_MEMCPY3D`: its fields with the prefix `src` or `dst`. A
/// `CUDA_MEMCPY3D_PEER` has a context where the other structure has a reserved word.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are named as in cuda.h, in lower case")]
pub struct Side3d {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub kind: c_int,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub context: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "source, destination and extent")]
pub struct Copy3d {
    pub from: Side3d,
    pub to: Side3d,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `CUDA_TEXTURE_DESC`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are named as in cuda.h")]
pub struct TextureDescription {
    /// The address modes (`CUaddress_mode`) for x, y and z.
    pub address: [c_uint; 3],
    /// `CUfilter_mode`
    pub filter: c_uint,
    /// `CU_TRSF_…`
    pub flags: c_uint,
    pub anisotropy: c_uint,
    pub mipmap_filter: c_uint,
    pub mipmap_bias: f32,
    pub mipmap_min: f32,
    pub mipmap_max: f32,
    pub border: [f32; 4],
    pub reserved: [c_int; 12],
}
