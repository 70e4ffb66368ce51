//! cuBLASLt: products with epilogues, planned once and run often.
//!
//! cudarc's safe layer for it computes in TF32 always, and plans anew at every call. This one
//! stands on the layers below. What is planned is kept: the descriptor, the layouts of the three
//! matrices, and the algorithm that the library's heuristic chose for them, or `autotune` among its
//! candidates.
#![allow(unsafe_code, reason = "cuBLASLt is a C library")]

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t, cublasLtEpilogue_t, cublasLtMatmulAlgo_t,
    cublasLtMatmulDescAttributes_t as Of, cublasLtMatmulHeuristicResult_t,
    cublasLtMatmulPreferenceAttributes_t as Prefer, cublasStatus_t, cudaDataType,
};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use gpu::Gpu;
use gpu::memory::buffer;

use crate::column_major::Operand;
use crate::cublas::operation;
use crate::cublaslt::autotune::Autotune;
use crate::cublaslt::owned::{Descriptor, Handle, Layout, Preference};
use crate::epilogue::Epilogue;
use crate::error::{Error, Result};
use crate::library::{EpiloguePointers, Library, Problem, Routine, workspace};

mod autotune;
mod owned;

/// cuBLASLt, for one stream.
pub(crate) struct CublasLt {
    on: Rc<Context>,
    compute: cublasComputeType_t,
    autotune: Option<Autotune>,
}

/// The handle, the stream and the workspace that all products share.
struct Context {
    handle: Handle,
    stream: Arc<CudaStream>,
    /// Memory that algorithms may compute in. One is enough: products in one stream run one after
    /// the other.
    workspace: CudaSlice<u8>,
}

/// A product, planned.
struct PlannedMatmul {
    on: Rc<Context>,
    problem: Problem,
    descriptor: Descriptor,
    first: Layout,
    second: Layout,
    result: Layout,
    algorithm: cublasLtMatmulAlgo_t,
    /// What the descriptor holds now.
    pointers: Cell<EpiloguePointers>,
    measured: Option<String>,
}

impl CublasLt {
    pub(crate) fn new(
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        tf32: bool,
        autotune: bool,
    ) -> Result<Self> {
        // SAFETY: it is this workspace's library, which stands in for NVIDIA's of that name.
        unsafe { gpu.install_library("cublasLt", emulated_cublaslt::library_path()) }?;
        let compute = if tf32 {
            cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32
        } else {
            cublasComputeType_t::CUBLAS_COMPUTE_32F
        };
        let on = Context {
            handle: owned::handle()
                .map_err(|error| refused("cublasLtCreate", error, &"a handle"))?,
            stream: Arc::clone(stream),
            workspace: buffer(stream, workspace(gpu)?)?,
        };
        let autotune = if autotune { Some(Autotune::new(gpu)?) } else { None };
        Ok(Self { on: on.into(), compute, autotune })
    }

    /// Asks the heuristic for up to `wanted` algorithms.
    fn candidates(
        &self,
        planned: &PlannedMatmul,
        preference: &Preference,
        wanted: usize,
    ) -> Result<Vec<cublasLtMatmulHeuristicResult_t>> {
        let mut answers = Vec::with_capacity(wanted);
        let mut found = 0;
        // SAFETY: all objects live, and are of the kinds that the call takes; there is room for `wanted`
        // answers, and the library returns how many it wrote.
        let asked = unsafe {
            let asked = sys::cublasLtMatmulAlgoGetHeuristic(
                self.on.handle.0,
                planned.descriptor.0,
                planned.first.0,
                planned.second.0,
                // C is the result too; as it is taken 0 times, it isn't read.
                planned.result.0,
                planned.result.0,
                preference.0,
                wanted as i32,
                answers.as_mut_ptr(),
                &raw mut found,
            );
            if asked.result().is_ok() {
                answers.set_len(usize::try_from(found).unwrap_or(0).min(wanted));
            }
            asked
        };
        if asked == cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED {
            return Ok(Vec::new());
        }
        let call = "cublasLtMatmulAlgoGetHeuristic";
        asked.result().map_err(|error| refused(call, error, &planned.problem))?;
        answers.retain(|answer| answer.state.result().is_ok());
        Ok(answers)
    }
}

