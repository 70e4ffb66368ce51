//! What an operation has to do, and whether its buffers are large enough for it.

use crate::{GpuError, Result};

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
    /// The buffer that is too small.
    pub fn new(
        operation: &'static str,
        buffers: &[(&'static str, usize, usize)],
        flops: usize,
    ) -> Result<Self> {
        for &(buffer, elements, expected) in buffers {
            if elements < expected {
                return Err(GpuError::Shape { operation, buffer, elements, expected });
            }
        }
        let elements: usize = buffers.iter().map(|(_, _, expected)| expected).sum();
        Ok(Self { operation, bytes: elements * size_of::<f32>(), flops })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_too_small_is_named() {
        let work = Work::new("relu", &[("z", 8, 8), ("a", 9, 8)], 8).unwrap();
        assert_eq!((work.bytes, work.flops), (64, 8));
        let said = Work::new("relu", &[("z", 8, 8), ("a", 7, 8)], 8).unwrap_err().to_string();
        assert_eq!(said, "relu: a holds 7 elements, and its shape asks for 8");
    }
}
