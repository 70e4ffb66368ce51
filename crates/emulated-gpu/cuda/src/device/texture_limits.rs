//! Limits of textures and arrays, and the alignment of their memory.

/// Textures begin at multiples of this many bytes: `CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`.
pub(crate) const ALIGNMENT: u64 = 512;
/// Texels of a texture of memory without dimensions, at most.
pub(crate) const LINEAR: u64 = 1 << 28;
/// Texels of a row, rows, and bytes from one row to the next, of memory of rows.
pub(crate) const PITCHED: [u64; 3] = [131_072, 65_000, 2_097_120];
/// Width, height and depth of arrays of one, two and three dimensions.
pub(crate) const ARRAY_1D: [u64; 3] = [131_072, 0, 0];
pub(crate) const ARRAY_2D: [u64; 3] = [131_072, 65_536, 0];
pub(crate) const ARRAY_3D: [u64; 3] = [16_384, 16_384, 16_384];
/// Width, height and number of layers of arrays of one and two dimensions.
pub(crate) const LAYERED_1D: [u64; 3] = [32_768, 0, 2048];
pub(crate) const LAYERED_2D: [u64; 3] = [32_768, 32_768, 2048];
/// Width of arrays of one dimension for surfaces.
pub(crate) const SURFACE_WIDTH: u64 = 32_768;
/// Rows begin at multiples of this, in bytes: `CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT`.
pub(crate) const PITCH: u64 = 32;

/// The largest array of a shape.
pub(crate) fn limits(height: usize, depth: usize, layered: bool, surface: bool) -> [u64; 3] {
    match (height, depth, layered) {
        (0, _, true) => LAYERED_1D,
        (_, _, true) => LAYERED_2D,
        (_, 1.., _) => ARRAY_3D,
        (1.., ..) => ARRAY_2D,
        _ if surface => [SURFACE_WIDTH, 0, 0],
        _ => ARRAY_1D,
    }
}
