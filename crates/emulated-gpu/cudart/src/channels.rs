//! Texel formats. The runtime describes a texel by the bits of each channel, the driver by a format and a channel
//! count.

use c_abi::Code;

use crate::abi::texture::Channels;
use crate::ffi::Result;

/// `cudaChannelFormatKind`
const SIGNED: i32 = 0;
const UNSIGNED: i32 = 1;
const FLOAT: i32 = 2;
const NONE: i32 = 3;

/// The formats: kind, bits per channel, and the corresponding `CUarray_format`.
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

/// Converts to the driver's format and number of channels.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor` if the driver has no such format.
pub(crate) fn format(channels: Channels) -> Result<(u32, u32)> {
    let Channels { bits, kind } = channels;
    let count = bits.iter().take_while(|&&bits| bits != 0).count();
    let equal = bits.iter().take(count).all(|&channel| channel == bits[0]);
    let rest_unused = bits.iter().skip(count).all(|&channel| channel == 0);
    let row =
        FORMATS.iter().find(|(format_kind, width, _)| (*format_kind, *width) == (kind, bits[0]));
    match row {
        Some(&(.., format)) if equal && rest_unused && matches!(count, 1 | 2 | 4) => {
            Ok((format, count as u32))
        }
        _ => Err(Code::INVALID_CHANNEL_DESCRIPTOR.because(format!(
            "channels of {bits:?} bits and kind {kind} are invalid: use 1, 2 or 4 equal channels of \
             8, 16 or 32 bits"
        ))),
    }
}

/// Converts from the driver's format and number of channels.
pub(crate) fn from_format(format: u32, count: u32) -> Channels {
    let row = FORMATS.iter().find(|(.., driver_format)| *driver_format == format);
    let (kind, width) = row.map_or((NONE, 0), |&(kind, width, _)| (kind, width));
    let bits = std::array::from_fn(|index| if (index as u32) < count { width } else { 0 });
    Channels { bits, kind }
}

/// The size of a texel in bytes.
pub(crate) fn bytes(format: u32, count: u32) -> usize {
    from_format(format, count).bits.iter().sum::<i32>() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_round_trip() {
        for (kind, width, format) in FORMATS {
            for count in [1, 2, 4] {
                let channels = from_format(format, count);
                assert_eq!(super::format(channels).unwrap(), (format, count));
                assert_eq!((channels.kind, channels.bits[0]), (kind, width));
                assert_eq!(bytes(format, count), width as usize / 8 * count as usize);
            }
        }
    }

    #[test]
    fn invalid_channel_descriptions_are_rejected() {
        for (bits, kind) in [
            ([8, 8, 8, 0], UNSIGNED),
            ([8, 16, 0, 0], UNSIGNED),
            ([8, 0, 8, 0], UNSIGNED),
            ([0; 4], UNSIGNED),
            ([8, 0, 0, 0], FLOAT),
            ([32, 0, 0, 0], NONE),
            ([-8, 0, 0, 0], SIGNED),
        ] {
            let error = format(Channels { bits, kind }).unwrap_err();
            assert_eq!(error.code, Code::INVALID_CHANNEL_DESCRIPTOR, "{bits:?}");
        }
    }
}
