//! Arrays: values without gradients.

use std::ops::Range;

use crate::buffer::{self, Buffer};
use crate::function::{Binary, Unary};
use crate::layout::{Layout, broadcast_shape};
use crate::{Device, Element, ErrorKind, Result};

/// Numbers in a shape, on a device: the type of a [`Tensor`](crate::Tensor)'s value and gradient, and of
/// the operands of gradient rules. Clones and views share the elements, which never change while they are
/// shared.
#[derive(Clone, Debug)]
pub struct Array<T> {
    pub(crate) buffer: Buffer<T>,
    pub(crate) layout: Layout,
}

impl<T: Element> Array<T> {
    /// Elements in row-major order, on the CPU.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the number of elements doesn't match the shape.
    pub fn new(shape: &[usize], elements: Vec<T>) -> Result<Self> {
        if !holds(shape, elements.len()) {
            let reason = format!("it does not hold {} elements", elements.len());
            return Err(shape_error("new", shape, reason));
        }
        addressable("new", shape)?;
        Ok(Self::contiguous(Buffer::new(elements, &Device::Cpu)?, shape))
    }

    /// An array filled with one number: a view of a single element, without copies.
    pub(crate) fn full(shape: &[usize], value: T, device: &Device) -> Result<Self> {
        Self::contiguous(Buffer::new(vec![value], device)?, &[]).broadcast(shape)
    }

    fn contiguous(buffer: Buffer<T>, shape: &[usize]) -> Self {
        Self { buffer, layout: Layout::contiguous(shape) }
    }

    fn view(&self, layout: Layout) -> Self {
        Self { buffer: self.buffer.clone(), layout }
    }

    /// The length of each axis; `[]` for a single number.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device that holds the elements.
    #[must_use]
    pub fn device(&self) -> Device {
        self.buffer.device()
    }

