//! What cuBLAS and cuBLASLt have in common: a product is described, planned once, and run at every step.
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

/// A product, planned.
pub trait Routine {
    /// Computes the product from matrices at the addresses of its first operand, its second, and its
    /// result.
    ///
    /// # Safety
    /// The matrices, and what the epilogue reads and writes, are as the product was planned.
    ///
    /// # Errors
    /// If the library refuses the call.
    unsafe fn run(&self, addresses: [u64; 3], pointers: EpiloguePointers) -> Result<()>;

    /// What was measured when the library chose an algorithm, if anything was.
    fn measured(&self) -> Option<&str> {
        None
    }
}

/// A product, as a library is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The product of row-major matrices.
    pub matmul: Matmul,
    /// Its sizes.
    pub shape: Shape,
    /// What is done to the product on the way.
    pub epilogue: Epilogue,
    /// The same product of column-major matrices.
    pub call: ColumnMajor,
    /// How much of what the result held before is added to it, by cuBLAS: 0 writes without reading.
    pub beta: f32,
    /// Where the epilogue's buffers are when the product is planned.
    pub pointers: EpiloguePointers,
    /// The leading dimension of the mask.
    pub mask_ld: usize,
    /// Multiples of this many bytes at which the operands lie: first, second, result.
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
