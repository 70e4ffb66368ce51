//! What an operation has to do, and whether its buffers are large enough for it.

use crate::{GpuError, Result};

/// How many elements a shape has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(usize);

/// The product of these lengths, `size([m, k])`. One beyond `usize::MAX` is `usize::MAX` and doesn't
/// wrap round: no buffer is that large, so [`Work::new`] refuses it.
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

/// What a launch or a copy has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub operation: &'static str,
    /// Bytes of its arguments: the least that has to go through memory.
    pub bytes: usize,
    /// Floating-point operations; an exponential or a logarithm counts as one.
    pub flops: usize,
}

impl Work {
    /// Checks that each buffer, given with its name and its elements, holds as many as its shape
    /// asks for. A kernel can't check that: it knows an address and nothing of what lies behind.
    /// One that is read and written is listed twice.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for the first buffer that is too small.
    pub fn new(
        operation: &'static str,
        buffers: &[(&'static str, usize, Size)],
        flops: Size,
    ) -> Result<Self> {
        for &(buffer, elements, Size(expected)) in buffers {
            if elements < expected {
                return Err(GpuError::Shape { operation, buffer, elements, expected });
            }
        }
        let bytes = |(_, _, size): &(_, _, Size)| size.0.saturating_mul(size_of::<f32>());
        let bytes = buffers.iter().map(bytes).fold(0, usize::saturating_add);
        Ok(Self { operation, bytes, flops: flops.0 })
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
        assert_eq!(said.to_string(), "relu: a holds 7 elements, and its shape asks for 8");
    }

    #[test]
    fn a_shape_of_more_elements_than_can_be_counted_fits_nowhere() {
        // 2^64 wraps to 0, which every buffer would hold.
        for lengths in [[1 << 61, 8], [1 << 63, 2], [usize::MAX, usize::MAX]] {
            let said = Work::new("relu", &[("z", 8, size(lengths))], size([1])).unwrap_err();
            assert_eq!(
                said.to_string(),
                "relu: z holds 8 elements, and its shape asks for more than can be counted"
            );
        }
        assert_eq!(size([1 << 61, 8, 0]), size([0]));
        assert_eq!(size([2, 3, 4]).get(), 24);
    }
}
