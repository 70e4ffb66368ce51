//! cuBLAS: `cublasSgemm`.
//!
//! This uses cudarc's `result` layer, as `cublaslt` does: dropping cudarc's safe handle panics after a
//! fault on the GPU, and that panic would hide the fault.
#![allow(unsafe_code, reason = "cuBLAS is a C library")]

use std::rc::Rc;
use std::sync::Arc;

use cudarc::cublas::result::{self, CublasError};
use cudarc::cublas::sys::{
    cublasHandle_t, cublasMath_t, cublasOperation_t, cublasSetMathMode, cublasSetWorkspace_v2,
};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use gpu::memory::buffer;
use gpu::{Gpu, GpuError, Result};

use crate::column_major::Operand;
use crate::epilogue::Epilogue;
use crate::library::{EpiloguePointers, Library, Owned, Problem, Routine, rejected, workspace};

/// cuBLAS for one stream.
pub struct Cublas(Rc<Handle>);

/// A handle, destroyed before its workspace is freed.
struct Handle {
    cublas: Owned<cublasHandle_t, CublasError>,
    /// Memory that the library computes in. Without it, the library would allocate some while it computes,
    /// which is forbidden while a graph is captured.
    _workspace: CudaSlice<u8>,
}

impl Cublas {
    /// Loads the library for a stream. With `tf32`, tensor cores round the factors to TF32.
    ///
    /// # Errors
    /// If the library can't be loaded, or rejects a setting; the driver's error.
    pub fn new(gpu: &Gpu, stream: &Arc<CudaStream>, tf32: bool) -> Result<Self> {
        // SAFETY: loading the emulated cuBLAS has no side effects, and its functions have cudarc's types.
        unsafe { gpu.install_library("cublas", emulated_cublas::library_path()) }?;
        let failed = |call| rejected(call, &"a handle");
        let workspace: CudaSlice<u8> = buffer(stream, workspace(gpu)?)?;
        let (address, bytes) = (workspace.device_ptr(stream).0, workspace.len());
        let cublas = result::create_handle().map_err(failed("cublasCreate"))?;
        let owned = Owned(cublas, result::destroy_handle as _);
        let handle = Handle { cublas: owned, _workspace: workspace };
        let mode = match tf32 {
            true => cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH,
            false => cublasMath_t::CUBLAS_DEFAULT_MATH,
        };
        // SAFETY: handle and stream live, and the workspace lives as long as the handle. The workspace is set after the
        // stream, because setting the stream resets the workspace.
        unsafe {
            result::set_stream(cublas, stream.cu_stream().cast())
                .map_err(failed("cublasSetStream"))?;
            cublasSetWorkspace_v2(cublas, address as *mut _, bytes)
                .result()
                .map_err(failed("cublasSetWorkspace"))?;
            cublasSetMathMode(cublas, mode).result().map_err(failed("cublasSetMathMode"))?;
        }
        Ok(Self(handle.into()))
    }
}

impl Library for Cublas {
    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        let sgemm = Sgemm { handle: Rc::clone(&self.0), problem: *problem };
        Ok((problem.epilogue == Epilogue::None).then(|| Box::new(sgemm) as Box<dyn Routine>))
    }
}

/// A planned product. cuBLAS itself has no plans, so each call passes the whole description.
struct Sgemm {
    handle: Rc<Handle>,
    problem: Problem,
}

impl Routine for Sgemm {
    unsafe fn run(&self, [first, second, result]: [u64; 3], _: EpiloguePointers) -> Result<()> {
        let (call, product) = (&self.problem.call, &self.problem);
        let int = |size: usize| {
            i32::try_from(size).map_err(|_| {
                GpuError::Library(format!(
                    "{product}: cuBLAS counts in 32 bits, and {size} is more; use --gemm cublaslt"
                ))
            })
        };
        // ANCHOR: sgemm
        let (m, n, k) = (int(call.result.rows)?, int(call.result.columns)?, int(call.k)?);
        let (alpha, beta) = (1.0_f32, product.beta);
        // SAFETY: as the caller promises.
        let done = unsafe {
            result::sgemm(
                self.handle.cublas.0,
                operation(&call.first),
                operation(&call.second),
                m,
                n,
                k,
                &raw const alpha,
                first as *const f32,
                int(call.first.ld)?,
                second as *const f32,
                int(call.second.ld)?,
                &raw const beta,
                result as *mut f32,
                int(call.result.ld)?,
            )
        };
        // ANCHOR_END: sgemm
        done.map_err(rejected("cublasSgemm", product))
    }
}

/// cuBLAS's constant for an operand that is, or isn't, transposed.
pub(crate) const fn operation(operand: &Operand) -> cublasOperation_t {
    match operand.transposed {
        true => cublasOperation_t::CUBLAS_OP_T,
        false => cublasOperation_t::CUBLAS_OP_N,
    }
}
