//! Structures for arrays, textures and surfaces: the runtime's, and the driver's structures built from them.

pub(crate) use c_abi::TextureDescription as DriverTexture;

use super::Extent;

/// `cudaChannelFormatDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    /// The number of bits of each channel: x, y, z and w.
    pub(crate) bits: [i32; 4],
    /// `cudaChannelFormatKind`
    pub(crate) kind: i32,
}

/// `cudaResourceDesc` without the fields that CUDA 13 appends.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    /// `cudaResourceType`, which has the driver's numbers.
    pub(crate) kind: i32,
    pub(crate) details: ResourceUnion,
}

/// The union in `cudaResourceDesc`; `kind` selects the field.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union ResourceUnion {
    pub(crate) array: usize,
    pub(crate) linear: LinearMemory,
    pub(crate) pitched: PitchedMemory,
}

/// Linear memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinearMemory {
    pub(crate) address: usize,
    pub(crate) channels: Channels,
    pub(crate) bytes: usize,
}

/// Pitched memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PitchedMemory {
    pub(crate) address: usize,
    pub(crate) channels: Channels,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pitch: usize,
}

/// `cudaTextureDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Texture {
    /// `cudaTextureAddressMode`; the numbers are those of the driver, as for the filter.
    pub(crate) address: [u32; 3],
    pub(crate) filter: u32,
    /// `cudaTextureReadMode`; 1 reads integers as normalised floating-point numbers.
    pub(crate) read: u32,
    pub(crate) srgb: i32,
    pub(crate) border: [f32; 4],
    pub(crate) normalised: i32,
    pub(crate) anisotropy: u32,
    pub(crate) mipmap_filter: u32,
    pub(crate) mipmap_bias: f32,
    pub(crate) mipmap_min: f32,
    pub(crate) mipmap_max: f32,
    pub(crate) no_trilinear_optimisation: i32,
    pub(crate) seamless_cube_map: i32,
}

/// `cudaResourceViewDesc`, and the first fields of `CUDA_RESOURCE_VIEW_DESC`; the formats have the same numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    pub(crate) format: u32,
    pub(crate) extent: Extent,
    pub(crate) levels: [u32; 2],
    pub(crate) layers: [u32; 2],
}

/// `CUDA_RESOURCE_VIEW_DESC`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriverView {
    pub(crate) view: View,
    pub(crate) reserved: [u32; 16],
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriverArray {
    pub(crate) extent: Extent,
    pub(crate) format: u32,
    pub(crate) channels: u32,
    pub(crate) flags: u32,
}

/// `CUDA_RESOURCE_DESC`. The union of 128 bytes is stored as 64-bit words, because all its fields start at such words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriverResource {
    pub(crate) kind: i32,
    /// The handle of an array; or an address, a word with the format and the number of channels, and the sizes.
    pub(crate) details: [u64; 16],
    pub(crate) flags: u32,
}
