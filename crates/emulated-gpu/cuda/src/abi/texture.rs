//! C's structures for arrays, textures and surfaces (the layouts are those of CUDA's `cuda.h`).

use std::ffi::{c_int, c_uint};

pub(crate) use c_abi::TextureDescription;

use crate::abi::{Handle, Pointer};

/// `CUDA_ARRAY_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrayDescription {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// `CUarray_format`
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Array3dDescription {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    /// `CUarray_format`
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
    pub(crate) flags: c_uint,
}

/// `CUDA_RESOURCE_DESC`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ResourceDescription {
    /// `CUresourcetype`
    pub(crate) kind: c_int,
    pub(crate) resource: ResourceUnion,
    pub(crate) flags: c_uint,
}

/// The union in `CUDA_RESOURCE_DESC`, of 128 bytes; the field `kind` selects the valid member.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union ResourceUnion {
    pub(crate) array: Handle,
    pub(crate) linear: LinearResource,
    pub(crate) pitched: PitchedResource,
    pub(crate) reserved: [c_int; 32],
}

/// Memory used as a one-dimensional array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearResource {
    pub(crate) address: Pointer,
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
    pub(crate) bytes: usize,
}

/// Memory used as a two-dimensional array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PitchedResource {
    pub(crate) address: Pointer,
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pitch: usize,
}

/// `CUDA_RESOURCE_VIEW_DESC`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewDescription {
    /// `CUresourceViewFormat`
    pub(crate) format: c_uint,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) first_level: c_uint,
    pub(crate) last_level: c_uint,
    pub(crate) first_layer: c_uint,
    pub(crate) last_layer: c_uint,
    pub(crate) reserved: [c_uint; 16],
}
