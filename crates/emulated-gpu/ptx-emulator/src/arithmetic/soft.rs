//! Floating-point arithmetic with integers: exact results, rounded once, for all formats and
//! roundings.
//!
//! A number is unpacked into a sign, an exponent and a significand of up to 128 bits. The result of
//! an operation is exact, or the last bit of its significand is set because lower bits were lost
//! ("sticky"); the significand is then long enough that this doesn't affect rounding. Rounding only
//! happens in [`Unpacked::round`]. The host's rounding mode is never changed.

use super::format::Format;
use crate::program::Rounding;

/// The magnitude of an unpacked number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Magnitude {
    /// Not a number.
    Nan,
    /// An infinity.
    Infinite,
    /// A zero.
    Zero,
    /// `significand · 2^exponent`. The significand is not 0, and its last bit may be sticky.
    Finite {
        /// The power of two of the significand's last bit.
        exponent: i32,
        /// The significand: an integer that is not 0.
        significand: u128,
    },
}

/// An unpacked number: a sign and a [`Magnitude`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    /// Whether the sign is set.
    pub(crate) negative: bool,
    /// The magnitude.
    pub(crate) magnitude: Magnitude,
}

impl Unpacked {
    const NAN: Self = Self { negative: false, magnitude: Magnitude::Nan };

    /// Unpacks the bits of a format.
    pub(crate) fn new(format: Format, bits: u64) -> Self {
        let negative = bits & format.sign() != 0;
        let field = ((bits & format.magnitude()) >> format.fraction_bits) as i32;
        let fraction = bits & (format.min_normal() - 1);
        let magnitude = if format.is_nan(bits) {
            Magnitude::Nan
        } else if format.ieee && bits & format.magnitude() == format.infinity() {
            Magnitude::Infinite
        } else if field == 0 && fraction == 0 {
            Magnitude::Zero
        } else if field == 0 {
            Magnitude::Finite { exponent: format.min_exponent(), significand: u128::from(fraction) }
        } else {
            Magnitude::Finite {
                exponent: format.min_exponent() + field - 1,
                significand: u128::from(fraction | format.min_normal()),
            }
        };
        Self { negative, magnitude }
    }

    /// Converts an integer.
    pub(crate) fn integer(value: i128) -> Self {
        let magnitude = match value.unsigned_abs() {
            0 => Magnitude::Zero,
            significand => Magnitude::Finite { exponent: 0, significand },
        };
        Self { negative: value < 0, magnitude }
    }

