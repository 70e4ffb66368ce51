//! Structures of CUDA's `cuda.h` that the emulated driver takes, and the emulated runtime makes.

use std::ffi::{c_int, c_uint};

/// One end of a `CUDA_MEMCPY3D`: its fields that begin with `src`, or with `dst`. A `CUDA_MEMCPY3D_PEER` has a
/// context in place of the reserved word.
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
#[expect(missing_docs, reason = "the ends, and the extent of both")]
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
    /// `CUaddress_mode`, of x, y and z.
    pub address: [c_uint; 3],
    /// `CUfilter_mode`
    pub filter: c_uint,
    /// `CU_TRSF_…`
    pub flags: c_uint,
    pub anisotropy: c_uint,
    pub mipmap_filter: c_uint,
    pub mipmap_bias: f32,
    pub mipmap_least: f32,
    pub mipmap_most: f32,
    pub border: [f32; 4],
    pub reserved: [c_int; 12],
}
