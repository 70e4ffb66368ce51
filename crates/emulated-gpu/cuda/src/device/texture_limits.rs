//! Limits of arrays and textures, and the alignment of texture memory.

/// Alignment of textures in bytes (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`).
pub(crate) const BASE_ALIGNMENT: u64 = 512;
/// Maximum texels of a one-dimensional texture in linear memory.
pub(crate) const LINEAR_WIDTH: u64 = 1 << 28;
/// Maximum width, height and pitch in bytes of a two-dimensional texture in pitched memory.
pub(crate) const PITCHED_SIZES: [u64; 3] = [131_072, 65_000, 2_097_120];
/// Maximum width, height and depth of one-, two- and three-dimensional arrays.
pub(crate) const ARRAY_1D: [u64; 3] = [131_072, 0, 0];
pub(crate) const ARRAY_2D: [u64; 3] = [131_072, 65_536, 0];
pub(crate) const ARRAY_3D: [u64; 3] = [16_384, 16_384, 16_384];
/// Maximum width, height and number of layers of one- and two-dimensional layered arrays.
pub(crate) const LAYERED_1D: [u64; 3] = [32_768, 0, 2048];
pub(crate) const LAYERED_2D: [u64; 3] = [32_768, 32_768, 2048];
/// Maximum width of one-dimensional arrays for surfaces.
pub(crate) const SURFACE_WIDTH: u64 = 32_768;
/// Alignment of rows in bytes (`CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT`).
pub(crate) const PITCH_ALIGNMENT: u64 = 32;

/// The maximum extent of an array with these dimensions and flags.
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
