//! Loads the emulated libraries as programs do, and builds calls of `cublasLtMatmul`.

use std::ffi::{c_int, c_void};
use std::ops::Deref;

use cudarc::cublaslt::sys::{self, cublasLtMatmulHeuristicResult_t as HeuristicResult};
use cudarc::driver::CudaSlice;
use emulated_gpu_test_support::device::{self, Device};
use half::{bf16, f16};

/// Installs the libraries: from now on, `libcuda.so` and `libcublasLt.so` resolve to the emulated
/// ones.
pub(crate) fn install() {
    let cublaslt = emulated_cublaslt::library_path().unwrap();
    device::install([emulated_cuda::library_path().unwrap(), cublaslt]);
}

/// An element type, with its `cudaDataType_t` number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Type {
    F32 = 0,
    F64 = 1,
    F16 = 2,
    C32 = 4,
    C64 = 5,
    Bf16 = 14,
}

impl Type {
    pub(crate) fn code(self) -> i32 {
        self as i32
    }

    fn cuda_data_type(self) -> sys::cudaDataType_t {
        match self {
            Self::F32 => sys::cudaDataType_t::CUDA_R_32F,
            Self::F64 => sys::cudaDataType_t::CUDA_R_64F,
            Self::F16 => sys::cudaDataType_t::CUDA_R_16F,
            Self::C32 => sys::cudaDataType_t::CUDA_C_32F,
            Self::C64 => sys::cudaDataType_t::CUDA_C_64F,
            Self::Bf16 => sys::cudaDataType_t::CUDA_R_16BF,
        }
    }

    /// Converts numbers to elements; a complex element consists of two numbers.
    pub(crate) fn bytes(self, values: &[f64]) -> Vec<u8> {
        let each = values.iter().map(|&x| match self {
            Self::F32 | Self::C32 => (x as f32).to_le_bytes().to_vec(),
            Self::F64 | Self::C64 => x.to_le_bytes().to_vec(),
            Self::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        });
        each.flatten().collect()
    }

    /// Converts elements back to numbers.
    pub(crate) fn values(self, bytes: &[u8]) -> Vec<f64> {
        let each = bytes.chunks_exact(self.bytes(&[0.0]).len()).map(|bytes| match self {
            Self::F32 | Self::C32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            Self::F64 | Self::C64 => f64::from_le_bytes(bytes.try_into().unwrap()),
            Self::F16 => f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
            Self::Bf16 => bf16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        });
        each.collect()
    }

    /// Rounds a value to the type.
    pub(crate) fn round(self, x: f64) -> f64 {
        self.values(&self.bytes(&[x]))[0]
    }
}

/// A handle and a new stream.
pub(crate) struct CublasLt {
    pub(crate) handle: sys::cublasLtHandle_t,
    pub(crate) device: Device,
}

impl CublasLt {
    pub(crate) fn new() -> Self {
        install();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is valid.
        let status = unsafe { sys::cublasLtCreate(&raw mut handle) };
        assert_eq!(status as u32, 0);
        Self { handle, device: Device::new() }
    }

    /// Converts numbers to elements of a type.
    pub(crate) fn numbers(&self, ty: Type, values: &[f64]) -> CudaSlice<u8> {
        self.put(&ty.bytes(values))
    }

    pub(crate) fn get_numbers(&self, ty: Type, slice: &CudaSlice<u8>) -> Vec<f64> {
        ty.values(&self.get(slice))
    }
}

impl Deref for CublasLt {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle.
        let status = unsafe { sys::cublasLtDestroy(self.handle) };
        assert_eq!(status as u32, 0);
    }
}

/// Calls `cublasLtMatmulAlgoGetHeuristic` for the requested number of results.
///
/// # Safety
/// There must be space for the results and their number; pointers to structures must point to
/// enough memory.
pub(crate) unsafe fn get_heuristic(
    (handle, descriptor): (sys::cublasLtHandle_t, sys::cublasLtMatmulDesc_t),
    [a, b, c, d]: [sys::cublasLtMatrixLayout_t; 4],
    preference: sys::cublasLtMatmulPreference_t,
    (requested, results, count): (c_int, *mut HeuristicResult, *mut c_int),
) -> sys::cublasStatus_t {
    // SAFETY: guaranteed by the caller.
    unsafe {
        sys::cublasLtMatmulAlgoGetHeuristic(
            handle, descriptor, a, b, c, d, preference, requested, results, count,
        )
    }
}

/// The memory layout of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ty: Type,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) ld: usize,
    pub(crate) row_order: bool,
    pub(crate) batch: i32,
    pub(crate) stride: i64,
}

