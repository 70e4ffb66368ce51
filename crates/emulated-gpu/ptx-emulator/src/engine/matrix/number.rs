//! Conversion of matrix elements between registers and numbers.

use std::sync::LazyLock;

use crate::arithmetic::convert::{bf16_to_f32, f16_to_f32, f32_to_f16};
use crate::arithmetic::format::Format;
use crate::arithmetic::soft::Unpacked;
use crate::engine::registers::LANES;
use crate::program::{Element, Rounding};

/// The values of all numbers of an 8-bit format.
type FormatTable = LazyLock<[f32; 256]>;

static E4M3: FormatTable = LazyLock::new(|| all_values(Format::E4M3));
static E5M2: FormatTable = LazyLock::new(|| all_values(Format::E5M2));

fn all_values(format: Format) -> [f32; 256] {
    std::array::from_fn(|bits| {
        let number = Unpacked::new(format, bits as u64);
        f32::from_bits(number.round(Format::F32, Rounding::NearestEven) as u32)
    })
}

/// The number format of an element type, for the tensor-core model.
pub(super) fn format(element: Element) -> tensor_core::Format {
    use tensor_core::Format;
    match element {
        Element::F16 => Format::F16,
        Element::Bf16 => Format::Bf16,
        Element::Tf32 => Format::Tf32,
        Element::E4m3 => Format::E4m3,
        Element::E5m2 => Format::E5m2,
        _ => Format::F32,
    }
}

/// Decodes the elements in a register of all lanes, and stores each at its index in `places`.
#[inline(always)]
pub(super) fn unpack_elements(
    element: Element,
    row: &[u32; LANES],
    places: &[u16],
    out: &mut [f32],
) {
    match element {
        Element::F16 => decode_each::<2, _>(row, places, out, |word| f16_to_f32(word as u16)),
        Element::Bf16 => decode_each::<2, _>(row, places, out, |word| bf16_to_f32(word as u16)),
        Element::E4m3 => decode_each::<4, _>(row, places, out, |word| E4M3[(word & 0xff) as usize]),
        Element::E5m2 => decode_each::<4, _>(row, places, out, |word| E5M2[(word & 0xff) as usize]),
        // The tensor core ignores the lower bits.
        Element::Tf32 => {
            decode_each::<1, _>(row, places, out, |word| f32::from_bits(word & 0xffff_e000))
        }
        _ => decode_each::<1, _>(row, places, out, f32::from_bits),
    }
}

/// Decodes the elements of one register in all lanes. `decode` gets a word with the element in its
/// low bits.
#[inline(always)]
pub(super) fn decode_each<const PARTS: usize, T>(
    row: &[u32; LANES],
    places: &[u16],
    out: &mut [T],
    decode: impl Fn(u32) -> T,
) {
    for (word, places) in row.iter().zip(places.chunks_exact(PARTS)) {
        for (part, place) in places.iter().enumerate() {
            out[usize::from(*place)] = decode(word >> (part * (32 / PARTS)));
        }
    }
}

/// Encodes the elements of a result that belong in a lane's register.
#[inline(always)]
pub(super) fn pack_elements(element: Element, places: &[u16], numbers: &[f32]) -> u32 {
    match element {
        Element::F16 => {
            let half = |place: u16| u32::from(f32_to_f16(numbers[usize::from(place)]));
            half(places[0]) | half(places[1]) << 16
        }
        _ => numbers[usize::from(places[0])].to_bits(),
    }
}
