//! Reductions: sums, means and maxima.

use super::elementwise::pull;
use crate::function::Binary;
use crate::{Array, Element, Tensor};

impl<T: Element> Tensor<T> {
    // ANCHOR: sum
    /// The sum of all elements, of the shape `[]`. Each of them has the slope 1.
    #[track_caller]
    pub fn sum(&self) -> Self {
        self.unary("sum", |x| {
            let shape = x.shape().to_vec();
            let axes: Vec<usize> = (0..shape.len()).collect();
            Ok((x.sum(&axes)?.reshape(&[])?, pull(move |dy| dy.broadcast(&shape))))
        })
    }

    /// The sums along an axis, which is kept with length 1, so that the result broadcasts
    /// against this tensor.
    #[track_caller]
    pub fn sum_axis(&self, axis: usize) -> Self {
        self.unary("sum_axis", |x| {
            let shape = x.shape().to_vec();
            Ok((x.sum(&[axis])?, pull(move |dy| dy.broadcast(&shape))))
        })
    }
    // ANCHOR_END: sum

    /// The mean of all elements, of the shape `[]`; NaN for an empty tensor.
    #[track_caller]
    pub fn mean(&self) -> Self {
        let count = self.array().map_or(0, |x| x.len());
        self.sum().scale(one_over(count))
    }

    /// The means along an axis, which is kept with length 1.
    #[track_caller]
    pub fn mean_axis(&self, axis: usize) -> Self {
        let count = self.array().ok().and_then(|x| x.shape().get(axis).copied());
        self.sum_axis(axis).scale(one_over(count.unwrap_or(0)))
    }

    /// The largest element, of the shape `[]`. Its slope is 1; if several elements are largest, they
    /// share it equally.
    #[track_caller]
    pub fn max(&self) -> Self {
        let count = self.array().map_or(0, |x| x.len());
        self.reshape([count]).max_axis(0).reshape([])
    }

    /// The largest elements along an axis, which is kept with length 1.
    #[track_caller]
    pub fn max_axis(&self, axis: usize) -> Self {
        self.unary("max_axis", |x| {
            let (y, x) = (x.max(axis)?, x.clone());
            let largest = y.clone();
            let rule = move |dy: &Array<T>| {
                let is_largest = x.zip(Binary::Equal, &largest)?;
                let share = dy.zip(Binary::Div, &is_largest.sum(&[axis])?)?;
                share.zip(Binary::Mul, &is_largest)
            };
            Ok((y, pull(rule)))
        })
    }
}

fn one_over<T: Element>(count: usize) -> T {
    T::from_f64(1.0 / count as f64)
}
