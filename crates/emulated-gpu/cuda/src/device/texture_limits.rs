//! How large textures and arrays may be, and how they lie in memory.

/// Textures begin at multiples of this many bytes: `CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`.
pub(crate) const ALIGNMENT: u64 = 512;
/// Texels of a texture of memory without dimensions, at most.
pub(crate) const LINEAR: u64 = 1 << 28;
/// Texels of a row, rows, and bytes from one row to the next, of memory of rows.
pub(crate) const PITCHED: [u64; 3] = [131_072, 65_000, 2_097_120];
/// Width, height and depth (or layers) of arrays: of one, two and three dimensions, and of one and two with
/// layers; and of those for surfaces of one dimension.
const ARRAYS: [[u64; 3]; 5] = [
    [131_072, 0, 0],
    [131_072, 65_536, 0],
    [16_384, 16_384, 16_384],
    [32_768, 0, 2048],
    [32_768, 32_768, 2048],
];
const SURFACE_WIDTH: u64 = 32_768;
/// Rows begin at multiples of this, in bytes: `CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT`.
pub(crate) const PITCH: u64 = 32;

/// The largest array of a shape.
pub(crate) fn limits(
    _width: usize,
    height: usize,
    depth: usize,
    layered: bool,
    surface: bool,
) -> [u64; 3] {
    let which = match (height, depth, layered) {
        (0, _, true) => 3,
        (_, _, true) => 4,
        (_, 1.., _) => 2,
        (1.., ..) => 1,
        _ => 0,
    };
    let mut most = ARRAYS[which];
    if surface && which == 0 {
        most[0] = SURFACE_WIDTH;
    }
    most
}

/// What [`ARRAYS`] and the others say, as attributes.
pub(crate) fn of_textures(attribute: i32) -> Option<u64> {
    let [line, plane, space, lines, planes] = ARRAYS;
    Some(match attribute {
        14 | 30 => ALIGNMENT,
        21 => line[0],
        22 | 56 => plane[0],
        23 | 57 => plane[1],
        24..=26 => space[attribute as usize - 24],
        58..=60 => space[attribute as usize - 58],
        27 | 45 | 63 => planes[0],
        28 | 46 | 64 => planes[1],
        29 | 65 => planes[2],
        42 | 61 => lines[0],
        43 | 62 => lines[2],
        44 => 1,
        // Of three dimensions, when one of them is longer.
        47 | 48 => 8192,
        49 => 32_768,
        51 => PITCH,
        55 => SURFACE_WIDTH,
        69 => LINEAR,
        70..=72 => PITCHED[attribute as usize - 70],
        52 | 53 | 66 | 67 => planes[0],
        // As many whole cubes as layers.
        54 | 68 => planes[2] / 6 * 6,
        // Mipmaps are not emulated: no sizes.
        73 | 74 | 77 => 0,
        _ => return None,
    })
}
