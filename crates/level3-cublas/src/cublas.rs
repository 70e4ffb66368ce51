//! cuBLAS: `cublasSgemm`.
//!
//! On cudarc's `result` layer, like `cublaslt`: dropping its safe handle panics where the GPU has
//! met a fault before, and nobody would read of the fault.
#![allow(unsafe_code, reason = "cuBLAS is a C library")]

use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::cublas::result::{self, CublasError};
use cudarc::cublas::sys::{
    cublasHandle_t, cublasMath_t, cublasOperation_t, cublasSetMathMode, cublasSetWorkspace_v2,
};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use gpu::Gpu;
use gpu::memory::buffer;

use crate::column_major::Operand;
use crate::error::{Error, Result};
use crate::library::{EpiloguePointers, Library, Problem, Routine, workspace};

/// cuBLAS for one stream.
pub(crate) struct Cublas(Rc<Handle>);

/// A handle, destroyed when it is dropped.
struct Handle {
    cublas: cublasHandle_t,
    /// Memory that the library computes in. Its own would be allocated while it computes, which
    /// must not be while a graph is captured.
    _workspace: CudaSlice<u8>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `Cublas::new`, and dropped once. When it can't be destroyed, nothing is
        // left to do.
        let _ = unsafe { result::destroy_handle(self.cublas) };
    }
}

impl Cublas {
    pub(crate) fn new(gpu: &Gpu, stream: &Arc<CudaStream>, tf32: bool) -> Result<Self> {
        // SAFETY: it is this workspace's library, which stands in for NVIDIA's of that name.
        unsafe { gpu.install_library("cublas", emulated_cublas::library_path()) }?;
        let said = |call| move |error| refused(call, error, &"a handle");
        let workspace: CudaSlice<u8> = buffer(stream, workspace(gpu)?)?;
        let (address, bytes) = (workspace.device_ptr(stream).0, workspace.len());
        let cublas = result::create_handle().map_err(said("cublasCreate"))?;
        let handle = Handle { cublas, _workspace: workspace };
        let mode = if tf32 {
            cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH
        } else {
            cublasMath_t::CUBLAS_DEFAULT_MATH
        };
        // SAFETY: handle and stream live, and the workspace lives beside the handle. It is set
        // after the stream, which would take it away again.
        unsafe {
            result::set_stream(cublas, stream.cu_stream().cast())
                .map_err(said("cublasSetStream"))?;
            cublasSetWorkspace_v2(cublas, address as *mut _, bytes)
                .result()
                .map_err(said("cublasSetWorkspace"))?;
            cublasSetMathMode(cublas, mode).result().map_err(said("cublasSetMathMode"))?;
        }
        Ok(Self(handle.into()))
    }
}

impl Library for Cublas {
    fn has_epilogues(&self) -> bool {
        false
    }

    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        Ok(Some(Box::new(Sgemm { handle: Rc::clone(&self.0), problem: *problem })))
    }
}

/// A planned product. cuBLAS has no plans, so each call passes the whole description.
struct Sgemm {
    handle: Rc<Handle>,
    problem: Problem,
}

impl Routine for Sgemm {
    unsafe fn run(&self, [first, second, result]: [u64; 3], _: EpiloguePointers) -> Result<()> {
        let (call, product) = (&self.problem.call, &self.problem);
        let int = |size: usize| {
            i32::try_from(size).map_err(|_| Error::TooLarge { product: product.to_string(), size })
        };
        // ANCHOR: sgemm
        let (m, n, k) = (int(call.result.rows)?, int(call.result.columns)?, int(call.k)?);
        let (alpha, beta) = (1.0_f32, product.beta);
        // SAFETY: as the caller promises.
        let done = unsafe {
            result::sgemm(
                self.handle.cublas,
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
        done.map_err(|error| refused("cublasSgemm", error, product))
    }
}

/// Whether an operand is transposed, in the library's words.
pub(crate) const fn operation(operand: &Operand) -> cublasOperation_t {
    match operand.transposed {
        true => cublasOperation_t::CUBLAS_OP_T,
        false => cublasOperation_t::CUBLAS_OP_N,
    }
}

fn refused(call: &'static str, error: CublasError, product: &dyn Display) -> Error {
    Error::Library { call, status: error.to_string(), product: product.to_string() }
}
