//! cuBLASLt: products with epilogues, planned once and run often.
//!
//! cudarc's safe layer always computes in TF32, and plans again at every call, so this module calls the layer below it
//! (`cublaslt::result`). A plan keeps the descriptor, the layouts of the three matrices, and the algorithm: the first
//! that the library's heuristic returns for them, or the best one of its candidates (`autotune`).
#![allow(unsafe_code, reason = "cuBLASLt is a C library")]

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr::from_ref;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t, cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t,
    cublasLtMatmulDescAttributes_t as Of, cublasLtMatmulHeuristicResult_t,
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t as Prefer,
    cublasLtMatrixLayout_t, cublasStatus_t, cudaDataType,
};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use gpu::memory::buffer;
use gpu::{Gpu, GpuError, Result};

use crate::autotune::{Autotune, MAX_CANDIDATES};
use crate::blas::ALLOCATION_ALIGNMENT;
use crate::column_major::Operand;
use crate::cublas::operation;
use crate::epilogue::Epilogue;
use crate::library::{EpiloguePointers, Library, Owned, Problem, Routine, rejected, workspace};

/// The element type of all matrices in this module.
const MATRIX_TYPE: cudaDataType = cudaDataType::CUDA_R_32F;

/// cuBLASLt, for one stream.
pub struct CublasLt {
    shared: Rc<Shared>,
    compute: cublasComputeType_t,
    autotune: Option<Autotune>,
    /// The notes that were already printed to standard error.
    printed: RefCell<HashSet<String>>,
}

/// The handle, the stream and the workspace, which all products share.
pub(crate) struct Shared {
    handle: Lt<cublasLtHandle_t>,
    pub(crate) stream: Arc<CudaStream>,
    /// Scratch memory for the algorithms. All products can share it, because products in one stream run one after the
    /// other.
    workspace: CudaSlice<u8>,
}

/// A planned product.
pub(crate) struct PlannedMatmul {
    pub(crate) shared: Rc<Shared>,
    pub(crate) problem: Problem,
    descriptor: Lt<cublasLtMatmulDesc_t>,
    /// The layouts (column-major shapes) of the first operand, the second operand, and the result.
    layouts: [Lt<cublasLtMatrixLayout_t>; 3],
    pub(crate) algorithm: cublasLtMatmulAlgo_t,
}

/// An object of cuBLASLt that is destroyed on drop.
type Lt<T> = Owned<T, CublasError>;

impl<T: Copy> Lt<T> {
    /// Sets an attribute. `set` is the library's function for this kind of attribute, and `V` has the size of the
    /// attribute's type in C.
    fn set<A, V>(
        &self,
        set: unsafe fn(T, A, *const c_void, usize) -> Result<(), CublasError>,
        attribute: A,
        value: &V,
    ) -> Result<(), CublasError> {
        // SAFETY: the object lives. The library copies the value's bytes, or returns an error if the
        // attribute has another size.
        unsafe { set(self.0, attribute, from_ref(value).cast(), size_of::<V>()) }
    }
}

impl CublasLt {
    /// Loads the library for a stream. With `tf32`, tensor cores round the factors to TF32; with `autotune`, each
    /// plan measures several algorithms and prints the results.
    ///
    /// # Errors
    /// If the library can't be loaded; the driver's error.
    pub fn new(gpu: &Gpu, stream: &Arc<CudaStream>, tf32: bool, autotune: bool) -> Result<Self> {
        // SAFETY: loading the emulated cuBLASLt has no side effects, and its functions have cudarc's types.
        unsafe { gpu.install_library("cublasLt", emulated_cublaslt::library_path()) }?;
        let compute = match tf32 {
            true => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
            false => cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        let handle = result::create_handle().map_err(rejected("cublasLtCreate", &"a handle"))?;
        let shared = Shared {
            handle: Owned(handle, result::destroy_handle),
            stream: Arc::clone(stream),
            workspace: buffer(stream, workspace(gpu)?)?,
        };
        let autotune = if autotune { Some(Autotune::new(gpu)?) } else { None };
        Ok(Self { shared: shared.into(), compute, autotune, printed: RefCell::default() })
    }

    /// Prints a note to standard error, unless this level has printed it before.
    fn print_once(&self, note: String) {
        if self.printed.borrow_mut().insert(note.clone()) {
            host::complain(note);
        }
    }

    /// Describes a product to the library, without choosing an algorithm yet.
    fn describe(&self, problem: &Problem) -> Result<PlannedMatmul> {
        let Problem { call, epilogue, pointers, mask_ld, .. } = *problem;
        let failed = |call| rejected(call, problem);
        let descriptor = result::create_matmul_desc(self.compute, MATRIX_TYPE);
        let descriptor = descriptor.map_err(failed("cublasLtMatmulDescCreate"))?;
        let layout = |Operand { rows, columns, ld, .. }: Operand| {
            result::create_matrix_layout(MATRIX_TYPE, rows as u64, columns as u64, ld as i64)
                .map(|layout| Owned(layout, result::destroy_matrix_layout as _))
                .map_err(failed("cublasLtMatrixLayoutCreate"))
        };
        let planned = PlannedMatmul {
            shared: Rc::clone(&self.shared),
            problem: *problem,
            descriptor: Owned(descriptor, result::destroy_matmul_desc),
            layouts: [layout(call.first)?, layout(call.second)?, layout(call.result)?],
            algorithm: cublasLtMatmulAlgo_t { data: [0; 8] },
        };
        planned.set(Of::CUBLASLT_MATMUL_DESC_TRANSA, &operation(&call.first))?;
        planned.set(Of::CUBLASLT_MATMUL_DESC_TRANSB, &operation(&call.second))?;
        planned.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE, &(epilogue as u32))?;
        if pointers.aux != 0 {
            planned.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &(mask_ld as i64))?;
        }
        // The heuristic checks the alignment of these addresses.
        planned.set_pointers(pointers)?;
        Ok(planned)
    }

    /// Asks the heuristic for up to `wanted` algorithms.
    fn candidates(
        &self,
        planned: &PlannedMatmul,
        wanted: usize,
    ) -> Result<Vec<cublasLtMatmulHeuristicResult_t>> {
        let failed = |call| rejected(call, &planned.problem);
        let preference: Lt<cublasLtMatmulPreference_t> = Owned(
            result::create_matmul_pref().map_err(failed("cublasLtMatmulPreferenceCreate"))?,
            result::destroy_matmul_pref,
        );
        let prefer = |attribute, value: &u32| {
            preference.set(result::set_matmul_pref_attribute, attribute, value)
        };
        let limit = || {
            let bytes = self.shared.workspace.len();
            let most = Prefer::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            preference.set(result::set_matmul_pref_attribute, most, &bytes)?;
            let [a, b, d] = &planned.problem.alignments;
            prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a)?;
            prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b)?;
            prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, d)?;
            prefer(Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d)
        };
        limit().map_err(failed("cublasLtMatmulPreferenceSetAttribute"))?;
        let [first, second, result] = planned.layouts.each_ref().map(|layout| layout.0);
        let mut answers = Vec::with_capacity(wanted);
        let mut found = 0;
        // SAFETY: all objects live, and are of the kinds that the call takes; there is room for `wanted`
        // answers, and the library returns how many it wrote.
        let status = unsafe {
            let status = sys::cublasLtMatmulAlgoGetHeuristic(
                self.shared.handle.0,
                planned.descriptor.0,
                first,
                second,
                // C has the layout of the result D. It isn't read, because `beta` is 0.
                result,
                result,
                preference.0,
                wanted as i32,
                answers.as_mut_ptr(),
                &raw mut found,
            );
            if status.result().is_ok() {
                answers.set_len(usize::try_from(found).unwrap_or(0).min(wanted));
            }
            status
        };
        if status == cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED {
            return Ok(Vec::new());
        }
        status.result().map_err(failed("cublasLtMatmulAlgoGetHeuristic"))?;
        answers.retain(|answer| answer.state.result().is_ok());
        Ok(answers)
    }
}