    /// The elements in row-major order, copied to the CPU.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        buffer::to_vec(self)
    }

    /// A copy of the array on another device; on the same device, the array itself.
    pub(crate) fn to(&self, device: &Device) -> Result<Self> {
        if self.device() == *device {
            return Ok(self.clone());
        }
        Ok(Self::contiguous(Buffer::new(self.to_vec()?, device)?, self.shape()))
    }

    // Views: these share the elements.

    pub(crate) fn transpose(&self) -> Result<Self> {
        if self.shape().len() < 2 {
            let reason = "it has no two axes to exchange".into();
            return Err(shape_error("transpose", self.shape(), reason));
        }
        Ok(self.view(self.layout.transposed()))
    }

    pub(crate) fn reshape(&self, shape: &[usize]) -> Result<Self> {
        if !holds(shape, self.len()) {
            let reason = format!("its {} elements do not fill {shape:?}", self.len());
            return Err(shape_error("reshape", self.shape(), reason));
        }
        addressable("reshape", shape)?;
        match self.layout.reshaped(shape) {
            Some(layout) => Ok(self.view(layout)),
            None => Ok(Self::contiguous(buffer::copy(self)?, shape)),
        }
    }

    pub(crate) fn slice(&self, axis: usize, range: &Range<usize>) -> Result<Self> {
        let length = self.axis("slice", axis)?;
        if range.start > range.end || range.end > length {
            let reason = format!("axis {axis} has no range {range:?}");
            return Err(shape_error("slice", self.shape(), reason));
        }
        Ok(self.view(self.layout.sliced(axis, range)))
    }

    pub(crate) fn broadcast(&self, shape: &[usize]) -> Result<Self> {
        addressable("broadcast_to", shape)?;
        match broadcast_shape(self.shape(), shape) {
            Some(result) if result == shape => Ok(self.view(self.layout.broadcast(shape))),
            _ => {
                let reason = format!("it does not broadcast to {shape:?}");
                Err(shape_error("broadcast_to", self.shape(), reason))
            }
        }
    }

    // Operations that compute new elements.

    pub(crate) fn map(&self, function: Unary<T>) -> Result<Self> {
        Ok(Self::contiguous(buffer::map(function, self)?, self.shape()))
    }

    pub(crate) fn zip(&self, function: Binary, other: &Self) -> Result<Self> {
        let name = function.name();
        self.same_device(name, other)?;
        let Some(shape) = broadcast_shape(self.shape(), other.shape()) else {
            return Err(shapes_error(name, self, other, BROADCAST_RULE));
        };
        let (a, b) = (self.broadcast(&shape)?, other.broadcast(&shape)?);
        Ok(Self::contiguous(buffer::zip(function, &a, &b)?, &shape))
    }

    pub(crate) fn matmul(&self, other: &Self) -> Result<Self> {
        self.same_device("matmul", other)?;
        match (self.shape(), other.shape()) {
            (&[m, k], &[l, n]) if k == l => {
                addressable("matmul", &[m, n])?;
                Ok(Self::contiguous(buffer::matmul(self, other)?, &[m, n]))
            }
            ([_, _], [_, _]) => {
                let rule = "the first needs as many columns as the second has rows";
                Err(shapes_error("matmul", self, other, rule))
            }
            _ => Err(shapes_error("matmul", self, other, "both have to be matrices")),
        }
    }

    /// The sums over these axes, which are kept with length 1.
    pub(crate) fn sum(&self, axes: &[usize]) -> Result<Self> {
        let mut shape = self.shape().to_vec();
        for &axis in axes {
            self.axis("sum", axis)?;
            shape[axis] = 1;
        }
        Ok(Self::contiguous(buffer::sum(self, axes)?, &shape))
    }

    /// The gradient of [`broadcast`](Self::broadcast): each element of the smaller shape is the sum
    /// of all elements that it was broadcast to.
    pub(crate) fn sum_to(&self, shape: &[usize]) -> Result<Self> {
        let new = self.shape().len() - shape.len();
        let stretched = |&axis: &usize| axis < new || shape[axis - new] != self.shape()[axis];
        let axes: Vec<usize> = (0..self.shape().len()).filter(stretched).collect();
        if axes.is_empty() { Ok(self.clone()) } else { self.sum(&axes)?.reshape(shape) }
    }

    /// The largest elements along an axis, which is kept with length 1.
    pub(crate) fn max(&self, axis: usize) -> Result<Self> {
        if self.axis("max", axis)? == 0 {
            return Err(shape_error(
                "max",
                self.shape(),
                "an empty axis has no largest element".into(),
            ));
        }
        let mut shape = self.shape().to_vec();
        shape[axis] = 1;
        Ok(Self::contiguous(buffer::max(self, axis)?, &shape))
    }

    /// An array of zeros into which this one is copied, at index `start` of `axis`, which has `length` elements.
    pub(crate) fn place(&self, axis: usize, start: usize, length: usize) -> Result<Self> {
        let mut shape = self.shape().to_vec();
        shape[axis] = length;
        Ok(Self::contiguous(buffer::assemble(&shape, axis, &[(start, self)])?, &shape))
    }

    /// Concatenates arrays along an axis.
    pub(crate) fn concat(arrays: &[Self], axis: usize) -> Result<Self> {
        let [first, rest @ ..] = arrays else {
            return Err(shape_error("concat", &[], "there are no arrays to concatenate".into()));
        };
        let mut length = first.axis("concat", axis)?;
        let mut parts = vec![(0, first)];
        for next in rest {
            first.same_device("concat", next)?;
            let agree = |(i, (n, m)): (usize, (&usize, &usize))| i == axis || n == m;
            let lengths = first.shape().iter().zip(next.shape()).enumerate();
            if first.shape().len() != next.shape().len() || !lengths.into_iter().all(agree) {
                let rule = "the shapes may differ only along the axis of concatenation";
                return Err(shapes_error("concat", first, next, rule));
            }
            parts.push((length, next));
            length = length.saturating_add(next.shape()[axis]);
        }
        let mut shape = first.shape().to_vec();
        shape[axis] = length;
        addressable("concat", &shape)?;
        Ok(Self::contiguous(buffer::assemble(&shape, axis, &parts)?, &shape))
    }

    /// The rows (along the first axis) with these indices.
    pub(crate) fn rows(&self, rows: &[usize]) -> Result<Self> {
        let length = self.axis("index", 0)?;
        if let Some(row) = rows.iter().find(|&&row| row >= length) {
            let reason = format!("there is no row {row}; its {length} rows are numbered from 0");
            return Err(shape_error("index", self.shape(), reason));
        }
        let shape: Vec<usize> = [&[rows.len()], &self.shape()[1..]].concat();
        addressable("index", &shape)?;
        Ok(Self::contiguous(buffer::rows(self, rows)?, &shape))
    }

    /// Zeros of a shape, to which each row of this array is added at the row with its index in `rows`.
    pub(crate) fn add_rows(&self, rows: &[usize], shape: &[usize]) -> Result<Self> {
        Ok(Self::contiguous(buffer::add_rows(self, rows, shape)?, shape))
    }

    /// `self += factor · other`, in place if the elements aren't shared.
    pub(crate) fn add_scaled(&mut self, factor: T, other: &Self) -> Result<()> {
        self.same_device("add", other)?;
        if self.shape() != other.shape() {
            return Err(shapes_error(
                "add",
                self,
                other,
                "in place, the shapes have to be the same",
            ));
        }
        if self.layout != Layout::contiguous(self.shape()) {
            *self = Self::contiguous(buffer::copy(self)?, self.shape());
        }
        buffer::add_scaled(&mut self.buffer, factor, other)
    }

    pub(crate) fn same_device(&self, operation: &'static str, other: &Self) -> Result<()> {
        let (left, right) = (self.device(), other.device());
        if left == right {
            return Ok(());
        }
        let (left, right) = (left.to_string(), right.to_string());
        Err(ErrorKind::Devices { operation, left, right }.into())
    }

    /// The length of an axis; an error if there is no such axis.
    pub(crate) fn axis(&self, operation: &'static str, axis: usize) -> Result<usize> {
        self.shape().get(axis).copied().ok_or_else(|| {
            let axes = self.shape().len();
            let reason = format!("there is no axis {axis}; its {axes} axes are numbered from 0");
            shape_error(operation, self.shape(), reason)
        })
    }
}

