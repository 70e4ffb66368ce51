//! cuBLAS: `cublasSgemm`, through cudarc.
#![allow(unsafe_code, reason = "cuBLAS is a C library")]

use cudarc::cublas::sys::{
    cublasMath_t, cublasOperation_t, cublasSetMathMode, cublasSetWorkspace_v2,
};
use cudarc::cublas::{CudaBlas, Gemm, GemmConfig};
use cudarc::driver::{CudaSlice, DevicePtr};
use gpu::Gpu;

use crate::column_major::{ColumnMajor, Operand};
use crate::error::{Error, Result};
use crate::state::buffer;
use crate::{Buffer, Stream, View, library};

/// A handle of cuBLAS, for one stream.
pub(crate) struct Cublas {
    blas: CudaBlas,
    /// Memory that the library computes in. Its own would be allocated while it computes, which
    /// must not be while a graph is captured.
    _workspace: CudaSlice<u8>,
}

impl Cublas {
    pub(crate) fn new(gpu: &Gpu, stream: &Stream, tf32: bool) -> Result<Self> {
        library::install(gpu, "cublas", emulated_cublas::library_path())?;
        let said =
            |call| move |error: cudarc::cublas::result::CublasError| refused(call, error, "");
        let blas = CudaBlas::new(stream.clone()).map_err(said("cublasCreate"))?;
        let workspace: CudaSlice<u8> = buffer(stream, library::workspace(gpu)?)?;
        let mode = if tf32 {
            cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH
        } else {
            cublasMath_t::CUBLAS_DEFAULT_MATH
        };
        let address = workspace.device_ptr(stream).0;
        // SAFETY: the handle lives as long as `blas`, and the workspace lives beside it.
        unsafe {
            cublasSetWorkspace_v2(*blas.handle(), address as *mut _, workspace.len())
                .result()
                .map_err(said("cublasSetWorkspace"))?;
            cublasSetMathMode(*blas.handle(), mode).result().map_err(said("cublasSetMathMode"))?;
        }
        Ok(Self { blas, _workspace: workspace })
    }

    /// Computes a product.
    ///
    /// # Safety
    /// The operands lie in these buffers as `call` says.
    pub(crate) unsafe fn run(
        &self,
        call: &ColumnMajor,
        (first, second): (&View<'_>, &View<'_>),
        result: &mut Buffer,
        product: impl Fn() -> String,
    ) -> Result<()> {
        let int = |size: usize| {
            i32::try_from(size).map_err(|_| Error::TooLarge { product: product(), size })
        };
        let operation = |operand: &Operand| match operand.transposed {
            true => cublasOperation_t::CUBLAS_OP_T,
            false => cublasOperation_t::CUBLAS_OP_N,
        };
        let config = GemmConfig {
            transa: operation(&call.first),
            transb: operation(&call.second),
            m: int(call.result.rows)?,
            n: int(call.result.columns)?,
            k: int(call.k)?,
            alpha: 1.0_f32,
            lda: int(call.first.ld)?,
            ldb: int(call.second.ld)?,
            // The result is written without being read.
            beta: 0.0,
            ldc: int(call.result.ld)?,
        };
        // SAFETY: as the caller promises.
        let done = unsafe { self.blas.gemm(config, first, second, result) };
        done.map_err(|error| refused("cublasSgemm", error, &product()))
    }
}

fn refused(call: &'static str, error: cudarc::cublas::result::CublasError, product: &str) -> Error {
    let product = if product.is_empty() { "a handle" } else { product };
    Error::Library { call, status: error.to_string(), product: product.into() }
}
