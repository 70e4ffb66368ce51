//! Conversion of texels to channels, and back.

use super::{Channel, Format};
use crate::arithmetic::convert::{f16_to_f32, f32_to_f16};

/// The channels of a texel as a fetch returns them: bits of `f32`, or 32-bit integers. Missing
/// channels are 0, and the fourth is 1, as in OpenCL, from which these formats come (PTX ISA,
/// "Channel Data Type and Channel Order Fields").
pub(crate) fn decode(format: Format, scaled: bool, texel: u128) -> [u32; 4] {
    let one = if is_float(format, scaled) { 1.0_f32.to_bits() } else { 1 };
    let mut channels = [0, 0, 0, one];
    let bits = format.channel.bytes() as u32 * 8;
    for (index, to) in channels.iter_mut().enumerate().take(format.channels as usize) {
        let raw = (texel >> (index as u32 * bits)) as u32;
        *to = channel(format.channel, scaled, raw);
    }
    channels
}

/// Whether a fetch returns floating-point numbers.
pub(crate) fn is_float(format: Format, scaled: bool) -> bool {
    format.channel.is_float() || scaled && format.channel.is_scalable()
}

/// Decodes one channel from the low bits of `raw`.
fn channel(channel: Channel, scaled: bool, raw: u32) -> u32 {
    let fraction = |value: f32, largest: f32| (value / largest).max(-1.0).to_bits();
    match channel {
        Channel::U8 if scaled => fraction(f32::from(raw as u8), 255.0),
        Channel::S8 if scaled => fraction(f32::from(raw as i8), 127.0),
        Channel::U16 if scaled => fraction(f32::from(raw as u16), 65535.0),
        Channel::S16 if scaled => fraction(f32::from(raw as i16), 32767.0),
        Channel::U8 => u32::from(raw as u8),
        Channel::S8 => i32::from(raw as i8) as u32,
        Channel::U16 => u32::from(raw as u16),
        Channel::S16 => i32::from(raw as i16) as u32,
        Channel::F16 => f16_to_f32(raw as u16).to_bits(),
        Channel::U32 | Channel::S32 | Channel::F32 => raw,
    }
}

/// Encodes a texel from 32-bit channels, as `sust.p` does: single precision is rounded to nearest,
/// and integers are saturated to the type of the channel.
pub(crate) fn encode(format: Format, channels: [u32; 4]) -> u128 {
    let bits = format.channel.bytes() as u32 * 8;
    let mut texel = 0;
    for (index, &value) in channels.iter().enumerate().take(format.channels as usize) {
        let raw = match format.channel {
            Channel::U8 => value.min(u8::MAX.into()),
            Channel::U16 => value.min(u16::MAX.into()),
            Channel::S8 => (value as i32).clamp(-128, 127) as u8 as u32,
            Channel::S16 => (value as i32).clamp(-32768, 32767) as u16 as u32,
            Channel::F16 => f32_to_f16(f32::from_bits(value)).into(),
            Channel::U32 | Channel::S32 | Channel::F32 => value,
        };
        texel |= u128::from(raw) << (index as u32 * bits);
    }
    texel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_read_as_numbers_or_fractions() {
        let format = |channel, channels| Format { channel, channels };
        let texel = 0x80_7f_01_ff;
        assert_eq!(decode(format(Channel::U8, 4), false, texel), [255, 1, 127, 128]);
        let signed = decode(format(Channel::S8, 4), false, texel).map(|bits| bits as i32);
        assert_eq!(signed, [-1, 1, 127, -128]);
        let fractions = decode(format(Channel::S8, 4), true, texel).map(f32::from_bits);
        assert_eq!(fractions, [-1.0 / 127.0, 1.0 / 127.0, 1.0, -1.0]);
        let fractions = decode(format(Channel::U16, 2), true, 0xffff_8000).map(f32::from_bits);
        assert_eq!(fractions, [32768.0 / 65535.0, 1.0, 0.0, 1.0]);
        let halves = decode(format(Channel::F16, 1), false, 0x3c00).map(f32::from_bits);
        assert_eq!(halves, [1.0, 0.0, 0.0, 1.0]);
        // 32-bit integers are never scaled.
        assert_eq!(decode(format(Channel::S32, 1), true, 7), [7, 0, 0, 1]);
    }

    #[test]
    fn stored_values_are_rounded_or_saturated() {
        let stored = |channel, value| encode(Format { channel, channels: 1 }, [value, 9, 9, 9]);
        assert_eq!(stored(Channel::U8, 300), 255);
        assert_eq!(stored(Channel::S8, -300_i32 as u32), 0x80);
        assert_eq!(stored(Channel::S16, 40000), 0x7fff);
        assert_eq!(stored(Channel::F16, 1.0_f32.to_bits()), 0x3c00);
        assert_eq!(stored(Channel::F32, 1.5_f32.to_bits()), u128::from(1.5_f32.to_bits()));
    }
}