    /// Rounds to the format, and returns its bits. Numbers that are too large become an infinity or
    /// the largest finite number, as IEEE 754 specifies for the rounding; in a format without
    /// infinities, always the largest finite number.
    pub(crate) fn round(self, format: Format, rounding: Rounding) -> u64 {
        let sign = if self.negative { format.sign() } else { 0 };
        let (exponent, significand) = match self.magnitude {
            Magnitude::Nan => return format.nan(),
            Magnitude::Zero => return sign,
            Magnitude::Infinite if format.ieee => return sign | format.infinity(),
            Magnitude::Infinite => return sign | format.max_finite(),
            Magnitude::Finite { exponent, significand } => (exponent, significand),
        };
        let top = exponent + significand.ilog2() as i32;
        let last = (top - format.fraction_bits as i32).max(format.min_exponent());
        let kept = round_shifted(significand, last - exponent, rounding, self.negative);
        // The leading 1 of a normal significand increments the exponent field, as does a carry from
        // rounding: subnormal, normal and overflowing results need no special cases.
        let steps = (last - format.min_exponent()) as u128;
        let bits = (steps << format.fraction_bits) + kept;
        if bits < u128::from(format.infinity()) {
            return sign | bits as u64;
        }
        let away = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::TowardsZero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
        };
        sign | if away && format.ieee { format.infinity() } else { format.max_finite() }
    }

    /// Whether `.ftz` flushes this result: whether it would be less than the smallest normal number
    /// if it were rounded to the same number of digits with an unlimited exponent (IEEE 754's
    /// "tininess after rounding"). Some numbers that [`Unpacked::round`] rounds up to the smallest
    /// normal number are tiny, because subnormal numbers have fewer digits. The ISA doesn't specify
    /// this; ptxas folds constants in this way.
    pub(crate) fn is_tiny(self, format: Format, rounding: Rounding) -> bool {
        let Magnitude::Finite { exponent, significand } = self.magnitude else { return false };
        let top = exponent + significand.ilog2() as i32;
        let fraction_bits = format.fraction_bits as i32;
        let min_normal = format.min_exponent() + fraction_bits;
        if top != min_normal - 1 {
            return top < min_normal;
        }
        let kept =
            round_shifted(significand, top - fraction_bits - exponent, rounding, self.negative);
        kept < 2 << format.fraction_bits
    }

    /// Rounds to an integer; a zero keeps the sign.
    pub(crate) fn round_to_integer(self, rounding: Rounding) -> Self {
        let Magnitude::Finite { exponent, significand } = self.magnitude else { return self };
        if exponent >= 0 {
            return self;
        }
        let magnitude = match round_shifted(significand, -exponent, rounding, self.negative) {
            0 => Magnitude::Zero,
            significand => Magnitude::Finite { exponent: 0, significand },
        };
        Self { magnitude, ..self }
    }

    /// `self · other`, exactly. Both significands must have at most 64 bits, which holds for all
    /// formats.
    pub(crate) fn multiply(self, other: Self) -> Self {
        use Magnitude::{Finite, Infinite, Nan, Zero};
        let magnitude = match (self.magnitude, other.magnitude) {
            (Nan, _) | (_, Nan) | (Zero, Infinite) | (Infinite, Zero) => return Self::NAN,
            (Infinite, _) | (_, Infinite) => Infinite,
            (Zero, _) | (_, Zero) => Zero,
            (Finite { exponent: e, significand: s }, Finite { exponent: f, significand: t }) => {
                Finite { exponent: e + f, significand: s.wrapping_mul(t) }
            }
        };
        Self { negative: self.negative != other.negative, magnitude }
    }

    /// `self + other`. The rounding determines the sign of an exact zero. Operands may be products
    /// of two doubles (106 bits).
    pub(crate) fn add(self, other: Self, rounding: Rounding) -> Self {
        use Magnitude::{Finite, Infinite, Nan, Zero};
        let exact_zero = Self { negative: rounding == Rounding::Down, magnitude: Zero };
        match (self.magnitude, other.magnitude) {
            (Nan, _) | (_, Nan) => Self::NAN,
            (Infinite, Infinite) if self.negative != other.negative => Self::NAN,
            (Infinite, _) => self,
            (_, Infinite) => other,
            (Zero, Zero) if self.negative != other.negative => exact_zero,
            (_, Zero) => self,
            (Zero, _) => other,
            (Finite { exponent: e, significand: s }, Finite { exponent: f, significand: t }) => {
                // Both significands start at bit 125, so that a sum can carry. The smaller number
                // only loses bits if it starts more than 19 bits below the larger number, and then
                // at most one leading bit cancels.
                let (e, s) = normalised(e, s);
                let (f, t) = normalised(f, t);
                let (negative, exponent, great, small) = if (e, s) >= (f, t) {
                    (self.negative, e, s, shift_right_sticky(t, (e - f) as u32))
                } else {
                    (other.negative, f, t, shift_right_sticky(s, (f - e) as u32))
                };
                let significand =
                    if self.negative == other.negative { great + small } else { great - small };
                if significand == 0 {
                    exact_zero
                } else {
                    Self { negative, magnitude: Finite { exponent, significand } }
                }
            }
        }
    }

    /// `self / other`. Both significands must have at most 63 bits.
    pub(crate) fn divide(self, other: Self) -> Self {
        use Magnitude::{Finite, Infinite, Nan, Zero};
        let magnitude = match (self.magnitude, other.magnitude) {
            (Nan, _) | (_, Nan) | (Zero, Zero) | (Infinite, Infinite) => return Self::NAN,
            (Infinite, _) | (_, Zero) => Infinite,
            (Zero, _) | (_, Infinite) => Zero,
            (Finite { exponent: e, significand: s }, Finite { exponent: f, significand: t }) => {
                // The quotient has at least 125 − 63 = 62 bits, more than any format.
                let (e, s) = normalised(e, s);
                let sticky = u128::from(s % t != 0);
                Finite { exponent: e - f, significand: (s / t) | sticky }
            }
        };
        Self { negative: self.negative != other.negative, magnitude }
    }

    /// The square root; −0 for −0, NaN for negative numbers.
    pub(crate) fn square_root(self) -> Self {
        use Magnitude::{Finite, Nan, Zero};
        let (exponent, significand) = match self.magnitude {
            Nan => return Self::NAN,
            Zero => return self,
            _ if self.negative => return Self::NAN,
            Magnitude::Infinite => return self,
            Finite { exponent, significand } => (exponent, significand),
        };
        // With an even exponent and 125 or 126 bits, the root has 63 bits.
        let (mut exponent, mut significand) = normalised(exponent, significand);
        if exponent % 2 != 0 {
            exponent += 1;
            significand = shift_right_sticky(significand, 1);
        }
        let root = significand.isqrt();
        let sticky = u128::from(root * root != significand);
        Self {
            negative: false,
            magnitude: Finite { exponent: exponent / 2, significand: root | sticky },
        }
    }
}

/// Rounds `significand / 2^shift` (a multiplication if the shift is negative) to an integer.
fn round_shifted(significand: u128, shift: i32, rounding: Rounding, negative: bool) -> u128 {
    if shift <= 0 {
        return significand << -shift;
    }
    let shift = shift as u32;
    let kept = significand.checked_shr(shift).unwrap_or(0);
    let rest = significand ^ kept.checked_shl(shift).unwrap_or(0);
    if rest == 0 {
        return kept;
    }
    // Compare with half a unit in the last place; beyond 128 bits that is more than any remainder.
    let to_half = 1_u128.checked_shl(shift - 1).map_or(std::cmp::Ordering::Less, |h| rest.cmp(&h));
    let up = match rounding {
        Rounding::NearestEven => to_half.is_gt() || to_half.is_eq() && kept & 1 == 1,
        Rounding::NearestAway => to_half.is_ge(),
        Rounding::TowardsZero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    };
    kept + u128::from(up)
}

/// Shifts a number's significand so that its highest set bit is bit 125, and adapts the exponent.
/// The significand is not 0, and has at most 126 bits.
fn normalised(exponent: i32, significand: u128) -> (i32, u128) {
    let shift = significand.leading_zeros().saturating_sub(2);
    (exponent - shift as i32, significand << shift)
}

/// `value >> shift`, with the last bit set if bits were lost.
fn shift_right_sticky(value: u128, shift: u32) -> u128 {
    let shifted = value.checked_shr(shift).unwrap_or(0);
    let lost = value != shifted.checked_shl(shift).unwrap_or(0);
    shifted | u128::from(lost)
}
