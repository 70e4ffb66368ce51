//! Tensors: a shape, and the elements in row-major order.

use thiserror::Error;

/// A dense `f32` tensor in row-major order: the last index moves fastest, so element `[i, j]` of a `[rows, cols]`
/// matrix is at `i * cols + j`. A scalar has the empty shape `[]` and one element.
///
/// Levels return tensors in this form; they don't compute in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Vec<f32>,
}

/// The error if a number of elements doesn't match the shape.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the shape {shape:?} does not hold {elements} elements")]
pub struct ShapeError {
    /// The shape.
    pub shape: Vec<usize>,
    /// The number of elements.
    pub elements: usize,
}

impl ShapeError {
    /// Checks that a shape has this number of elements. It is also an error if the product of the lengths overflows, as
    /// it may for a shape from a file.
    pub(crate) fn check(shape: &[usize], elements: usize) -> Result<(), Self> {
        if shape.iter().try_fold(1_usize, |n, &axis| n.checked_mul(axis)) == Some(elements) {
            Ok(())
        } else {
            Err(Self { shape: shape.to_vec(), elements })
        }
    }
}

impl Tensor {
    /// A tensor of this shape with these elements, row-major.
    ///
    /// # Errors
    /// If the number of elements of `data` doesn't fit `shape`.
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<f32>) -> Result<Self, ShapeError> {
        let shape = shape.into();
        ShapeError::check(&shape, data.len())?;
        Ok(Self { shape, data })
    }

    /// A tensor of this shape, all zeros.
    #[must_use]
    pub fn zeros(shape: impl Into<Vec<usize>>) -> Self {
        let shape = shape.into();
        let data = vec![0.0; shape.iter().product()];
        Self { shape, data }
    }

    /// A scalar: shape `[]`, one element.
    #[must_use]
    pub fn scalar(value: f32) -> Self {
        Self { shape: Vec::new(), data: vec![value] }
    }

    /// The length of each axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements, row-major.
    #[must_use]
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The elements, row-major, to be changed in place.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// The elements, row-major, without the shape.
    #[must_use]
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }

    /// The flat index of the first NaN or infinity, if there is one.
    #[must_use]
    pub fn first_non_finite(&self) -> Option<usize> {
        self.data.iter().position(|value| !value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_must_hold_the_elements() {
        let error = Tensor::new([2, 3], vec![0.0; 5]).unwrap_err();
        assert_eq!(error.to_string(), "the shape [2, 3] does not hold 5 elements");
        assert_eq!(Tensor::new([], vec![1.0]).unwrap(), Tensor::scalar(1.0));
    }

    #[test]
    fn the_first_non_finite_element_is_found() {
        let tensor = Tensor::new([4], vec![0.0, f32::MAX, f32::NEG_INFINITY, f32::NAN]).unwrap();
        assert_eq!(tensor.first_non_finite(), Some(2));
        assert_eq!(Tensor::zeros([2, 2]).first_non_finite(), None);
    }
}