impl Shape {
    /// The layout of a column-major matrix without gaps.
    pub(crate) fn new(ty: Type, rows: usize, columns: usize) -> Self {
        Self { ty, rows, columns, ld: rows, row_order: false, batch: 1, stride: 0 }
    }

    /// The layout of a row-major matrix without gaps.
    pub(crate) fn in_row_order(ty: Type, rows: usize, columns: usize) -> Self {
        Self { ld: columns, row_order: true, ..Self::new(ty, rows, columns) }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> usize {
        if self.row_order { row * self.ld + column } else { column * self.ld + row }
    }

    fn layout(&self) -> sys::cublasLtMatrixLayout_t {
        let mut layout = std::ptr::null_mut();
        use sys::cublasLtMatrixLayoutAttribute_t::*;
        // SAFETY: the pointers are valid, and attributes have the given sizes.
        unsafe {
            let status = sys::cublasLtMatrixLayoutCreate(
                &raw mut layout,
                self.ty.cuda_data_type(),
                self.rows as u64,
                self.columns as u64,
                self.ld as i64,
            );
            assert_eq!(status as u32, 0);
            let order = i32::from(self.row_order);
            let set = |attribute, value: *const c_void, size| {
                let status = sys::cublasLtMatrixLayoutSetAttribute(layout, attribute, value, size);
                assert_eq!(status as u32, 0);
            };
            set(CUBLASLT_MATRIX_LAYOUT_ORDER, (&raw const order).cast(), 4);
            set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (&raw const self.batch).cast(), 4);
            let stride = (&raw const self.stride).cast();
            set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride, 8);
        }
        layout
    }
}

/// The structures that describe a call.
struct Structures {
    descriptor: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 4],
}

impl Drop for Structures {
    fn drop(&mut self) {
        // SAFETY: this value owns the structures.
        unsafe {
            sys::cublasLtMatmulDescDestroy(self.descriptor);
            for layout in self.layouts {
                sys::cublasLtMatrixLayoutDestroy(layout);
            }
        }
    }
}

/// A call of `cublasLtMatmul`, and the arguments of the heuristic before it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) compute: sys::cublasComputeType_t,
    pub(crate) scale: Type,
    /// The `cublasOperation_t` numbers of `A` and `B`.
    pub(crate) operations: (i32, i32),
    pub(crate) epilogue: i32,
    pub(crate) bias: u64,
    pub(crate) bias_stride: i64,
    pub(crate) bias_type: i32,
    pub(crate) aux: u64,
    pub(crate) aux_ld: i64,
    pub(crate) aux_stride: i64,
    pub(crate) aux_type: i32,
    /// The promised alignments in bytes; `None` leaves the library's default.
    pub(crate) alignment: Option<u32>,
    pub(crate) scalars: (f64, f64),
    /// The imaginary parts of the scalars, which are ignored unless the scale type is complex.
    pub(crate) imaginary_scalars: (f64, f64),
    pub(crate) shapes: [Shape; 4],
    pub(crate) addresses: [u64; 4],
}

