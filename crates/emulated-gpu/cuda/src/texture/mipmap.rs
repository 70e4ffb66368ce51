//! Mipmapped arrays: an array for each level, each half as long in every direction as the one before.

use std::sync::Arc;

use crate::abi::Handle;
use crate::abi::registry::fresh;
use crate::abi::texture::Array3dDescription;
use crate::texture::array::{Array, is_layered};

/// A mipmapped array.
#[derive(Debug)]
pub(crate) struct Mipmap {
    pub(crate) handle: Handle,
    pub(crate) context: Handle,
    /// From the largest on; at least one.
    pub(crate) levels: Vec<Arc<Array>>,
}

impl Mipmap {
    /// One of these levels.
    pub(crate) fn new(context: Handle, levels: Vec<Arc<Array>>) -> Self {
        Self { handle: fresh(), context, levels }
    }
}

/// The levels of a mipmapped array, from the largest on: from one to as many as have the longest side halved
/// to one texel, whatever was asked for (`cuMipmappedArrayCreate`).
pub(crate) fn levels(
    description: &Array3dDescription,
    asked: u32,
) -> impl Iterator<Item = Array3dDescription> {
    (0..asked.clamp(1, most(description))).map(|number| level(description, number))
}

/// Levels until the longest side has one texel.
fn most(description: &Array3dDescription) -> u32 {
    let longest = description.width.max(description.height).max(description.depth).max(1);
    longest.ilog2() + 1
}

/// A level's description. Layers, and the sides of cubes, are as many in each; what an array has not, no
/// level has.
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
    fn sides_are_halved_down_to_one_and_layers_stay() {
        let of = |width, height, depth, flags| Array3dDescription {
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
        let flat = of(64, 20, 0, 0);
        assert_eq!(most(&flat), 7);
        assert_eq!(
            (shape(&flat, 0), shape(&flat, 3), shape(&flat, 6)),
            ((64, 20, 0), (8, 2, 0), (1, 1, 0))
        );
        assert_eq!(shape(&of(5, 0, 0, 0), 1), (2, 0, 0));
        assert_eq!(shape(&of(4, 4, 8, 0), 2), (1, 1, 2));
        assert_eq!(shape(&of(4, 4, 6, 4), 2), (1, 1, 6), "a cube");
        assert_eq!(shape(&of(4, 0, 7, 1), 1), (2, 0, 7), "layers");
        assert_eq!(most(&of(1, 0, 0, 0)), 1);
    }
}