impl Library for CublasLt {
    fn plan(&self, problem: &Problem) -> Result<Option<Box<dyn Routine>>> {
        let mut planned = self.describe(problem)?;
        let wanted = if self.autotune.is_some() { MAX_CANDIDATES } else { 1 };
        let candidates = self.candidates(&planned, wanted)?;
        let Some(first) = candidates.first() else {
            if problem.epilogue != Epilogue::None {
                self.print_once(format!(
                    "note: cuBLASLt has no algorithm for {problem}; kernels do the work of the epilogue"
                ));
            }
            return Ok(None);
        };
        planned.algorithm = first.algo;
        if let Some(autotune) = &self.autotune {
            self.print_once(autotune.choose(&mut planned, &candidates)?);
        }
        Ok(Some(Box::new(planned)))
    }
}

impl PlannedMatmul {
    /// Sets an attribute of the descriptor.
    fn set<V>(&self, attribute: Of, value: &V) -> Result<()> {
        let done = self.descriptor.set(result::set_matmul_desc_attribute, attribute, value);
        done.map_err(rejected("cublasLtMatmulDescSetAttribute", &self.problem))
    }

    /// Sets the addresses of the epilogue's buffers.
    fn set_pointers(&self, EpiloguePointers { bias, aux }: EpiloguePointers) -> Result<()> {
        if bias != 0 {
            self.set(Of::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias)?;
        }
        if aux != 0 {
            self.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux)?;
        }
        Ok(())
    }
}

impl Routine for PlannedMatmul {
    unsafe fn run(&self, addresses: [u64; 3], pointers: EpiloguePointers) -> Result<()> {
        let (Shared { handle, stream, workspace }, problem) = (&*self.shared, &self.problem);
        // The library chose the algorithm for these alignments.
        let operands = addresses.into_iter().zip(problem.alignments);
        let epilogue = [pointers.bias, pointers.aux].map(|address| (address, ALLOCATION_ALIGNMENT));
        for (address, alignment) in operands.chain(epilogue) {
            if !address.is_multiple_of(alignment.into()) {
                return Err(GpuError::Library(format!(
                    "{problem}: planned for a buffer at a multiple of {alignment} bytes, but it is at \
                     {address:#x}"
                )));
            }
        }
        self.set_pointers(pointers)?;
        let [first, second, result] = addresses;
        let (alpha, beta) = (1.0_f32, 0.0_f32);
        // SAFETY: as the caller promises; the workspace has the given size, and only products in this
        // stream compute in it.
        let done = unsafe {
            result::matmul(
                handle.0,
                self.descriptor.0,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                first as *const c_void,
                self.layouts[0].0,
                second as *const c_void,
                self.layouts[1].0,
                result as *const c_void,
                self.layouts[2].0,
                result as *mut c_void,
                self.layouts[2].0,
                &raw const self.algorithm,
                workspace.device_ptr(stream).0 as *mut c_void,
                workspace.len(),
                stream.cu_stream().cast(),
            )
        };
        done.map_err(rejected("cublasLtMatmul", problem))
    }
}
