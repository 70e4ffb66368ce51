//! Cube maps: conversion of a direction to a face and coordinates on it, and continuation over an
//! edge to the adjacent face (CUDA C++ Programming Guide, "Cubemap Textures").
//!
//! If two components of a direction are equally large, the guide doesn't define the face; here the
//! later one of x, y and z wins. Without seamless filtering, a face ends like a two-dimensional
//! texture.

/// The number of faces, in the order of a cube's layers: +x, −x, +y, −y, +z, −z.
pub(crate) const FACES: u64 = 6;

/// The face that a direction points to, and the two normalised coordinates on it.
///
/// The coordinates are NaN for a direction of length 0, or one that is infinite or NaN.
pub(crate) fn direction_to_face([x, y, z]: [f64; 3]) -> (u64, [f64; 2]) {
    let (wide, high, deep) = (x.abs(), y.abs(), z.abs());
    let (face, middle, s, t) = if wide > high && wide > deep {
        if x >= 0.0 { (0, wide, -z, -y) } else { (1, wide, z, -y) }
    } else if high > deep {
        if y >= 0.0 { (2, high, x, z) } else { (3, high, x, -z) }
    } else if z >= 0.0 {
        (4, deep, x, -y)
    } else {
        (5, deep, -x, -y)
    };
    (face, [s, t].map(|along| (along / middle + 1.0) / 2.0))
}

/// A direction that points to a place on a face, −1 to 1 along both axes.
fn direction(face: u64, [s, t]: [f64; 2]) -> [f64; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The texel at an index on a face of `width` × `width` texels. An index that is outside along one
/// axis leads to the adjacent face. If it is outside along both axes, there is no texel: three
/// faces meet at a corner.
pub(crate) fn texel(own: u64, at: [i64; 2], width: u64) -> Option<(u64, [u64; 2])> {
    let inside = |index: i64| u64::try_from(index).ok().filter(|&index| index < width);
    match at.map(inside) {
        [Some(x), Some(y)] => Some((own, [x, y])),
        [None, None] => None,
        _ => {
            let middles = at.map(|index| (2 * index + 1) as f64 / width as f64 - 1.0);
            let (other, place) = direction_to_face(direction(own, middles));
            Some((other, place.map(|along| ((along * width as f64) as u64).min(width - 1))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_select_the_faces_of_the_guide() {
        for (direction, expected) in [
            ([2.0, 0.5, -1.0], (0, [0.75, 0.375])),
            ([-2.0, 0.5, -1.0], (1, [0.25, 0.375])),
            ([0.5, 2.0, -1.0], (2, [0.625, 0.25])),
            ([0.5, -2.0, -1.0], (3, [0.625, 0.75])),
            ([0.5, -1.0, 2.0], (4, [0.625, 0.75])),
            ([0.5, -1.0, -2.0], (5, [0.375, 0.75])),
            ([1.0, 1.0, 0.0], (2, [1.0, 0.5])),
            ([1.0, -1.0, -1.0], (5, [0.0, 1.0])),
        ] {
            assert_eq!(direction_to_face(direction), expected, "{direction:?}");
        }
        for nothing in [[0.0; 3], [f64::INFINITY; 3], [f64::NAN; 3]] {
            assert!(direction_to_face(nothing).1.iter().all(|along| along.is_nan()), "{nothing:?}");
        }
    }

    #[test]
    fn direction_and_face_are_inverse() {
        for own in 0..FACES {
            for place in [[-0.5, 0.25], [0.75, -0.875], [0.0, 0.0]] {
                let (found, [s, t]) = direction_to_face(direction(own, place));
                assert_eq!((found, [2.0 * s - 1.0, 2.0 * t - 1.0]), (own, place));
            }
        }
    }

    /// A step over an edge and back returns to the same texel: the texel beyond the edge is an
    /// outermost one of its face, and its neighbour beyond the same edge is the first texel.
    #[test]
    fn edges_join_the_same_texels_in_both_directions() {
        for width in [1, 2, 3, 5, 64, 32_768] {
            let last = width as i64 - 1;
            for own in 0..FACES {
                for along in [0, last / 3, last] {
                    for (outside, inside) in [
                        ([-1, along], [0, along]),
                        ([last + 1, along], [last, along]),
                        ([along, -1], [along, 0]),
                        ([along, last + 1], [along, last]),
                    ] {
                        let (other, [x, y]) = texel(own, outside, width).unwrap();
                        assert_ne!(other, own);
                        let there = [x as i64, y as i64];
                        let back = [[-1, 0], [1, 0], [0, -1], [0, 1]].iter().any(|step| {
                            let beyond = [there[0] + step[0], there[1] + step[1]];
                            texel(other, beyond, width) == Some((own, inside.map(|at| at as u64)))
                        });
                        assert!(
                            back,
                            "{width}: from side {own} at {outside:?} to {other} at {there:?}"
                        );
                    }
                }
                assert_eq!(texel(own, [-1, last + 1], width), None);
                assert_eq!(texel(own, [0, last], width), Some((own, [0, last as u64])));
            }
        }
    }
}
