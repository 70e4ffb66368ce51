//! cuBLASLt: products with epilogues, planned once and run often.
//!
//! cudarc's safe layer for it computes in TF32 always, and plans anew at every call. This one
//! stands on the layers below. What is planned is kept: the descriptor, the layouts of the three
//! matrices, and the algorithm that the library's heuristic chose for them, or `autotune` among its
//! candidates.
#![allow(unsafe_code, reason = "cuBLASLt is a C library")]

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t, cublasLtEpilogue_t, cublasLtMatmulAlgo_t,
    cublasLtMatmulDescAttributes_t as Of, cublasLtMatmulPreferenceAttributes_t as Prefer,
    cudaDataType,
};
use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use gpu::memory::buffer;
use gpu::{Gpu, GpuError};

use crate::column_major::{ColumnMajor, Operand};
use crate::cublas::operation;
use crate::cublaslt::autotune::{Candidate, Cost, MOST};
use crate::cublaslt::owned::{Descriptor, Handle, Layout, Preference};
use crate::epilogue::Epilogue;
use crate::error::{Error, Result};
use crate::library;

mod autotune;
mod owned;

/// A handle of cuBLASLt, for one stream.
pub(crate) struct CublasLt {
    handle: Handle,
    stream: Arc<CudaStream>,
    compute: cublasComputeType_t,
    /// Memory that algorithms may compute in. One is enough: products in one stream run one after
    /// the other.
    workspace: CudaSlice<u8>,
    /// Whether the heuristic's candidates are measured; and on an emulated GPU, by counts.
    autotune: bool,
    emulated: bool,
    multiprocessors: usize,
}

/// The addresses that an epilogue reads and writes; 0 where it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EpiloguePointers {
    /// `CUBLASLT_MATMUL_DESC_BIAS_POINTER`: a bias to be read, or its gradient to be written.
    pub(crate) bias: u64,
    /// `CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER`: the mask.
    pub(crate) aux: u64,
}

/// What an algorithm is asked for.
pub(crate) struct MatmulProblem {
    pub(crate) call: ColumnMajor,
    pub(crate) epilogue: Epilogue,
    pub(crate) pointers: EpiloguePointers,
    /// The leading dimension of the mask.
    pub(crate) mask_ld: usize,
    /// Multiples of this many bytes at which the operands lie: first, second, result.
    pub(crate) alignments: [u32; 3],
}