impl Call {
    pub(crate) fn new(shapes: [Shape; 4], addresses: [u64; 4]) -> Self {
        let (compute, scale) = match shapes[0].ty {
            ty @ (Type::F64 | Type::C64) => (sys::cublasComputeType_t::CUBLAS_COMPUTE_64F, ty),
            Type::C32 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, Type::C32),
            _ => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, Type::F32),
        };
        Self {
            compute,
            scale,
            operations: (0, 0),
            epilogue: 1,
            bias: 0,
            bias_stride: 0,
            bias_type: -1,
            aux: 0,
            aux_ld: 0,
            aux_stride: 0,
            aux_type: -1,
            alignment: None,
            scalars: (1.0, 0.0),
            imaginary_scalars: (0.0, 0.0),
            shapes,
            addresses,
        }
    }

    fn structures(&self) -> Structures {
        let mut descriptor = std::ptr::null_mut();
        let (ta, tb) = self.operations;
        use sys::cublasLtMatmulDescAttributes_t::*;
        // SAFETY: the pointers are valid, and attributes have the given sizes.
        unsafe {
            let scale = self.scale.cuda_data_type();
            let status = sys::cublasLtMatmulDescCreate(&raw mut descriptor, self.compute, scale);
            assert_eq!(status as u32, 0);
            let set = |attribute, value: *const c_void, size| {
                let status =
                    sys::cublasLtMatmulDescSetAttribute(descriptor, attribute, value, size);
                assert_eq!(status as u32, 0);
            };
            set(CUBLASLT_MATMUL_DESC_TRANSA, (&raw const ta).cast(), 4);
            set(CUBLASLT_MATMUL_DESC_TRANSB, (&raw const tb).cast(), 4);
            set(CUBLASLT_MATMUL_DESC_EPILOGUE, (&raw const self.epilogue).cast(), 4);
            set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, (&raw const self.bias).cast(), 8);
            let stride = (&raw const self.bias_stride).cast();
            set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, stride, 8);
            set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, (&raw const self.bias_type).cast(), 4);
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, (&raw const self.aux).cast(), 8);
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, (&raw const self.aux_ld).cast(), 8);
            let stride = (&raw const self.aux_stride).cast();
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, stride, 8);
            let aux_type = (&raw const self.aux_type).cast();
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, aux_type, 4);
        }
        Structures { descriptor, layouts: self.shapes.map(|shape| shape.layout()) }
    }

    /// Calls the heuristic for up to `max_count` algorithms with this workspace size; returns the
    /// status and the algorithms.
    pub(crate) fn heuristic(
        &self,
        lt: &CublasLt,
        workspace: usize,
        max_count: c_int,
    ) -> (i32, Vec<HeuristicResult>) {
        let structures = self.structures();
        let (mut preference, mut count) = (std::ptr::null_mut(), -1);
        let mut results = Vec::with_capacity(max_count as usize);
        use sys::cublasLtMatmulPreferenceAttributes_t::*;
        // SAFETY: all structures were created above, attributes have the given sizes, and there is
        // space for `max_count` results.
        unsafe {
            assert_eq!(sys::cublasLtMatmulPreferenceCreate(&raw mut preference) as u32, 0);
            let set = |attribute, value: *const c_void, size| {
                let status =
                    sys::cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, size);
                assert_eq!(status as u32, 0);
            };
            set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (&raw const workspace).cast(), 8);
            if let Some(alignment) = &self.alignment {
                for attribute in [
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                ] {
                    set(attribute, (&raw const *alignment).cast(), 4);
                }
            }
            let Structures { descriptor, layouts } = structures;
            let wanted = (max_count, results.as_mut_ptr(), &raw mut count);
            let status = get_heuristic((lt.handle, descriptor), layouts, preference, wanted);
            results.set_len(count.max(0) as usize);
            sys::cublasLtMatmulPreferenceDestroy(preference);
            (status as i32, results)
        }
    }

    /// Calls `cublasLtMatmul`, with or without an algorithm. `workspace` is the address and the
    /// size of the workspace. Returns the status.
    pub(crate) fn multiply(
        &self,
        lt: &CublasLt,
        algorithm: Option<&HeuristicResult>,
        workspace: (u64, usize),
    ) -> i32 {
        let structures = self.structures();
        let [a, b, c, d] = structures.layouts;
        let [pa, pb, pc, pd] = self.addresses.map(|address| address as *mut c_void);
        let alpha = self.scale.bytes(&[self.scalars.0, self.imaginary_scalars.0]);
        let beta = self.scale.bytes(&[self.scalars.1, self.imaginary_scalars.1]);
        let (alpha, beta) = (alpha.as_ptr().cast(), beta.as_ptr().cast());
        let algorithm = algorithm.map_or(std::ptr::null(), |result| &raw const result.algo);
        let (handle, stream) = (lt.handle, lt.stream.cu_stream().cast());
        let (descriptor, memory, size) =
            (structures.descriptor, workspace.0 as *mut c_void, workspace.1);
        // SAFETY: scalars and structures are valid; the library checks the other addresses.
        let status = unsafe {
            sys::cublasLtMatmul(
                handle, descriptor, alpha, pa, a, pb, b, beta, pc, c, pd, d, algorithm, memory,
                size, stream,
            )
        };
        status as i32
    }

    /// Calls the heuristic, and multiplies with the algorithm that it returns, or without an
    /// algorithm if it returns none. Returns both statuses.
    pub(crate) fn run(&self, lt: &CublasLt) -> (i32, i32) {
        self.run_with(lt, |_| ())
    }

    /// Like `run`, but calls `change` on the addresses in the descriptor and of the operands after
    /// the heuristic.
    pub(crate) fn run_with(&self, lt: &CublasLt, change: impl FnOnce(&mut Self)) -> (i32, i32) {
        let (status, results) = self.heuristic(lt, 0, 1);
        assert_eq!(results.len() == 1, status == 0);
        let mut changed = self.clone();
        change(&mut changed);
        (status, changed.multiply(lt, results.first(), (0, 0)))
    }
}
