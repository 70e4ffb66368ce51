//! Operations that compute each element of the result separately.

use std::panic::Location;

use crate::array::{BROADCAST_RULE, shapes_error};
use crate::function::{Binary, Unary};
use crate::layout::broadcast_shape;
use crate::tensor::Pullback;
use crate::{Array, Element, Result, Tensor};

impl<T: Element> Tensor<T> {
    /// `−x`.
    #[track_caller]
    pub fn neg(&self) -> Self {
        self.unary("neg", |x| Ok((x.map(Unary::Neg)?, pull(|dy| dy.map(Unary::Neg)))))
    }

    // ANCHOR: unary
    /// `eˣ`, which is its own slope.
    #[track_caller]
    pub fn exp(&self) -> Self {
        self.unary("exp", |x| {
            let y = x.map(Unary::Exp)?;
            let saved = y.clone();
            Ok((y, pull(move |dy| dy.zip(Binary::Mul, &saved))))
        })
    }

    /// The natural logarithm, whose slope is `1/x`.
    #[track_caller]
    pub fn log(&self) -> Self {
        self.unary("log", |x| {
            let saved = x.clone();
            Ok((x.map(Unary::Log)?, pull(move |dy| dy.zip(Binary::Div, &saved))))
        })
    }

    /// `max(x, 0)`, whose slope is 1 where `x > 0`, and 0 elsewhere, including at 0.
    #[track_caller]
    pub fn relu(&self) -> Self {
        self.unary("relu", |x| {
            let saved = x.clone();
            Ok((x.map(Unary::Relu)?, pull(move |dy| dy.zip(Binary::ReluBackward, &saved))))
        })
    }

    /// The hyperbolic tangent `y`, whose slope is `1 − y²`.
    #[track_caller]
    pub fn tanh(&self) -> Self {
        self.unary("tanh", |x| {
            let y = x.map(Unary::Tanh)?;
            let saved = y.clone();
            Ok((y, pull(move |dy| dy.zip(Binary::TanhBackward, &saved))))
        })
    }
    // ANCHOR_END: unary

    /// `y = 1 / (1 + e⁻ˣ)`, whose slope is `y·(1 − y)`.
    #[track_caller]
    pub fn sigmoid(&self) -> Self {
        self.unary("sigmoid", |x| {
            let y = x.map(Unary::Sigmoid)?;
            let saved = y.clone();
            Ok((y, pull(move |dy| dy.zip(Binary::SigmoidBackward, &saved))))
        })
    }

    /// `ln(1 + eˣ)`, a smooth `relu`, whose slope is the sigmoid.
    #[track_caller]
    pub fn softplus(&self) -> Self {
        self.unary("softplus", |x| {
            let saved = x.clone();
            let rule = move |dy: &Array<T>| dy.zip(Binary::Mul, &saved.map(Unary::Sigmoid)?);
            Ok((x.map(Unary::Softplus)?, pull(rule)))
        })
    }

    /// `xⁿ`; its slope is `n·xⁿ⁻¹`.
    #[track_caller]
    pub fn pow(&self, n: T) -> Self {
        self.unary("pow", |x| {
            let saved = x.clone();
            let rule = move |dy: &Array<T>| {
                if n == T::zero() {
                    // The slope of a constant, where 0·x⁻¹ would be NaN at 0.
                    return dy.map(Unary::Scale(T::zero()));
                }
                let slope = saved.map(Unary::Pow(n - T::one()))?.map(Unary::Scale(n))?;
                dy.zip(Binary::Mul, &slope)
            };
            Ok((x.map(Unary::Pow(n))?, pull(rule)))
        })
    }

    /// `x` times a number.
    #[track_caller]
    pub fn scale(&self, factor: T) -> Self {
        let scale = Unary::Scale(factor);
        self.unary("scale", |x| Ok((x.map(scale)?, pull(move |dy| dy.map(scale)))))
    }

    /// `x` plus a number.
    #[track_caller]
    pub fn shift(&self, term: T) -> Self {
        self.unary("shift", |x| Ok((x.map(Unary::Shift(term))?, pull(|dy| Ok(dy.clone())))))
    }

