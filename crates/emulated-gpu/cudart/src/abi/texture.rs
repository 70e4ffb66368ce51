//! Structures of arrays, textures and surfaces: the runtime's, and the driver's that are made of them.

pub(crate) use c_abi::TextureDescription as DriverTexture;

use super::Extent;

/// `cudaChannelFormatDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    /// Of x, y, z and w.
    pub(crate) bits: [i32; 4],
    /// `cudaChannelFormatKind`
    pub(crate) kind: i32,
}

/// `cudaResourceDesc`, without what CUDA 13 has behind it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    /// `cudaResourceType`, whose numbers are the driver's.
    pub(crate) kind: i32,
    pub(crate) of: ResourceUnion,
}

/// The union in it: which of them counts, the kind says.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union ResourceUnion {
    pub(crate) array: usize,
    pub(crate) linear: Linear,
    pub(crate) pitched: PitchedMemory,
}

/// Memory without dimensions.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Linear {
    pub(crate) address: usize,
    pub(crate) channels: Channels,
    pub(crate) bytes: usize,
}

/// Memory of rows.
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
    /// `cudaTextureAddressMode`, whose numbers are the driver's, as those of the filter are.
    pub(crate) address: [u32; 3],
    pub(crate) filter: u32,
    /// `cudaTextureReadMode`: 1 for fractions.
    pub(crate) read: u32,
    pub(crate) srgb: i32,
    pub(crate) border: [f32; 4],
    pub(crate) normalised: i32,
    pub(crate) anisotropy: u32,
    pub(crate) mipmap_filter: u32,
    pub(crate) mipmap_bias: f32,
    pub(crate) mipmap_least: f32,
    pub(crate) mipmap_most: f32,
    pub(crate) no_trilinear_optimisation: i32,
    pub(crate) seamless_cube_map: i32,
}

/// `cudaResourceViewDesc`, and the beginning of `CUDA_RESOURCE_VIEW_DESC`: the formats have the same
/// numbers.
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

/// `CUDA_RESOURCE_DESC`: the union of 128 bytes as numbers of 64 bits, which it begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriverResource {
    pub(crate) kind: i32,
    /// An array; or an address, the format and the number of channels in one, and the sizes.
    pub(crate) of: [u64; 16],
    pub(crate) flags: u32,
}
