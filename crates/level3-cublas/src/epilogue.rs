//! What cuBLASLt does with a product before it writes it: work that would otherwise be kernels of
//! their own, each of which reads and writes the whole matrix once more.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use gpu::memory::buffer;
use gpu::{Buffer, Result, Size, size};

use crate::column_major::{Matmul, Shape};
use crate::library::EpiloguePointers;

/// An epilogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// The product alone.
    None,
    /// Adds `b` to every sample.
    Bias,
    /// Adds `b`, writes a bit for each element that is not negative, and applies ReLU.
    ReluAuxBias,
    /// Keeps the elements whose bit is set, and sums them over the batch.
    DreluBgrad,
    /// Sums an operand over the batch: of `dw = dzᵀ · a_prev`, the operand `dz`.
    Bgradb,
}

impl Epilogue {
    /// NVIDIA's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "DEFAULT",
            Self::Bias => "BIAS",
            Self::ReluAuxBias => "RELU_AUX_BIAS",
            Self::DreluBgrad => "DRELU_BGRAD",
            Self::Bgradb => "BGRADB",
        }
    }

    /// The name of an operation with this epilogue, as profiles show it.
    #[must_use]
    pub const fn of(self, matmul: Matmul) -> &'static str {
        match (matmul, self) {
            (Matmul::ABt, Self::Bias) => "matmul_a_bt+BIAS",
            (Matmul::ABt, Self::ReluAuxBias) => "matmul_a_bt+RELU_AUX_BIAS",
            (Matmul::AB, Self::DreluBgrad) => "matmul_a_b+DRELU_BGRAD",
            (Matmul::AtB, Self::Bgradb) => "matmul_at_b+BGRADB",
            (Matmul::ABt, _) => "matmul_a_bt",
            (Matmul::AtB, _) => "matmul_at_b",
            (Matmul::AB, _) => "matmul_a_b",
        }
    }
}

impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An epilogue with what it reads and writes beside the product.
pub(crate) enum EpilogueBuffers<'a> {
    /// [`Epilogue::None`]: nothing.
    None,
    /// [`Epilogue::Bias`], of `b`, `[n]`.
    Bias(&'a Buffer),
    /// [`Epilogue::ReluAuxBias`]: reads `b`, `[n]`, and writes the mask.
    ReluAuxBias(&'a Buffer, &'a mut Mask),
    /// [`Epilogue::DreluBgrad`]: reads the mask, and writes `db`, `[n]`.
    DreluBgrad(&'a Mask, &'a mut Buffer),
    /// [`Epilogue::Bgradb`]: writes `db`, `[m]`.
    Bgradb(&'a mut Buffer),
}

impl EpilogueBuffers<'_> {
    /// Which epilogue it is.
    pub(crate) const fn epilogue(&self) -> Epilogue {
        match self {
            Self::None => Epilogue::None,
            Self::Bias(_) => Epilogue::Bias,
            Self::ReluAuxBias(..) => Epilogue::ReluAuxBias,
            Self::DreluBgrad(..) => Epilogue::DreluBgrad,
            Self::Bgradb(_) => Epilogue::Bgradb,
        }
    }

    /// The addresses of its buffers, and the leading dimension of its mask.
    pub(crate) fn pointers(&mut self, stream: &Arc<CudaStream>) -> (EpiloguePointers, usize) {
        let (bias, aux, ld) = match self {
            Self::None => (0, 0, 0),
            Self::Bias(b) => (b.device_ptr(stream).0, 0, 0),
            Self::ReluAuxBias(b, mask) => {
                (b.device_ptr(stream).0, mask.bits.device_ptr_mut(stream).0, mask.ld)
            }
            Self::DreluBgrad(mask, db) => {
                (db.device_ptr_mut(stream).0, mask.bits.device_ptr(stream).0, mask.ld)
            }
            Self::Bgradb(db) => (db.device_ptr_mut(stream).0, 0, 0),
        };
        (EpiloguePointers { bias, aux }, ld)
    }

    /// Its buffers, for a product of this shape: name, elements that there are, elements that are
    /// needed. Those of the mask are its bits, 32 to an element.
    pub(crate) fn buffers(&self, [m, n, _]: Shape) -> Vec<(&'static str, usize, Size)> {
        // Even a 32nd of a size that can't be counted is more than any buffer holds.
        let words = |mask: &Mask| size([size([m, mask.ld]).get() / 32]);
        let mask = |mask: &Mask| ("mask", mask.bits.len() / 4, words(mask));
        match self {
            Self::None => Vec::new(),
            Self::Bias(b) => vec![("b", b.len(), size([n]))],
            Self::ReluAuxBias(b, bits) => vec![("b", b.len(), size([n])), mask(bits)],
            Self::DreluBgrad(bits, db) => vec![mask(bits), ("db", db.len(), size([n]))],
            Self::Bgradb(db) => vec![("db", db.len(), size([m]))],
        }
    }
}

/// A bit for each element of `a`, `[B, n]`: all that the backward pass needs to know of `z`. Each
/// sample's bits begin at a multiple of [`MASK_PADDING`].
pub(crate) struct Mask {
    pub(crate) bits: CudaSlice<u8>,
    /// Bits from one sample to the next.
    pub(crate) ld: usize,
}

// ANCHOR: mask
/// What cuBLASLt wants the leading dimension of a mask to be a multiple of
/// (`CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD` in its documentation).
pub const MASK_PADDING: usize = 128;

/// The leading dimension of a mask for `n` units.
#[must_use]
pub const fn mask_ld(n: usize) -> usize {
    n.next_multiple_of(MASK_PADDING)
}
// ANCHOR_END: mask

impl Mask {
    /// For `n` units and one sample.
    pub(crate) fn new(stream: &Arc<CudaStream>, n: usize) -> Result<Self> {
        let ld = mask_ld(n);
        Ok(Self { bits: buffer(stream, ld / 8)?, ld })
    }

    /// Makes room for this many samples. Says whether the memory is another now.
    pub(crate) fn grow(&mut self, stream: &Arc<CudaStream>, samples: usize) -> Result<bool> {
        let grows = self.bits.len() * 8 < samples * self.ld;
        if grows {
            self.bits = buffer(stream, (samples * self.ld).div_ceil(8))?;
        }
        Ok(grows)
    }
}