    /// `a + b`, after broadcasting.
    #[track_caller]
    pub fn add(&self, other: &Self) -> Self {
        self.binary(other, Binary::Add, |a, b| {
            let sum = a.zip(Binary::Add, b)?;
            Ok((sum, pull(|dy| Ok(dy.clone())), pull(|dy| Ok(dy.clone()))))
        })
    }

    /// `a − b`, after broadcasting.
    #[track_caller]
    pub fn sub(&self, other: &Self) -> Self {
        self.binary(other, Binary::Sub, |a, b| {
            let difference = a.zip(Binary::Sub, b)?;
            Ok((difference, pull(|dy| Ok(dy.clone())), pull(|dy| dy.map(Unary::Neg))))
        })
    }

    // ANCHOR: mul
    /// `a · b`, element by element, after broadcasting. The slope with respect to `a` is `b`, and vice versa.
    #[track_caller]
    pub fn mul(&self, other: &Self) -> Self {
        self.binary(other, Binary::Mul, |a, b| {
            let product = a.zip(Binary::Mul, b)?;
            let (a, b) = (a.clone(), b.clone());
            Ok((
                product,
                pull(move |dy| dy.zip(Binary::Mul, &b)),
                pull(move |dy| dy.zip(Binary::Mul, &a)),
            ))
        })
    }
    // ANCHOR_END: mul

    /// `y = a / b`, element by element, after broadcasting. Its slope with respect to `a` is `1/b`, with respect to
    /// `b` `−y/b`.
    #[track_caller]
    pub fn div(&self, other: &Self) -> Self {
        self.binary(other, Binary::Div, |a, b| {
            let quotient = a.zip(Binary::Div, b)?;
            let (y, b, divisor) = (quotient.clone(), b.clone(), b.clone());
            let along_divisor = move |dy: &Array<T>| {
                dy.zip(Binary::Mul, &y)?.zip(Binary::Div, &divisor)?.map(Unary::Neg)
            };
            Ok((quotient, pull(move |dy| dy.zip(Binary::Div, &b)), pull(along_divisor)))
        })
    }

    // ANCHOR: broadcast
    /// Broadcasts to a shape, by NumPy's rule. An element may then be used many times, and its
    /// gradient is the sum over all uses.
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Self {
        self.unary("broadcast_to", |x| {
            let small = x.shape().to_vec();
            Ok((x.broadcast(shape.as_ref())?, pull(move |dy| dy.sum_to(&small))))
        })
    }

    /// Records an operation on two tensors, after broadcasting both to one shape.
    #[track_caller]
    fn binary(
        &self,
        other: &Self,
        function: Binary,
        compute: impl FnOnce(&Array<T>, &Array<T>) -> Result<(Array<T>, Pullback<T>, Pullback<T>)>,
    ) -> Self {
        let at = Location::caller();
        let broadcast = || {
            let (a, b) = (self.array()?, other.array()?);
            a.same_device(function.name(), &b)?;
            let Some(shape) = broadcast_shape(a.shape(), b.shape()) else {
                return Err(shapes_error(function.name(), &a, &b, BROADCAST_RULE));
            };
            let stretch = |x: &Self, array: &Array<T>| {
                if array.shape() == shape { x.clone() } else { x.broadcast_to(&shape) }
            };
            Ok((stretch(self, &a), stretch(other, &b)))
        };
        match broadcast() {
            Ok((a, b)) => Self::record(function.name(), at, &[&a, &b], |values| {
                let (y, along_a, along_b) = compute(&values[0], &values[1])?;
                Ok((y, vec![along_a, along_b]))
            }),
            Err(error) => Self::from(error.at(at)),
        }
    }
    // ANCHOR_END: broadcast

    /// Records an operation on one tensor.
    #[track_caller]
    pub(super) fn unary(
        &self,
        operation: &'static str,
        compute: impl FnOnce(&Array<T>) -> Result<(Array<T>, Pullback<T>)>,
    ) -> Self {
        Self::record(operation, Location::caller(), &[self], |values| {
            let (y, pullback) = compute(&values[0])?;
            Ok((y, vec![pullback]))
        })
    }
}

/// A rule for a gradient, from `dy` to `dx`.
pub(super) fn pull<T: Element>(
    rule: impl Fn(&Array<T>) -> Result<Array<T>> + 'static,
) -> Pullback<T> {
    Box::new(rule)
}
