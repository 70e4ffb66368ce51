//! The interface to cuBLAS and cuBLASLt: a product is described, planned once, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use std::fmt;

use cudarc::driver::sys::CUdevice_attribute;
use gpu::Gpu;

use crate::column_major::{ColumnMajor, Matmul, Shape};
use crate::epilogue::Epilogue;
use crate::error::Result;

/// A library that multiplies matrices, in one stream.
pub trait Library {
    /// Whether it has epilogues.
    fn has_epilogues(&self) -> bool;

    /// Plans a product; `None` if the library has no algorithm for it.
    ///
    /// # Errors
    /// If the library refuses the product.
    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>>;
}

/// A planned product.
pub trait Routine {
    /// Computes the product from matrices at the addresses of its first operand, its second, and its
    /// result.
    ///
    /// # Safety
    /// The matrices and the epilogue's buffers have the sizes and alignments that the product was planned
    /// for.
    ///
    /// # Errors
    /// If the library refuses the call.
    unsafe fn run(&self, addresses: [u64; 3], pointers: EpiloguePointers) -> Result<()>;

    /// The table of measurements by which an algorithm was chosen, if candidates were measured.
    fn measured(&self) -> Option<&str> {
        None
    }
}

/// The description of a product, as a library gets it.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The product of row-major matrices.
    pub matmul: Matmul,
    /// Its sizes.
    pub shape: Shape,
    /// The operation that the library applies to the product.
    pub epilogue: Epilogue,
    /// The same product of column-major matrices.
    pub call: ColumnMajor,
    /// The factor of the result's old contents, which cuBLAS adds: 0 overwrites them without reading.
    pub beta: f32,
    /// The addresses of the epilogue's buffers when the product is planned.
    pub pointers: EpiloguePointers,
    /// The leading dimension of the mask.
    pub mask_ld: usize,
    /// The alignments of the operands in bytes: first, second, result.
    pub alignments: [u32; 3],
}

/// `matmul_a_bt+BIAS of [8, 30] and [10, 30]`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([m, n, k], name) = (self.shape, self.epilogue.of(self.matmul));
        match self.matmul {
            Matmul::ABt => write!(f, "{name} of [{m}, {k}] and [{n}, {k}]"),
            Matmul::AtB => write!(f, "{name} of [{k}, {m}] and [{k}, {n}]"),
            Matmul::AB => write!(f, "{name} of [{m}, {k}] and [{k}, {n}]"),
        }
    }
}

/// The addresses that an epilogue reads and writes; 0 where it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpiloguePointers {
    /// `CUBLASLT_MATMUL_DESC_BIAS_POINTER`: a bias to be read, or its gradient to be written.
    pub bias: u64,
    /// `CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER`: the mask.
    pub aux: u64,
}

/// The bytes that a library may compute in: what NVIDIA recommends (cuBLAS documentation,
/// `cublasSetWorkspace`), 32 MiB from compute capability 9.0 on, and 4 MiB before.
pub(crate) fn workspace(gpu: &Gpu) -> Result<usize> {
    let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    Ok(if gpu.context().attribute(major)? >= 9 { 32 << 20 } else { 4 << 20 })
}
