//! The types of a tensor's elements: `f32` and `f64`.

use std::fmt::{Debug, Display};
use std::ops::Neg;

use ndarray::LinalgScalar;
use serde::Serialize;
use serde::de::DeserializeOwned;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// An element of a tensor. The functions are those of `libm`, which return the same bits on every
/// platform; the standard library's differ in the last digit.
pub trait Element:
    sealed::Sealed
    + LinalgScalar
    + Neg<Output = Self>
    + PartialOrd
    + Debug
    + Display
    + Serialize
    + DeserializeOwned
{
    /// The name in files and error messages: `f32` or `f64`.
    const NAME: &'static str;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// This number as `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The bytes of the number, little endian.
    fn to_bytes(self) -> Vec<u8>;
    /// The number with these bytes, little endian; `None` if there are too few or too many bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;

    /// The numbers as `f32`; `None` if the type isn't `f32`.
    fn into_singles(numbers: Vec<Self>) -> Option<Vec<f32>>;
    /// The `f32` numbers in this type.
    fn from_singles(numbers: Vec<f32>) -> Vec<Self>;

    /// `eˣ`.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// `ln(1 + x)`, exact for small `x`.
    fn ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// `x` to the power of `exponent`.
    fn powf(self, exponent: Self) -> Self;

    /// `1 / (1 + e⁻ˣ)`.
    #[must_use]
    fn sigmoid(self) -> Self {
        Self::one() / (Self::one() + (-self).exp())
    }

    /// `ln(1 + eˣ)`, computed as `max(x, 0) + ln(1 + e^−|x|)`, in which nothing overflows.
    #[must_use]
    fn softplus(self) -> Self {
        let magnitude = if self < Self::zero() { -self } else { self };
        self.relu() + (-magnitude).exp().ln_1p()
    }

    /// `max(x, 0)`. NaN stays NaN.
    #[must_use]
    fn relu(self) -> Self {
        if self < Self::zero() { Self::zero() } else { self }
    }
}

macro_rules! element {
    ($type:ident, $exp:path, $ln:path, $ln_1p:path, $tanh:path, $pow:path, $singles:expr) => {
        impl Element for $type {
            const NAME: &'static str = stringify!($type);

            fn from_f64(value: f64) -> Self {
                value as Self
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn to_bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
            fn into_singles(numbers: Vec<Self>) -> Option<Vec<f32>> {
                $singles(numbers)
            }
            fn from_singles(numbers: Vec<f32>) -> Vec<Self> {
                numbers.into_iter().map(Self::from).collect()
            }
            fn exp(self) -> Self {
                $exp(self)
            }
            fn ln(self) -> Self {
                $ln(self)
            }
            fn ln_1p(self) -> Self {
                $ln_1p(self)
            }
            fn tanh(self) -> Self {
                $tanh(self)
            }
            fn powf(self, exponent: Self) -> Self {
                $pow(self, exponent)
            }
        }
    };
}

element!(f32, libm::expf, libm::logf, libm::log1pf, libm::tanhf, libm::powf, Some);
element!(f64, libm::exp, libm::log, libm::log1p, libm::tanh, libm::pow, |_| None);
