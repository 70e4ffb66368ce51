//! The amount of work of an operation (floating-point operations and bytes), and the check that its buffers are large
//! enough.

use crate::{GpuError, Result};

/// The number of elements of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(usize);

/// Converts a length along one axis from `u32` or `usize` to `usize`; `usize::MAX` if it doesn't fit.
#[doc(hidden)]
pub fn length(length: impl TryInto<usize>) -> usize {
    length.try_into().unwrap_or(usize::MAX)
}

/// The product of these lengths, as in `size([m, k])`; 1 if there are none. It saturates at `usize::MAX` instead of
/// wrapping: no buffer is that large, so [`Work::new`] rejects it.
#[must_use]
pub fn size<const N: usize>(lengths: [usize; N]) -> Size {
    Size(lengths.into_iter().fold(1, usize::saturating_mul))
}

impl Size {
    /// The number.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
}

/// The work of a launch or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub operation: &'static str,
    /// The total size of the arguments in bytes: the minimum that has to be loaded or stored.
    pub bytes: usize,
    /// Floating-point operations; an exponential or a logarithm counts as one.
    pub flops: usize,
}

impl Work {
    /// The work of an operation, if each of its buffers is as large as its shape. A kernel can't check that, because it
    /// only gets an address. A buffer is given by its name, its number of elements, and the number of elements in its
    /// shape; a buffer that is both read and written is listed twice.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for the first buffer that is too small.
    pub fn new(
        operation: &'static str,
        buffers: &[(&'static str, usize, Size)],
        flops: Size,
    ) -> Result<Self> {
        let nothing = Self { operation, bytes: 0, flops: flops.0 };
        buffers.iter().try_fold(nothing, |work, &(buffer, elements, size)| {
            work.with_buffer(buffer, elements, size, size_of::<f32>())
        })
    }

    /// This work with one more buffer, whose elements have `bytes` bytes each.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_buffer(
        &self,
        buffer: &'static str,
        elements: usize,
        Size(expected): Size,
        bytes: usize,
    ) -> Result<Self> {
        let operation = self.operation;
        if elements < expected {
            return Err(GpuError::Shape { operation, buffer, elements, expected });
        }
        let bytes = self.bytes.saturating_add(expected.saturating_mul(bytes));
        Ok(Self { bytes, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_too_small_is_named() {
        let eight = size([8]);
        let work = Work::new("relu", &[("z", 8, eight), ("a", 9, eight)], eight).unwrap();
        assert_eq!((work.bytes, work.flops), (64, 8));
        let said = Work::new("relu", &[("z", 8, eight), ("a", 7, eight)], eight).unwrap_err();
        assert_eq!(said.to_string(), "relu: a holds 7 elements, and its shape needs 8");
    }

    #[test]
    fn a_shape_whose_size_overflows_fits_nowhere() {
        // 2^64 would wrap to 0, which fits into every buffer.
        for lengths in [[1 << 61, 8], [1 << 63, 2], [usize::MAX, usize::MAX]] {
            let said = Work::new("relu", &[("z", 8, size(lengths))], size([1])).unwrap_err();
            assert_eq!(
                said.to_string(),
                "relu: z holds 8 elements, and its shape needs more than can be counted"
            );
        }
        assert_eq!(size([1 << 61, 8, 0]), size([0]));
        assert_eq!(size([2, 3, 4]).get(), 24);
    }
}