/// Whether a shape has this number of elements. A product that overflows is a different number.
fn holds(shape: &[usize], elements: usize) -> bool {
    shape.iter().try_fold(1_usize, |n, &length| n.checked_mul(length)) == Some(elements)
}

/// The most elements that can be addressed, for both types of elements.
const MAX_ELEMENTS: usize = isize::MAX as usize / size_of::<f64>();

/// Fails if a shape has more elements than can be addressed. An empty axis counts as length 1, because the
/// lengths of the other axes are multiplied anyway, for strides and in ndarray.
fn addressable(operation: &'static str, shape: &[usize]) -> Result<()> {
    let multiply = |count: usize, &length: &usize| count.checked_mul(length.max(1));
    match shape.iter().try_fold(1, multiply) {
        Some(count) if count <= MAX_ELEMENTS => Ok(()),
        _ => Err(shape_error(operation, shape, "no computer has that much memory".into())),
    }
}

/// The broadcasting rule, as worded in error messages about two incompatible shapes.
pub(crate) const BROADCAST_RULE: &str =
    "aligned at the last axis, two lengths have to be equal, or one of them has to be 1";

fn shape_error(operation: &'static str, shape: &[usize], reason: String) -> crate::Error {
    ErrorKind::Shape { operation, shape: shape.to_vec(), reason }.into()
}

pub(crate) fn shapes_error<T: Element>(
    operation: &'static str,
    left: &Array<T>,
    right: &Array<T>,
    rule: &'static str,
) -> crate::Error {
    let (left, right) = (left.shape().to_vec(), right.shape().to_vec());
    ErrorKind::Shapes { operation, left, right, rule }.into()
}
