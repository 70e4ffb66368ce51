//! 8-bit floating-point numbers (OCP 8-bit Floating Point Specification 1.0): E4M3, which has no
//! infinities, and E5M2, which is the upper half of an IEEE half.

/// An 8-bit format, named by its number of exponent and fraction bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fp8Format {
    E4m3,
    E5m2,
}

impl Fp8Format {
    fn fraction(self) -> u32 {
        if self == Self::E4m3 { 3 } else { 2 }
    }

    fn bias(self) -> i32 {
        if self == Self::E4m3 { 7 } else { 15 }
    }

    /// The bit pattern of the largest finite number.
    fn largest(self) -> u8 {
        if self == Self::E4m3 { 0x7e } else { 0x7b }
    }

    /// Converts a bit pattern to the number that it represents.
    pub(crate) fn decode(self, bits: u8) -> f32 {
        let magnitude = bits & 0x7f;
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        match self {
            Self::E4m3 if magnitude == 0x7f => return f32::NAN,
            Self::E5m2 if magnitude == 0x7c => return sign * f32::INFINITY,
            Self::E5m2 if magnitude > 0x7c => return f32::NAN,
            _ => {}
        }
        let exponent = i32::from(magnitude >> self.fraction());
        let fraction = f32::from(magnitude & ((1 << self.fraction()) - 1));
        let unit = 2f32.powi(exponent.max(1) - self.bias() - self.fraction() as i32);
        let hidden = if exponent == 0 { 0.0 } else { (1u32 << self.fraction()) as f32 };
        sign * (hidden + fraction) * unit
    }

    /// Rounds to the nearest representable number, ties to even, and returns its bit pattern.
    /// Values that are too large become the largest finite number, as with `cvt.rn.satfinite`.
    pub(crate) fn encode(self, value: f32) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        if value.is_nan() {
            return 0x7f;
        }
        let last_received = value.abs();
        // Among positive numbers, a larger pattern is a larger number, so this is a binary search.
        let (mut below, mut above) = (0, self.largest());
        if last_received >= self.decode(above) {
            return sign | above;
        }
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if self.decode(middle) <= last_received { below = middle } else { above = middle }
        }
        let (low, high) = (last_received - self.decode(below), self.decode(above) - last_received);
        let up = high < low || high == low && below & 1 == 1;
        sign | if up { above } else { below }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_decode_to_their_values() {
        for (format, bits, number) in [
            (Fp8Format::E4m3, 0x38, 1.0),
            (Fp8Format::E4m3, 0x7e, 448.0),
            (Fp8Format::E4m3, 0x01, 2f32.powi(-9)),
            (Fp8Format::E4m3, 0xc0, -2.0),
            (Fp8Format::E5m2, 0x3c, 1.0),
            (Fp8Format::E5m2, 0x7b, 57344.0),
            (Fp8Format::E5m2, 0x01, 2f32.powi(-16)),
        ] {
            assert_eq!(format.decode(bits), number, "{format:?} {bits:#x}");
        }
        assert!(Fp8Format::E4m3.decode(0x7f).is_nan() && Fp8Format::E5m2.decode(0xfe).is_nan());
        assert_eq!(Fp8Format::E5m2.decode(0xfc), f32::NEG_INFINITY);
    }

    #[test]
    fn encoding_is_exact_for_representable_values_and_rounds_others_to_nearest() {
        for format in [Fp8Format::E4m3, Fp8Format::E5m2] {
            for bits in 0..=u8::MAX {
                let number = format.decode(bits);
                if number.is_finite() {
                    assert_eq!(format.encode(number), bits, "{format:?} {bits:#x}");
                }
            }
            for pair in 0..format.largest() {
                let (a, b) = (format.decode(pair), format.decode(pair + 1));
                let even = if pair & 1 == 0 { pair } else { pair + 1 };
                assert_eq!(format.encode(f32::midpoint(a, b)), even, "{format:?} {pair:#x}");
                assert_eq!(format.encode(a + (b - a) * 0.25), pair);
                assert_eq!(format.encode(-(a + (b - a) * 0.75)), 0x80 | (pair + 1));
            }
            assert_eq!(format.encode(f32::INFINITY), format.largest());
            assert!(format.decode(format.encode(f32::NAN)).is_nan());
        }
    }
}
