//! Footprints: the texels that coordinates select (CUDA C++ Programming Guide, "Texture Fetching").
//!
//! The weights of linear filtering are fixed-point numbers with 8 fraction bits, as in the guide; a
//! coordinate's fraction is rounded to them (halves up). The guide doesn't define the rounding of
//! its sum of products: here the products are exact, and the sum is rounded once to single
//! precision. A texel with weight 0 is not read, so that an infinity next to the selected texel has
//! no effect. A NaN coordinate counts as 0.

use super::AddressMode;

/// Fixed-point representation of the weight 1.
pub(crate) const ONE: u32 = 1 << 8;

/// The texels that a fetch reads along one axis: one, or two that are interpolated. `None` is the
/// border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct AxisTexels {
    pub(crate) first: Option<u64>,
    pub(crate) second: Option<u64>,
    /// The weight of `second`, out of [`ONE`]; `first` has the remaining weight.
    pub(crate) weight: u32,
}

/// Applies the address mode to an index, along an axis with `length` texels.
pub(crate) fn texel_index(mode: AddressMode, index: i64, length: u64) -> Option<u64> {
    let count = i64::try_from(length.max(1)).unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
    let inside = match mode {
        AddressMode::Clamp => index.clamp(0, count - 1),
        AddressMode::Border => Some(index).filter(|index| (0..count).contains(index))?,
        AddressMode::Wrap => index.rem_euclid(count),
        AddressMode::Mirror => {
            let twice = index.rem_euclid(2 * count);
            if twice < count { twice } else { 2 * count - 1 - twice }
        }
    };
    Some(inside as u64)
}

/// Converts a coordinate to texels.
fn to_texels(mode: AddressMode, normalised: bool, x: f32, length: u64) -> f64 {
    let x = f64::from(x);
    let x = match mode {
        _ if !normalised => x,
        // Both wrapped and mirrored coordinates are exact after multiplication by the length.
        AddressMode::Wrap => x - x.floor(),
        AddressMode::Mirror => x - 2.0 * (x / 2.0).floor(),
        AddressMode::Clamp | AddressMode::Border => x,
    };
    // The fraction of an infinity is NaN, and also counts as 0.
    let x = if x.is_nan() { 0.0 } else { x };
    if normalised { x * length.max(1) as f64 } else { x }
}

/// The texel that contains a coordinate, moved by `offset` texels.
pub(crate) fn nearest_texel(
    mode: AddressMode,
    normalised: bool,
    x: f32,
    offset: i32,
    length: u64,
) -> AxisTexels {
    let index = to_texels(mode, normalised, x, length).floor() as i64;
    let first = texel_index(mode, index.saturating_add(offset.into()), length);
    AxisTexels { first, second: None, weight: 0 }
}

/// The two texels whose centres are on either side of a coordinate.
pub(crate) fn texel_pair(
    mode: AddressMode,
    normalised: bool,
    x: f32,
    offset: i32,
    length: u64,
) -> AxisTexels {
    texel_pair_around(mode, to_texels(mode, normalised, x, length), offset, length)
}

/// The two texels whose centres are on either side of a coordinate that is given in texels.
pub(crate) fn texel_pair_around(mode: AddressMode, x: f64, offset: i32, length: u64) -> AxisTexels {
    let from = x - 0.5;
    let fraction = from - from.floor();
    let weight = (fraction * f64::from(ONE) + 0.5).floor() as u32;
    let index = (from.floor() as i64).saturating_add(offset.into());
    let [first, second] =
        [index, index.saturating_add(1)].map(|index| texel_index(mode, index, length));
    AxisTexels { first, second, weight }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_modes_follow_the_guide() {
        let places = |mode| (-5..9).map(|index| texel_index(mode, index, 4)).collect::<Vec<_>>();
        let all = |list: [u64; 14]| list.map(Some).to_vec();
        assert_eq!(places(AddressMode::Clamp), all([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]));
        assert_eq!(places(AddressMode::Wrap), all([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(places(AddressMode::Mirror), all([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        let border = places(AddressMode::Border);
        assert_eq!(border.iter().flatten().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(border.iter().position(Option::is_some), Some(5));
    }

    #[test]
    fn weights_have_eight_bits_of_fraction() {
        let at = |x: f32| texel_pair(AddressMode::Clamp, false, x, 0, 4);
        assert_eq!(at(1.5), AxisTexels { first: Some(1), second: Some(2), weight: 0 });
        assert_eq!(at(2.0), AxisTexels { first: Some(1), second: Some(2), weight: 128 });
        // A third of the way is 85.33 of 256.
        assert_eq!(at(1.5 + 1.0 / 3.0).weight, 85);
        // The next number below a texel's centre has the same weights as the centre.
        let expected = AxisTexels { first: Some(1), second: Some(2), weight: 256 };
        assert_eq!(at(2.5_f32.next_down()), expected);
        assert_eq!(at(-3.0), AxisTexels { first: Some(0), second: Some(0), weight: 128 });
    }

    #[test]
    fn normalised_coordinates_wrap_and_mirror() {
        let index = |mode, x: f32| nearest_texel(mode, true, x, 0, 4).first.unwrap();
        for (x, wrapped, mirrored) in
            [(0.1, 0, 0), (0.9, 3, 3), (1.1, 0, 3), (-0.1, 3, 0), (2.3, 1, 1), (-1.3, 2, 2)]
        {
            assert_eq!(index(AddressMode::Wrap, x), wrapped, "{x}");
            assert_eq!(index(AddressMode::Mirror, x), mirrored, "{x}");
        }
        let seam = texel_pair(AddressMode::Wrap, true, 1.0, 0, 4);
        assert_eq!(seam, AxisTexels { first: Some(3), second: Some(0), weight: 128 });
    }

    #[test]
    fn extreme_coordinates_stay_inside() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e-45] {
            for mode in
                [AddressMode::Clamp, AddressMode::Border, AddressMode::Wrap, AddressMode::Mirror]
            {
                for normalised in [false, true] {
                    for offset in [i32::MIN, 0, i32::MAX] {
                        for length in [1, 7, u64::MAX] {
                            let all = [
                                nearest_texel(mode, normalised, x, offset, length),
                                texel_pair(mode, normalised, x, offset, length),
                            ];
                            for along in all {
                                assert!(along.weight <= ONE);
                                let mut places = along.first.iter().chain(&along.second);
                                assert!(places.all(|&index| index < length));
                            }
                        }
                    }
                }
            }
        }
    }
}
