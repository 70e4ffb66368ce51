//! Mipmapped arrays: one array for each level, each half as large in every dimension as the previous one.

use std::sync::Arc;

use crate::abi::Handle;
use crate::abi::registry::new_handle;
use crate::abi::texture::Array3dDescription;
use crate::texture::array::{Array, is_layered};

/// A mipmapped array.
#[derive(Debug)]
pub(crate) struct Mipmap {
    pub(crate) handle: Handle,
    pub(crate) context: Handle,
    /// The arrays of the levels, beginning with the largest. There is at least one.
    pub(crate) levels: Vec<Arc<Array>>,
}

impl Mipmap {
    /// A mipmapped array with these levels.
    pub(crate) fn new(context: Handle, levels: Vec<Arc<Array>>) -> Self {
        Self { handle: new_handle(), context, levels }
    }
}

/// The descriptions of the levels, beginning with the largest. Their number is clamped: at least one, at most as many
/// as it takes to halve the longest side to one texel (`cuMipmappedArrayCreate`).
pub(crate) fn levels(
    description: &Array3dDescription,
    wanted: u32,
) -> impl Iterator<Item = Array3dDescription> {
    (0..wanted.clamp(1, max_levels(description))).map(|number| level(description, number))
}

/// The number of levels until the longest side has one texel.
fn max_levels(description: &Array3dDescription) -> u32 {
    let longest = description.width.max(description.height).max(description.depth).max(1);
    longest.ilog2() + 1
}

/// The description of a level. The number of layers or cube faces doesn't change, and a missing dimension stays
/// missing.
fn level(description: &Array3dDescription, number: u32) -> Array3dDescription {
    let half = |length: usize| if length == 0 { 0 } else { (length >> number).max(1) };
    Array3dDescription {
        width: half(description.width),
        height: half(description.height),
        depth: if is_layered(description.flags) {
            description.depth
        } else {
            half(description.depth)
        },
        ..*description
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_halve_the_sides_but_not_the_layers() {
        let array = |width, height, depth, flags| Array3dDescription {
            width,
            height,
            depth,
            format: 0x20,
            channels: 1,
            flags,
        };
        let shape = |description: &Array3dDescription, number| {
            let Array3dDescription { width, height, depth, .. } = level(description, number);
            (width, height, depth)
        };
        let flat = array(64, 20, 0, 0);
        assert_eq!(max_levels(&flat), 7);
        let expected = ((64, 20, 0), (8, 2, 0), (1, 1, 0));
        assert_eq!((shape(&flat, 0), shape(&flat, 3), shape(&flat, 6)), expected);
        assert_eq!(shape(&array(5, 0, 0, 0), 1), (2, 0, 0));
        assert_eq!(shape(&array(4, 4, 8, 0), 2), (1, 1, 2));
        assert_eq!(shape(&array(4, 4, 6, 4), 2), (1, 1, 6), "a cube");
        assert_eq!(shape(&array(4, 0, 7, 1), 1), (2, 0, 7), "layers");
        assert_eq!(max_levels(&array(1, 0, 0, 0)), 1);
    }
}
