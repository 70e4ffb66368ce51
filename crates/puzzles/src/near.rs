//! Expected results of `float` computations: a number in double precision, and an error bound that holds for every way to
//! compute it.
//!
//! The bounds come from a running error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", section 3.3):
//! each operation propagates the errors of its operands and adds half a unit in the last place. The bounds of sums and
//! dot products hold for every order of addition, with or without `fma`.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unit roundoff of `float`: half a unit in the last place near 1.
const UNIT_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;
/// The smallest normal `float`: below it, rounding is no longer relative.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// An expected number, and the maximum distance of a computed `float` from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Near {
    pub(crate) value: f64,
    pub(crate) bound: f64,
}

impl Near {
    /// A number without tolerance.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, bound: 0.0 }
    }

    /// The result of an operation that is off by up to `halves` half units in the last place.
    fn rounded(value: f64, error: f64, halves: f64) -> Self {
        Self {
            value,
            bound: error
                + halves * UNIT_ROUNDOFF * (value.abs() + error)
                + UNIT_ROUNDOFF * MIN_NORMAL,
        }
    }

    /// The larger of two numbers; this operation doesn't round.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { value: self.value.max(other.value), bound: self.bound.max(other.bound) }
    }

    /// The exponential, computed by `expf` or by `__expf`, whose error is at most 2 + 1.173·|x| units in the last place
    /// (CUDA C++ Programming Guide, "Intrinsic Functions").
    pub(crate) fn exp(self) -> Self {
        let value = libm::exp(self.value);
        let halves = 2.0 * (3.0 + 1.173 * self.value.abs());
        Self::rounded(value, value * libm::expm1(self.bound), halves)
    }

    /// The natural logarithm, computed by `logf` or by `__logf`, whose error is at most 2^−21.41 near 1 and 3 units
    /// elsewhere (same source as for `exp`).
    pub(crate) fn ln(self) -> Self {
        let value = libm::log(self.value);
        let passed_on = self.bound / (self.value - self.bound).max(MIN_NORMAL);
        Self::rounded(value, passed_on + libm::exp2(-21.0), 6.0)
    }
}

impl From<f32> for Near {
    fn from(value: f32) -> Self {
        Self::exact(f64::from(value))
    }
}

impl From<Near> for f64 {
    fn from(near: Near) -> Self {
        near.value
    }
}

impl Add for Near {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.bound + other.bound, 1.0)
    }
}

impl Sub for Near {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Neg for Near {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl Mul for Near {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let error = self.bound * (other.value.abs() + other.bound) + self.value.abs() * other.bound;
        Self::rounded(self.value * other.value, error, 1.0)
    }
}

/// Division, computed by `/` or by `__fdividef`, whose error is at most two units in the last place.
impl Div for Near {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let least = (other.value.abs() - other.bound).max(MIN_NORMAL);
        Self::rounded(value, (self.bound + value.abs() * other.bound) / least, 4.0)
    }
}

/// The sum of the terms, added in any order.
pub(crate) fn sum(terms: impl IntoIterator<Item = Near>) -> Near {
    let (mut value, mut size, mut error, mut count) = (0.0, 0.0, 0.0, 0.0);
    for term in terms {
        value += term.value;
        size += term.value.abs() + term.bound;
        error += term.bound;
        count += 1.0;
    }
    let gamma = count * UNIT_ROUNDOFF / (1.0 - count * UNIT_ROUNDOFF);
    Near { value, bound: error + gamma * size + UNIT_ROUNDOFF * MIN_NORMAL }
}

/// The dot product Σ a·b, in any order.
pub(crate) fn dot(pairs: impl IntoIterator<Item = (Near, Near)>) -> Near {
    sum(pairs.into_iter().map(|(a, b)| a * b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Checks that the bound holds for a `float`, and that it is at most `tight` times the number's size.
    #[track_caller]
    fn holds(near: Near, float: f32, tight: f64) {
        let error = (f64::from(float) - near.value).abs();
        assert!(error <= near.bound, "{float} is {error} from {near:?}");
        assert!(near.bound <= tight * (near.value.abs() + 1.0), "{near:?} is loose");
    }

    #[test]
    fn bounds_of_single_operations_hold_and_are_tight() {
        let mut random = Random::new(1);
        for (a, b) in random.floats(1000).into_iter().zip(Random::new(2).floats(1000)) {
            holds(Near::from(a) + b.into(), a + b, 1e-7);
            holds(Near::from(a) - b.into(), a - b, 1e-7);
            holds(Near::from(a) * b.into(), a * b, 1e-7);
            let c = b.abs() + 0.5;
            holds(Near::from(a) / c.into(), a / c, 1e-6);
            holds(Near::from(8.0 * a).exp(), libm::expf(8.0 * a), 3e-6);
            holds(Near::from(c).ln(), libm::logf(c), 2e-6);
        }
        assert!((1.0_f64 + 2e-7 - (Near::exact(1.0) + Near::exact(2e-7)).value).abs() < 1e-15);
    }

    #[test]
    fn bounds_of_sums_hold_for_every_order() {
        let values = Random::new(3).floats(1000);
        let near = sum(values.iter().map(|&value| value.into()));
        holds(near, values.iter().sum(), 1e-1);
        holds(near, values.iter().rev().sum(), 1e-1);
        holds(near, values.chunks(2).map(|pair| pair.iter().sum::<f32>()).sum(), 1e-1);
        let square = dot(values.iter().map(|&value| (value.into(), value.into())));
        holds(square, values.iter().fold(0.0, |sum, &v| v.mul_add(v, sum)), 1e-1);
        assert!(near.bound < 0.05, "{near:?}");
    }

    #[test]
    fn maximum_and_negation_are_exact() {
        assert_eq!(Near::from(1.5).max(Near::from(-2.0)), Near::exact(1.5));
        assert_eq!(-Near::from(1.5), Near::exact(-1.5));
    }
}
