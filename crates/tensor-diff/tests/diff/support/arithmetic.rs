//! The arithmetic of steps: the number format, and the order of summation.

use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};

use tensor::Dtype;

/// An order of summation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    Forward,
    Backward,
    Pairwise,
    /// Eight partial sums, as a vectorised loop takes them.
    Lanes,
}

/// How sums of products are computed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arithmetic {
    pub(crate) order: Order,
    pub(crate) fused: bool,
    /// The format to which the factors of products are rounded, TF32 or bfloat16.
    pub(crate) factors: Option<Dtype>,
}

/// A number format in which a step is computed.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Sum
{
    fn from_f32(value: f32) -> Self;
    fn to_f64(self) -> f64;
    fn fused(self, b: Self, c: Self) -> Self;
    fn exponential(self) -> Self;
    fn logarithm(self) -> Self;
    /// The number, rounded to 10 fraction bits for TF32, and to 7 for bfloat16.
    fn shortened(self, to: Dtype) -> Self;
}

impl Real for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
    fn exponential(self) -> Self {
        self.exp()
    }
    fn logarithm(self) -> Self {
        self.ln()
    }
    fn shortened(self, to: Dtype) -> Self {
        let cut = if to == Dtype::Bf16 { 16 } else { 13 };
        // Adds half of the last bit that stays, and cuts the others off: this rounds to nearest,
        // ties away from zero.
        Self::from_bits((self.to_bits() + (1 << (cut - 1))) >> cut << cut)
    }
}

impl Real for f64 {
    fn from_f32(value: f32) -> Self {
        Self::from(value)
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
    fn exponential(self) -> Self {
        self.exp()
    }
    fn logarithm(self) -> Self {
        self.ln()
    }
    fn shortened(self, _: Dtype) -> Self {
        self
    }
}

impl Arithmetic {
    /// `start + Σ a·b`.
    pub(super) fn dot<T: Real>(self, start: T, pairs: impl Iterator<Item = (T, T)>) -> T {
        let round = |value: T| self.factors.map_or(value, |to| value.shortened(to));
        let pairs: Vec<(T, T)> = pairs.map(|(a, b)| (round(a), round(b))).collect();
        let add = |sum: T, &(a, b): &(T, T)| if self.fused { a.fused(b, sum) } else { sum + a * b };
        let zero = T::from_f32(0.0);
        match self.order {
            Order::Forward => pairs.iter().fold(start, add),
            Order::Backward => pairs.iter().rev().fold(zero, add) + start,
            Order::Pairwise => pairwise(&pairs) + start,
            Order::Lanes => {
                let lane = |lane: usize| pairs.iter().skip(lane).step_by(8).fold(zero, add);
                (0..8).map(lane).fold(zero, |sum, lane| sum + lane) + start
            }
        }
    }
}

fn pairwise<T: Real>(pairs: &[(T, T)]) -> T {
    match pairs {
        [] => T::from_f32(0.0),
        [(a, b)] => *a * *b,
        _ => {
            let (left, right) = pairs.split_at(pairs.len() / 2);
            pairwise(left) + pairwise(right)
        }
    }
}