/// A product, planned.
pub(crate) struct PlannedMatmul {
    descriptor: Descriptor,
    first: Layout,
    second: Layout,
    result: Layout,
    algorithm: cublasLtMatmulAlgo_t,
    alignments: [u32; 3],
    /// What the descriptor holds now.
    pointers: Cell<EpiloguePointers>,
    /// What the addresses in it were multiples of when the algorithm was chosen.
    pointer_alignments: [u64; 2],
    /// What was measured of the candidates, where they were.
    pub(crate) measured: Option<String>,
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
        Ok(Self {
            handle: Handle::new().map_err(|error| refused("cublasLtCreate", error, "a handle"))?,
            stream: stream.clone(),
            compute,
            workspace: buffer(stream, library::workspace(gpu)?)?,
            autotune,
            emulated: gpu.is_emulated(),
            multiprocessors: usize::try_from(gpu.context().attribute(MULTIPROCESSORS)?)
                .unwrap_or(1),
        })
    }

    /// Plans a product; `None` where the library has no algorithm for it.
    pub(crate) fn plan(
        &self,
        problem: &MatmulProblem,
        product: &str,
    ) -> Result<Option<PlannedMatmul>> {
        let said = |call| move |error| refused(call, error, product);
        let MatmulProblem { call, epilogue, pointers, mask_ld, alignments } = problem;
        let descriptor = Descriptor::new(self.compute).map_err(said("cublasLtMatmulDescCreate"))?;
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
            Layout::new(operand.rows, operand.columns, operand.ld)
                .map_err(said("cublasLtMatrixLayoutCreate"))
        };
        let (first, second) = (layout(&call.first)?, layout(&call.second)?);
        let result = layout(&call.result)?;
        let preference = Preference::new().map_err(said("cublasLtMatmulPreferenceCreate"))?;
        let prefer = || {
            let bytes = self.workspace.len();
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes)?;
            let [a, b, d] = alignments;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a)?;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b)?;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, d)?;
            preference.set(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d)
        };
        prefer().map_err(said("cublasLtMatmulPreferenceSetAttribute"))?;
        let mut answers = Vec::with_capacity(MOST);
        let wanted = if self.autotune { MOST } else { 1 };
        let mut found = 0;
        // SAFETY: everything in it lives, and describes what it is passed as; there is room for as many
        // answers as are asked for, and as many are there as the library says.
        let asked = unsafe {
            let asked = sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle.0,
                descriptor.0,
                first.0,
                second.0,
                // C is the result too; as it is taken 0 times, it isn't read.
                result.0,
                result.0,
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
        if asked == autotune::NONE {
            return Ok(None);
        }
        asked.result().map_err(said("cublasLtMatmulAlgoGetHeuristic"))?;
        let usable = answers.iter().filter(|answer| answer.state.result().is_ok());
        let candidates = usable.map(Candidate::new).collect::<std::result::Result<Vec<_>, _>>();
        let candidates = candidates.map_err(said("cublasLtMatmulAlgoConfigGetAttribute"))?;
        let Some(chosen) = candidates.first() else { return Ok(None) };
        let mut planned = PlannedMatmul {
            descriptor,
            first,
            second,
            result,
            algorithm: chosen.algorithm,
            alignments: *alignments,
            pointers: Cell::new(*pointers),
            pointer_alignments: [pointers.bias, pointers.aux].map(alignment),
            measured: None,
        };
        if self.autotune {
            let costs = self.costs(&mut planned, &candidates, problem, product)?;
            planned.algorithm = candidates[autotune::best(&costs)].algorithm;
            planned.measured = Some(autotune::table(product, &candidates, &costs));
        }
        Ok(Some(planned))
    }

    /// Measures all candidates, each with operands of its own, and with the epilogue's buffers, which
    /// a step fills again before it reads them.
    fn costs(
        &self,
        planned: &mut PlannedMatmul,
        candidates: &[Candidate],
        problem: &MatmulProblem,
        product: &str,
    ) -> Result<Vec<Cost>> {
        let MatmulProblem { call, pointers, .. } = problem;
        let shape = [call.result.rows, call.result.columns, call.k];
        if self.emulated {
            let cost = |candidate: &Candidate| candidate.counts(shape, self.multiprocessors);
            return Ok(candidates.iter().map(cost).collect());
        }
        let zeros = |operand: &Operand| -> Result<CudaSlice<f32>> {
            Ok(self.stream.alloc_zeros(operand.ld * operand.columns).map_err(GpuError::from)?)
        };
        let operands = [zeros(&call.first)?, zeros(&call.second)?, zeros(&call.result)?];
        let addresses = operands.each_ref().map(|operand| operand.device_ptr(&self.stream).0);
        let mut costs = Vec::new();
        for candidate in candidates {
            planned.algorithm = candidate.algorithm;
            // SAFETY: the operands are as large as the call says, and live until the stream is waited for.
            let run = || unsafe { self.run(planned, addresses, *pointers, || product.to_owned()) };
            let event = || {
                let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
                self.stream.record_event(flags).map_err(GpuError::from)
            };
            // What the library refuses after all isn't kept.
            if run().is_err() {
                costs.push(Cost::Unknown);
                continue;
            }
            let start = event()?;
            for _ in 0..autotune::RUNS {
                run()?;
            }
            let milliseconds = start.elapsed_ms(&event()?).map_err(GpuError::from)?;
            costs.push(Cost::Time(1e-3 * f64::from(milliseconds) / autotune::RUNS as f64));
        }
        self.stream.synchronize().map_err(GpuError::from)?;
        Ok(costs)
    }

    /// Computes a product.
    ///
    /// # Safety
    /// At the addresses are matrices, and what the epilogue needs, as the product was planned.
    pub(crate) unsafe fn run(
        &self,
        matmul: &PlannedMatmul,
        [first, second, result]: [u64; 3],
        pointers: EpiloguePointers,
        product: impl Fn() -> String,
    ) -> Result<()> {
        let places = [first, second, result].into_iter().zip(matmul.alignments.map(u64::from));
        let around = [pointers.bias, pointers.aux].into_iter().zip(matmul.pointer_alignments);
        for (address, alignment) in places.chain(around) {
            if !address.is_multiple_of(alignment) {
                return Err(Error::Alignment { product: product(), address, alignment });
            }
        }
        let moved = || {
            let (then, descriptor) = (matmul.pointers.replace(pointers), &matmul.descriptor);
            if then.bias != pointers.bias {
                descriptor.set(Of::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointers.bias)?;
            }
            if then.aux != pointers.aux {
                descriptor.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &pointers.aux)?;
            }
            Ok(())
        };
        moved().map_err(|error| refused("cublasLtMatmulDescSetAttribute", error, &product()))?;
        let (workspace, _used) = self.workspace.device_ptr(&self.stream);
        let (alpha, beta) = (1.0_f32, 0.0_f32);
        // SAFETY: as the caller promises; the workspace is as large as it says, and only products
        // in this stream compute in it.
        let done = unsafe {
            result::matmul(
                self.handle.0,
                matmul.descriptor.0,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                first as *const c_void,
                matmul.first.0,
                second as *const c_void,
                matmul.second.0,
                result as *const c_void,
                matmul.result.0,
                result as *mut c_void,
                matmul.result.0,
                &raw const matmul.algorithm,
                workspace as *mut c_void,
                self.workspace.len(),
                self.stream.cu_stream().cast(),
            )
        };
        done.map_err(|error| refused("cublasLtMatmul", error, &product()))
    }
}

const MULTIPROCESSORS: CUdevice_attribute =
    CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;

/// The largest power of two, up to that of the driver's allocations, that divides an address.
pub(crate) fn alignment(address: u64) -> u64 {
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

fn refused(call: &'static str, error: CublasError, product: &str) -> Error {
    Error::Library { call, status: error.to_string(), product: product.into() }
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
