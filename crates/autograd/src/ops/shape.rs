//! Operations that change shapes, select elements, or move them to another device.

use std::ops::Range;
use std::panic::Location;

use super::elementwise::pull;
use crate::{Array, Device, Element, Tensor};

impl<T: Element> Tensor<T> {
    // ANCHOR: views
    /// Exchanges the last two axes, without copying.
    #[track_caller]
    pub fn transpose(&self) -> Self {
        self.unary("transpose", |x| Ok((x.transpose()?, pull(Array::transpose))))
    }

    /// The same elements in row-major order in another shape. They are copied only if they aren't
    /// contiguous.
    #[track_caller]
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Self {
        self.unary("reshape", |x| {
            let old = x.shape().to_vec();
            Ok((x.reshape(shape.as_ref())?, pull(move |dy| dy.reshape(&old))))
        })
    }

    /// A range of an axis, without copying. The other elements have no influence on the result, so their
    /// gradient is 0.
    #[track_caller]
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Self {
        self.unary("slice", |x| {
            let length = x.axis("slice", axis)?;
            let start = range.start;
            Ok((x.slice(axis, &range)?, pull(move |dy| dy.place(axis, start, length))))
        })
    }
    // ANCHOR_END: views

    /// The rows (along the first axis) with these indices, in this order. A row that is listed twice gets
    /// the sum of both gradients.
    #[track_caller]
    pub fn index(&self, rows: &[usize]) -> Self {
        self.unary("index", |x| {
            let (shape, numbers) = (x.shape().to_vec(), rows.to_vec());
            Ok((x.rows(rows)?, pull(move |dy| dy.add_rows(&numbers, &shape))))
        })
    }

    /// Concatenates tensors along an axis. Each gets its part of the gradient.
    #[track_caller]
    pub fn concat(tensors: &[&Self], axis: usize) -> Self {
        Self::record("concat", Location::caller(), tensors, |values| {
            let whole = Array::concat(values, axis)?;
            let mut end = 0;
            let part = |value: &Array<T>| {
                let range = end..end + value.shape()[axis];
                end = range.end;
                pull(move |dy: &Array<T>| dy.slice(axis, &range))
            };
            Ok((whole, values.iter().map(part).collect()))
        })
    }

    /// Copies the tensor to another device. Its gradient is copied back.
    #[track_caller]
    pub fn to(&self, device: &Device) -> Self {
        self.unary("to", |x| {
            let home = x.device();
            Ok((x.to(device)?, pull(move |dy| dy.to(&home))))
        })
    }
}
