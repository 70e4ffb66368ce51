//! An independent oracle for all roundings: exact rational arithmetic on big integers, and a binary
//! search for the neighbours among all numbers of a format. Unlike the code under test and APFloat,
//! it uses no shifts and no sticky bits.

use crate::program::{FloatMode, Rounding};
use num_bigint::BigUint;
use proptest::prelude::*;
use std::cmp::Ordering;

use super::PLAIN;
pub(crate) use super::random::Random;

/// A format: the numbers of exponent and fraction bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) exponent: u32,
    pub(crate) fraction: u32,
}

pub(crate) const F16: Shape = Shape { exponent: 5, fraction: 10 };
pub(crate) const BF16: Shape = Shape { exponent: 8, fraction: 7 };
pub(crate) const F32: Shape = Shape { exponent: 8, fraction: 23 };
pub(crate) const F64: Shape = Shape { exponent: 11, fraction: 52 };
pub(crate) const E5M2: Shape = Shape { exponent: 5, fraction: 2 };
pub(crate) const TF32: Shape = Shape { exponent: 8, fraction: 10 };

pub(crate) const ROUNDINGS: [Rounding; 4] =
    [Rounding::NearestEven, Rounding::TowardsZero, Rounding::Down, Rounding::Up];

/// The modifiers with only a rounding set.
pub(crate) fn mode(rounding: Rounding) -> FloatMode {
    FloatMode { rounding, ..PLAIN }
}

/// A magnitude: `numerator / denominator`, or the square root of that.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) numerator: BigUint,
    pub(crate) denominator: BigUint,
    pub(crate) root: bool,
}

impl Shape {
    pub(crate) fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub(crate) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    pub(crate) fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    pub(crate) fn is_finite(self, bits: u64) -> bool {
        bits & (self.sign() - 1) < self.infinity()
    }

    pub(crate) fn is_zero(self, bits: u64) -> bool {
        bits & (self.sign() - 1) == 0
    }

    /// The significand and exponent of an encoding without sign; infinity counts as the next power
    /// of two.
    fn digits(self, magnitude: u64) -> (u64, i64) {
        let field = magnitude >> self.fraction;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let bias = (1_i64 << (self.exponent - 1)) - 1;
        let last = field.max(1) as i64 - bias - i64::from(self.fraction);
        (if field == 0 { fraction } else { fraction + (1 << self.fraction) }, last)
    }

    /// The exact value of a finite encoding.
    pub(crate) fn exact(self, bits: u64) -> Exact {
        let (digits, exponent) = self.digits(bits & (self.sign() - 1));
        let power = BigUint::from(1_u8) << exponent.unsigned_abs();
        let one = BigUint::from(1_u8);
        let (numerator, denominator) = if exponent >= 0 {
            (BigUint::from(digits) * power, one)
        } else {
            (BigUint::from(digits), power)
        };
        Exact { negative: bits & self.sign() != 0, numerator, denominator, root: false }
    }
}

impl Exact {
    pub(crate) fn integer(value: i128) -> Self {
        Self {
            negative: value < 0,
            numerator: BigUint::from(value.unsigned_abs()),
            denominator: BigUint::from(1_u8),
            root: false,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.numerator == BigUint::ZERO
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            numerator: &self.numerator * &other.numerator,
            denominator: &self.denominator * &other.denominator,
            root: false,
        }
    }

    pub(crate) fn over(&self, other: &Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            numerator: &self.numerator * &other.denominator,
            denominator: &self.denominator * &other.numerator,
            root: false,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let x = &self.numerator * &other.denominator;
        let y = &other.numerator * &self.denominator;
        let (negative, numerator) = if self.negative == other.negative {
            (self.negative, x + y)
        } else if x >= y {
            (self.negative, x - y)
        } else {
            (other.negative, y - x)
        };
        Self {
            negative,
            numerator,
            denominator: &self.denominator * &other.denominator,
            root: false,
        }
    }

