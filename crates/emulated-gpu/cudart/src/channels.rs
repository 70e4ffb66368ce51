//! What a texel is: the runtime tells it by the bits of each channel, the driver by a format and a count.

use c_abi::Code;

use crate::abi::texture::Channels;
use crate::ffi::Result;

/// `cudaChannelFormatKind`
const SIGNED: i32 = 0;
const UNSIGNED: i32 = 1;
const FLOAT: i32 = 2;
const NONE: i32 = 3;

/// `CUarray_format`, by kind and bits.
const FORMATS: [(i32, i32, u32); 8] = [
    (UNSIGNED, 8, 0x01),
    (UNSIGNED, 16, 0x02),
    (UNSIGNED, 32, 0x03),
    (SIGNED, 8, 0x08),
    (SIGNED, 16, 0x09),
    (SIGNED, 32, 0x0a),
    (FLOAT, 16, 0x10),
    (FLOAT, 32, 0x20),
];

/// The driver's format and number of channels.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor`
pub(crate) fn format(channels: Channels) -> Result<(u32, u32)> {
    let Channels { bits, kind } = channels;
    let count = bits.iter().take_while(|&&bits| bits != 0).count();
    let alike = bits.iter().take(count).all(|&own| own == bits[0]);
    let others = bits.iter().skip(count).all(|&own| own == 0);
    let known = FORMATS.iter().find(|(own, width, _)| (*own, *width) == (kind, bits[0]));
    match known {
        Some(&(.., format)) if alike && others && matches!(count, 1 | 2 | 4) => {
            Ok((format, count as u32))
        }
        _ => Err(Code::INVALID_CHANNEL_DESCRIPTOR.because(format!(
            "channels of {bits:?} bits, of kind {kind}: 1, 2 or 4 alike, of 8, 16 or 32 bits"
        ))),
    }
}

/// The other way round.
pub(crate) fn of(format: u32, count: u32) -> Channels {
    let known = FORMATS.iter().find(|(.., own)| *own == format);
    let (kind, width) = known.map_or((NONE, 0), |&(kind, width, _)| (kind, width));
    let bits = std::array::from_fn(|index| if (index as u32) < count { width } else { 0 });
    Channels { bits, kind }
}

/// The bytes of a texel.
pub(crate) fn bytes(format: u32, count: u32) -> usize {
    of(format, count).bits.iter().sum::<i32>() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_go_there_and_back() {
        for (kind, width, format) in FORMATS {
            for count in [1, 2, 4] {
                let channels = of(format, count);
                assert_eq!(super::format(channels).unwrap(), (format, count));
                assert_eq!((channels.kind, channels.bits[0]), (kind, width));
                assert_eq!(bytes(format, count), width as usize / 8 * count as usize);
            }
        }
    }

    #[test]
    fn what_no_texel_is_is_refused() {
        for (bits, kind) in [
            ([8, 8, 8, 0], UNSIGNED),
            ([8, 16, 0, 0], UNSIGNED),
            ([8, 0, 8, 0], UNSIGNED),
            ([0; 4], UNSIGNED),
            ([8, 0, 0, 0], FLOAT),
            ([32, 0, 0, 0], NONE),
            ([-8, 0, 0, 0], SIGNED),
        ] {
            let refused = format(Channels { bits, kind }).unwrap_err();
            assert_eq!(refused.code, Code::INVALID_CHANNEL_DESCRIPTOR, "{bits:?}");
        }
    }
}