impl Library for CublasLt {
    fn has_epilogues(&self) -> bool {
        true
    }

    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        let said = |call| move |error| refused(call, error, problem);
        let Problem { call, epilogue, pointers, mask_ld, alignments, .. } = problem;
        let descriptor =
            owned::descriptor(self.compute).map_err(said("cublasLtMatmulDescCreate"))?;
        let describe = || {
            descriptor.set(Of::CUBLASLT_MATMUL_DESC_TRANSA, &operation(&call.first))?;
            descriptor.set(Of::CUBLASLT_MATMUL_DESC_TRANSB, &operation(&call.second))?;
            descriptor.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE, &code(*epilogue))?;
            // The heuristic looks at these addresses, for what they are multiples of.
            if pointers.bias != 0 {
                descriptor.set(Of::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointers.bias)?;
            }
            if pointers.aux != 0 {
                let ld = *mask_ld as i64;
                descriptor.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &pointers.aux)?;
                descriptor.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld)?;
            }
            Ok(())
        };
        describe().map_err(said("cublasLtMatmulDescSetAttribute"))?;
        let layout = |operand: &Operand| {
            owned::layout(operand.rows, operand.columns, operand.ld)
                .map_err(said("cublasLtMatrixLayoutCreate"))
        };
        let preference = owned::preference().map_err(said("cublasLtMatmulPreferenceCreate"))?;
        let prefer = || {
            let bytes = self.on.workspace.len();
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes)?;
            let [a, b, d] = alignments;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a)?;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b)?;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, d)?;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d)
        };
        prefer().map_err(said("cublasLtMatmulPreferenceSetAttribute"))?;
        let mut planned = PlannedMatmul {
            on: Rc::clone(&self.on),
            problem: *problem,
            first: layout(&call.first)?,
            second: layout(&call.second)?,
            result: layout(&call.result)?,
            descriptor,
            algorithm: cublasLtMatmulAlgo_t { data: [0; 8] },
            pointers: Cell::new(*pointers),
            measured: None,
        };
        let wanted = if self.autotune.is_some() { autotune::MOST } else { 1 };
        let candidates = self.candidates(&planned, &preference, wanted)?;
        let Some(first) = candidates.first() else { return Ok(None) };
        planned.algorithm = first.algo;
        if let Some(autotune) = &self.autotune {
            autotune.choose(&mut planned, &candidates)?;
        }
        Ok(Some(Box::new(planned)))
    }
}

impl Routine for PlannedMatmul {
    unsafe fn run(
        &self,
        [first, second, result]: [u64; 3],
        pointers: EpiloguePointers,
    ) -> Result<()> {
        let (Context { handle, stream, workspace }, problem) = (&*self.on, &self.problem);
        let operands = [first, second, result].into_iter().zip(problem.alignments.map(u64::from));
        // The library chose an algorithm for the alignment that these addresses had then.
        let then = [problem.pointers.bias, problem.pointers.aux].map(alignment);
        for (address, alignment) in
            operands.chain([pointers.bias, pointers.aux].into_iter().zip(then))
        {
            if !address.is_multiple_of(alignment) {
                let product = problem.to_string();
                return Err(Error::Alignment { product, address, alignment });
            }
        }
        let moved = || {
            let then = self.pointers.replace(pointers);
            if then.bias != pointers.bias {
                self.descriptor.set(Of::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointers.bias)?;
            }
            if then.aux != pointers.aux {
                self.descriptor
                    .set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &pointers.aux)?;
            }
            Ok(())
        };
        moved().map_err(|error| refused("cublasLtMatmulDescSetAttribute", error, problem))?;
        let (alpha, beta) = (1.0_f32, 0.0_f32);
        // SAFETY: as the caller promises; the workspace is as large as it says, and only products
        // in this stream compute in it.
        let done = unsafe {
            result::matmul(
                handle.0,
                self.descriptor.0,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                first as *const c_void,
                self.first.0,
                second as *const c_void,
                self.second.0,
                result as *const c_void,
                self.result.0,
                result as *mut c_void,
                self.result.0,
                &raw const self.algorithm,
                workspace.device_ptr(stream).0 as *mut c_void,
                workspace.len(),
                stream.cu_stream().cast(),
            )
        };
        done.map_err(|error| refused("cublasLtMatmul", error, problem))
    }

    fn measured(&self) -> Option<&str> {
        self.measured.as_deref()
    }
}

/// The largest power of two, up to that of the driver's allocations, that divides an address.
fn alignment(address: u64) -> u64 {
    if address == 0 { ALLOCATED } else { ALLOCATED.min(1 << address.trailing_zeros().min(63)) }
}

/// Memory from the driver begins at a multiple of this (CUDA C++ Programming Guide, "Size and
/// Alignment Requirement").
const ALLOCATED: u64 = 256;

fn code(epilogue: Epilogue) -> cublasLtEpilogue_t {
    use cublasLtEpilogue_t as Code;
    match epilogue {
        Epilogue::None => Code::CUBLASLT_EPILOGUE_DEFAULT,
        Epilogue::Bias => Code::CUBLASLT_EPILOGUE_BIAS,
        Epilogue::ReluAuxBias => Code::CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
        Epilogue::DreluBgrad => Code::CUBLASLT_EPILOGUE_DRELU_BGRAD,
        Epilogue::Bgradb => Code::CUBLASLT_EPILOGUE_BGRADB,
    }
}

fn refused(call: &'static str, error: CublasError, product: &dyn Display) -> Error {
    Error::Library { call, status: error.to_string(), product: product.to_string() }
}

/// The type of every matrix here.
const REAL: cudaDataType = cudaDataType::CUDA_R_32F;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_powers_of_two() {
        assert_eq!([0, 4, 48, 3136, 4096].map(alignment), [256, 4, 16, 64, 256]);
    }
}