    /// Compares `digits · 2^exponent` with this magnitude.
    fn compare(&self, digits: &BigUint, exponent: i64) -> Ordering {
        let (digits, exponent) =
            if self.root { (digits * digits, 2 * exponent) } else { (digits.clone(), exponent) };
        let mut left = digits * &self.denominator;
        let mut right = self.numerator.clone();
        if exponent >= 0 {
            left <<= exponent.unsigned_abs();
        } else {
            right <<= exponent.unsigned_abs();
        }
        left.cmp(&right)
    }

    /// The encoding that the rounding selects. The value is not zero.
    pub(crate) fn round(&self, shape: Shape, rounding: Rounding) -> u64 {
        let compare = |magnitude: u64| {
            let (digits, exponent) = shape.digits(magnitude);
            self.compare(&BigUint::from(digits), exponent)
        };
        // The largest finite encoding that is not above the value.
        let (mut low, mut high) = (0, shape.infinity());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if compare(middle) == Ordering::Greater { high = middle } else { low = middle }
        }
        let (digits, exponent) = shape.digits(low);
        let exact = compare(low) == Ordering::Equal;
        // The midpoint between this number and the next one.
        let half = self.compare(&(BigUint::from(digits) * 2_u8 + 1_u8), exponent - 1);
        let away = !exact
            && match rounding {
                Rounding::NearestEven => {
                    half == Ordering::Less || half == Ordering::Equal && low % 2 == 1
                }
                Rounding::NearestAway => half != Ordering::Greater,
                Rounding::TowardsZero => false,
                Rounding::Down => self.negative,
                Rounding::Up => !self.negative,
            };
        low + u64::from(away) + if self.negative { shape.sign() } else { 0 }
    }
}

/// Bits of a format: edge cases, arbitrary bits, and numbers of similar size (so that sums cancel
/// and products are near the limits).
pub(crate) fn bits(shape: Shape) -> impl Strategy<Value = u64> + Clone {
    let sign = shape.sign();
    let infinity = shape.infinity();
    let normal = 1_u64 << shape.fraction;
    let one = infinity >> 1 & !(normal - 1);
    let edges = vec![
        0,
        1,
        2,
        3,
        normal - 1,
        normal,
        normal + 1,
        one - 1,
        one,
        one + 1,
        one + normal,
        infinity - 1,
        infinity - 2,
        infinity,
        infinity + 1,
        infinity + normal / 2,
    ];
    let near = one.saturating_sub(4 * normal)..one + 4 * normal;
    // Significands of few bits, so that ties occur.
    let short = (0..infinity >> shape.fraction, 0..8_u64).prop_map(move |(field, top)| {
        field << shape.fraction | top << shape.fraction.saturating_sub(3)
    });
    (
        prop_oneof![
            2 => proptest::sample::select(edges),
            3 => 0..sign,
            3 => near,
            1 => short,
        ],
        any::<bool>(),
    )
        .prop_map(move |(magnitude, negative)| {
            magnitude & (sign - 1) | if negative { sign } else { 0 }
        })
}

/// One of the roundings of arithmetic.
pub(crate) fn rounding() -> impl Strategy<Value = Rounding> + Clone {
    proptest::sample::select(ROUNDINGS.to_vec())
}

/// Many cases, without regression files.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

impl Shape {
    /// Random bits of a format, one in eight of them extreme.
    pub(crate) fn draw(self, random: &mut Random) -> u64 {
        let bits = random.next();
        let width = 1 + self.exponent + self.fraction;
        let extreme = match bits >> 61 {
            0 => bits & (self.sign() | 7),
            1 => (bits & self.sign()) | (self.infinity() - 3 + (bits & 7)),
            // Numbers near 1, so that the operands have similar exponents.
            2 | 3 => {
                let one = self.infinity() >> 1 & !((1 << self.fraction) - 1);
                (bits & self.sign()) | (one + (bits & ((2 << self.fraction) - 1)))
            }
            _ => bits,
        };
        if width == 64 { extreme } else { extreme & ((1 << width) - 1) }
    }
}
