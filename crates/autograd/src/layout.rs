//! Layouts: the arrangement of an array's elements in a buffer.

use std::ops::Range;

/// A shape, and the positions of its elements: element `[i, j, …]` is at index
/// `offset + i·strides[0] + j·strides[1] + …` of the buffer.
///
/// Most operations that change a shape only change the layout and move no element: their result is a
/// *view*. Transposing a matrix exchanges its strides. A broadcast axis has stride 0, so that every
/// index refers to the same element.
// ANCHOR: layout
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<usize>,
    pub(crate) offset: usize,
}
// ANCHOR_END: layout

impl Layout {
    /// The row-major layout without gaps: the last index varies fastest.
    pub(crate) fn contiguous(shape: &[usize]) -> Self {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1);
        }
        Self { shape: shape.to_vec(), strides, offset: 0 }
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the elements are in row-major order without gaps, at any offset.
    pub(crate) fn is_contiguous(&self) -> bool {
        let packed = Self::contiguous(&self.shape);
        let mut axes = self.shape.iter().zip(self.strides.iter().zip(&packed.strides));
        axes.all(|(&length, (a, b))| length <= 1 || a == b)
    }

    // ANCHOR: views
    /// The layout with the last two axes exchanged.
    pub(crate) fn transposed(&self) -> Self {
        let mut view = self.clone();
        let last = self.shape.len() - 1;
        view.shape.swap(last - 1, last);
        view.strides.swap(last - 1, last);
        view
    }

    /// The layout of the same elements in another shape; `None` if they aren't contiguous.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Option<Self> {
        self.is_contiguous().then(|| Self { offset: self.offset, ..Self::contiguous(shape) })
    }

    /// The layout of the elements in a range of an axis.
    pub(crate) fn sliced(&self, axis: usize, range: &Range<usize>) -> Self {
        let mut view = self.clone();
        view.shape[axis] = range.len();
        view.offset += range.start * self.strides[axis];
        view
    }

    /// The layout broadcast to a larger shape: every new axis, and every axis of length 1 that
    /// is longer there, gets stride 0.
    pub(crate) fn broadcast(&self, shape: &[usize]) -> Self {
        let new = shape.len() - self.shape.len();
        let mut strides = vec![0; shape.len()];
        for (axis, &length) in self.shape.iter().enumerate() {
            if length == shape[new + axis] {
                strides[new + axis] = self.strides[axis];
            }
        }
        Self { shape: shape.to_vec(), strides, offset: self.offset }
    }
    // ANCHOR_END: views
}

// ANCHOR: broadcast_shape
/// NumPy's rule: shapes are aligned at their last axes; two lengths are compatible if they are
/// equal or one of them is 1, and a missing axis counts as 1.
pub(crate) fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let axes = a.len().max(b.len());
    let length = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(axes) {
        Some(own) => shape[own],
        None => 1,
    };
    (0..axes)
        .map(|axis| match (length(a, axis), length(b, axis)) {
            (n, m) if n == m => Some(n),
            (1, n) | (n, 1) => Some(n),
            _ => None,
        })
        .collect()
}
// ANCHOR_END: broadcast_shape

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        let check = |a: &[usize], b: &[usize], expected: Option<&[usize]>| {
            assert_eq!(broadcast_shape(a, b).as_deref(), expected, "{a:?} {b:?}");
            assert_eq!(broadcast_shape(b, a).as_deref(), expected, "{b:?} {a:?}");
        };
        check(&[3, 4], &[4], Some(&[3, 4]));
        check(&[3, 1], &[1, 4], Some(&[3, 4]));
        check(&[], &[2, 3], Some(&[2, 3]));
        check(&[5, 1, 4], &[3, 1], Some(&[5, 3, 4]));
        check(&[1], &[0], Some(&[0]));
        check(&[3], &[4], None);
        check(&[2, 3], &[2], None);
        check(&[0], &[2], None);
    }

    #[test]
    fn a_view_moves_no_element() {
        let matrix = Layout::contiguous(&[2, 3]);
        assert_eq!(matrix.strides, [3, 1]);
        let turned = matrix.transposed();
        assert_eq!((&turned.shape[..], &turned.strides[..]), (&[3, 2][..], &[1, 3][..]));
        assert!(!turned.is_contiguous() && turned.reshaped(&[6]).is_none());
        let row = matrix.sliced(0, &(1..2));
        assert!(row.is_contiguous() && row.offset == 3);
        assert_eq!(row.reshaped(&[3]).unwrap().offset, 3);
        assert_eq!(row.broadcast(&[4, 2, 3]).strides, [0, 0, 1]);
        assert_eq!(Layout::contiguous(&[2, 0, 3]).len(), 0);
    }
}
