//! Arrays of numbers in a page: little-endian, deflated, in base64.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// An array, as the script of a page unpacks it.
#[derive(Clone, Debug, Serialize)]
pub struct Packed {
    /// `u1`, `u4`, `f4` or `f8`: the type and the bytes of an element.
    pub kind: &'static str,
    /// The elements: base64 of their deflated bytes.
    pub data: String,
}

fn packed(kind: &'static str, bytes: &[u8]) -> Packed {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let deflated = encoder.write_all(bytes).and_then(|()| encoder.finish());
    // A write to memory can't fail.
    Packed { kind, data: STANDARD.encode(deflated.unwrap_or_default()) }
}

/// Packs numbers without rounding: in single precision if each of them fits, otherwise in double.
#[must_use]
pub fn exact(values: &[f64]) -> Packed {
    let fits = |&value: &f64| value.is_nan() || f64::from(value as f32) == value;
    if values.iter().all(fits) { single(values) } else { double(values) }
}

/// Packs numbers, rounded to single precision.
#[must_use]
pub fn single(values: &[f64]) -> Packed {
    let bytes: Vec<u8> = values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect();
    packed("f4", &bytes)
}

fn double(values: &[f64]) -> Packed {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    packed("f8", &bytes)
}

/// Packs numbers below 256.
#[must_use]
pub fn bytes(values: &[u8]) -> Packed {
    packed("u1", values)
}

impl FromIterator<usize> for Packed {
    /// Packs indices. One that doesn't fit into 32 bits becomes `u32::MAX`.
    fn from_iter<I: IntoIterator<Item = usize>>(indices: I) -> Self {
        let narrow = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let bytes: Vec<u8> =
            indices.into_iter().flat_map(|index| narrow(index).to_le_bytes()).collect();
        packed("u4", &bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    fn unpacked(packed: &Packed) -> Vec<u8> {
        let mut bytes = Vec::new();
        let deflated = STANDARD.decode(&packed.data).unwrap();
        ZlibDecoder::new(&deflated[..]).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn numbers_are_packed_exactly_in_the_smallest_type() {
        let singles = [0.5, f64::NAN, f64::INFINITY, f64::from(0.1_f32)];
        assert_eq!(exact(&singles).kind, "f4");
        assert_eq!(unpacked(&exact(&singles))[12..], 0.1_f32.to_le_bytes());
        let doubles = [0.1, 1e300];
        assert_eq!(exact(&doubles).kind, "f8");
        assert_eq!(unpacked(&exact(&doubles))[8..], 1e300_f64.to_le_bytes());
        assert_eq!(single(&doubles).kind, "f4");
    }

    #[test]
    fn indices_take_four_bytes_each_and_bytes_one() {
        assert_eq!(unpacked(&[1, 258].into_iter().collect()), [1, 0, 0, 0, 2, 1, 0, 0]);
        assert_eq!(unpacked(&bytes(&[7, 255])), [7, 255]);
    }
}
