//! The epilogues of cuBLASLt: operations that it applies to a product before writing it. Each replaces a
//! kernel that would read and write the whole matrix once more.

use std::sync::Arc;

use cudarc::cublaslt::sys::cublasLtEpilogue_t as Code;
use cudarc::driver::{CudaSlice, CudaStream};
use gpu::Result;
use gpu::memory::buffer;

use crate::column_major::Matmul;

/// An epilogue. The discriminant is its code in cuBLASLt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Epilogue {
    /// No operation.
    None = Code::CUBLASLT_EPILOGUE_DEFAULT as u32,
    /// Adds `b` to every sample.
    Bias = Code::CUBLASLT_EPILOGUE_BIAS as u32,
    /// Adds `b`, sets a mask bit for each element that is not negative, and applies ReLU.
    ReluAuxBias = Code::CUBLASLT_EPILOGUE_RELU_AUX_BIAS as u32,
    /// Keeps the elements whose mask bit is set, and sums them over the batch.
    DreluBgrad = Code::CUBLASLT_EPILOGUE_DRELU_BGRAD as u32,
    /// Sums an operand over the batch: in `dw = dzᵀ · a_prev`, the operand `dz`.
    Bgradb = Code::CUBLASLT_EPILOGUE_BGRADB as u32,
}

impl Epilogue {
    /// Whether the epilogue reads or writes a vector with one element per unit: `b` or `db`.
    pub(crate) const fn uses_bias(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether the epilogue reads or writes a mask.
    pub(crate) const fn uses_mask(self) -> bool {
        matches!(self, Self::ReluAuxBias | Self::DreluBgrad)
    }

    /// The name of a product with this epilogue, as it appears in plans and profiles.
    #[must_use]
    pub const fn operation(self, matmul: Matmul) -> &'static str {
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

/// A mask with one bit for each element of `a`, `[B, n]`: the backward pass needs no other information about `z`. Each
/// sample's bits begin at a multiple of [`MASK_PADDING`].
pub struct Mask {
    pub(crate) bits: CudaSlice<u8>,
    /// The leading dimension: bits from one sample to the next.
    pub(crate) ld: usize,
}

// ANCHOR: mask
/// cuBLASLt requires the leading dimension of a mask to be a multiple of this
/// (`CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD` in its documentation).
pub const MASK_PADDING: usize = 128;

/// The leading dimension of a mask for `n` units.
#[must_use]
pub const fn mask_ld(n: usize) -> usize {
    n.next_multiple_of(MASK_PADDING)
}
// ANCHOR_END: mask

impl Mask {
    /// An uninitialised mask for a batch and `n` units.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(stream: &Arc<CudaStream>, batch: usize, n: usize) -> Result<Self> {
        let ld = mask_ld(n);
        Ok(Self { bits: buffer(stream, batch * ld / 8)?, ld })
    }
}
