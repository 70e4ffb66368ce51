//! The interface to cuBLAS and cuBLASLt: a product is planned once, and run at every step.
#![allow(unsafe_code, reason = "NVIDIA's libraries take addresses")]

use std::fmt;

use cudarc::driver::sys::CUdevice_attribute;
use gpu::{Gpu, GpuError, Result};

use crate::column_major::{ColumnMajor, Matmul, ProductShape};
use crate::epilogue::Epilogue;

/// A library that multiplies matrices in one stream.
pub trait Library {
    /// Plans a product; `None` if the library has no algorithm for it.
    ///
    /// # Errors
    /// [`GpuError::Library`] if the library rejects the product.
    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>>;
}

/// A planned product.
pub trait Routine {
    /// Computes the product. `addresses` are the addresses of the first operand, the second operand, and the result.
    ///
    /// # Safety
    /// The matrices and the epilogue's buffers have the sizes for which the product was planned.
    ///
    /// # Errors
    /// [`GpuError::Library`] if an address has a smaller alignment than planned, or the library rejects the call.
    unsafe fn run(&self, addresses: [u64; 3], pointers: EpiloguePointers) -> Result<()>;
}

/// The description of a product that is passed to a library.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The product of row-major matrices.
    pub matmul: Matmul,
    /// The sizes of the product.
    pub shape: ProductShape,
    /// The operation that the library applies to the product.
    pub epilogue: Epilogue,
    /// The description of the same product in terms of column-major matrices.
    pub call: ColumnMajor,
    /// The factor by which the library multiplies the result's old contents before adding them; if it is 0, the library
    /// doesn't read them.
    pub beta: f32,
    /// The addresses of the epilogue's buffers when the product is planned.
    pub pointers: EpiloguePointers,
    /// The leading dimension of the mask.
    pub mask_ld: usize,
    /// The alignments of the operands in bytes: first, second, result.
    pub alignments: [u32; 3],
}

/// Prints, for example, `matmul_a_bt+BIAS of [8, 30] and [10, 30]`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([m, n, k], name) = (self.shape, self.epilogue.operation(self.matmul));
        match self.matmul {
            Matmul::ABt => write!(f, "{name} of [{m}, {k}] and [{n}, {k}]"),
            Matmul::AtB => write!(f, "{name} of [{k}, {m}] and [{k}, {n}]"),
            Matmul::AB => write!(f, "{name} of [{m}, {k}] and [{k}, {n}]"),
        }
    }
}

/// The addresses of an epilogue's buffers; 0 if it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpiloguePointers {
    /// `CUBLASLT_MATMUL_DESC_BIAS_POINTER`: a bias to be read, or its gradient to be written.
    pub bias: u64,
    /// `CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER`: the mask.
    pub aux: u64,
}

/// Returns a conversion from a library function's status to an error that names the call and the product, for
/// `map_err(rejected(call, product))`.
pub(crate) fn rejected<S: fmt::Display>(
    call: &str,
    product: &impl fmt::Display,
) -> impl Fn(S) -> GpuError {
    move |status| {
        GpuError::Library(format!(
            "{call} returned {status} for {product}; on the emulated GPU (--device emulated) a line on \
             standard error names the argument at fault"
        ))
    }
}

/// An object of a library, with the function that destroys it.
pub(crate) struct Owned<T: Copy, E>(pub(crate) T, pub(crate) unsafe fn(T) -> Result<(), E>);

impl<T: Copy, E> Drop for Owned<T, E> {
    fn drop(&mut self) {
        // SAFETY: the library made the object, and it is dropped once. Failures are ignored, because `drop` can't
        // report them.
        let _ = unsafe { (self.1)(self.0) };
    }
}

/// The size of a library's workspace in bytes: NVIDIA recommends 32 MiB from compute capability 9.0 on, and
/// 4 MiB before (cuBLAS documentation, `cublasSetWorkspace`).
pub(crate) fn workspace(gpu: &Gpu) -> Result<usize> {
    let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    Ok(if gpu.context().attribute(major)? >= 9 { 32 << 20 } else { 4 << 20 })
}
