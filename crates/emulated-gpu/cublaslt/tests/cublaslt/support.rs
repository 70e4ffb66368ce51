//! Loads the emulated libraries as programs do, and builds calls of `cublasLtMatmul`.

use std::ffi::{c_int, c_void};
use std::ops::Deref;
use std::sync::OnceLock;

use cudarc::cublaslt::sys;
use cudarc::driver::CudaSlice;
use emulated_gpu_test_support::device::{self, Device};
use half::{bf16, f16};
use libloading::os::unix::Library;

/// Installs the libraries: from now on, `libcuda.so` and `libcublasLt.so` resolve to the emulated
/// ones.
pub(crate) fn install() {
    static LIBRARIES: OnceLock<[Library; 2]> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        let own = emulated_cublaslt::library_path().unwrap();
        device::install([emulated_cuda::library_path().unwrap(), own])
    });
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F32,
    F64,
    F16,
    Bf16,
}

impl Type {
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::F32 => 0,
            Self::F64 => 1,
            Self::F16 => 2,
            Self::Bf16 => 14,
        }
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    pub(crate) fn bytes(self, values: &[f64]) -> Vec<u8> {
        let each = values.iter().map(|&x| match self {
            Self::F32 => (x as f32).to_le_bytes().to_vec(),
            Self::F64 => x.to_le_bytes().to_vec(),
            Self::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        });
        each.flatten().collect()
    }

    pub(crate) fn values(self, bytes: &[u8]) -> Vec<f64> {
        let each = bytes.chunks_exact(self.size()).map(|bytes| match self {
            Self::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            Self::F64 => f64::from_le_bytes(bytes.try_into().unwrap()),
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
pub(crate) struct Lt {
    pub(crate) handle: sys::cublasLtHandle_t,
    pub(crate) device: Device,
}

impl Lt {
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

    /// Calls `cublasLtMatmul` with `[alpha, beta]`, `A` to `D`, and the address and size of the
    /// workspace.
    ///
    /// # Safety
    /// Scalars, structures and a non-null workspace must be valid; the library checks the other
    /// addresses.
    pub(crate) unsafe fn matmul(
        &self,
        descriptor: sys::cublasLtMatmulDesc_t,
        [alpha, beta]: [*const c_void; 2],
        [a, b, c, d]: [sys::cublasLtMatrixLayout_t; 4],
        addresses: [u64; 4],
        algorithm: *const sys::cublasLtMatmulAlgo_t,
        workspace: (u64, usize),
    ) -> sys::cublasStatus_t {
        let [pa, pb, pc, pd] = addresses.map(|address| address as *mut c_void);
        let (handle, stream) = (self.handle, self.stream.cu_stream().cast());
        let (memory, size) = (workspace.0 as *mut c_void, workspace.1);
        // SAFETY: the caller's promise.
        unsafe {
            sys::cublasLtMatmul(
                handle, descriptor, alpha, pa, a, pb, b, beta, pc, c, pd, d, algorithm, memory,
                size, stream,
            )
        }
    }
}

impl Deref for Lt {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for Lt {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle.
        let status = unsafe { sys::cublasLtDestroy(self.handle) };
        assert_eq!(status as u32, 0);
    }
}

/// Calls `cublasLtMatmulAlgoGetHeuristic` for the requested number of answers.
///
/// # Safety
/// There must be space for the answers and their number; pointers to structures must point to
/// enough memory.
pub(crate) unsafe fn get_heuristic(
    handle: sys::cublasLtHandle_t,
    descriptor: sys::cublasLtMatmulDesc_t,
    [a, b, c, d]: [sys::cublasLtMatrixLayout_t; 4],
    preference: sys::cublasLtMatmulPreference_t,
    most: c_int,
    answers: *mut sys::cublasLtMatmulHeuristicResult_t,
    found: *mut c_int,
) -> sys::cublasStatus_t {
    // SAFETY: the caller's promise.
    unsafe {
        sys::cublasLtMatmulAlgoGetHeuristic(
            handle, descriptor, a, b, c, d, preference, most, answers, found,
        )
    }
}

/// Frees layouts.
///
/// # Safety
/// The layouts must be valid.
pub(crate) unsafe fn destroy(layouts: [sys::cublasLtMatrixLayout_t; 4]) {
    for layout in layouts {
        // SAFETY: the caller's promise.
        unsafe { sys::cublasLtMatrixLayoutDestroy(layout) };
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
    /// Column order, without gaps.
    pub(crate) fn new(ty: Type, rows: usize, columns: usize) -> Self {
        Self { ty, rows, columns, ld: rows, row_order: false, batch: 1, stride: 0 }
    }

    /// Row order, without gaps.
    pub(crate) fn in_rows(ty: Type, rows: usize, columns: usize) -> Self {
        Self { ld: columns, row_order: true, ..Self::new(ty, rows, columns) }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> usize {
        if self.row_order { row * self.ld + column } else { column * self.ld + row }
    }

    pub(crate) fn layout(&self) -> sys::cublasLtMatrixLayout_t {
        let mut layout = std::ptr::null_mut();
        let ty = match self.ty {
            Type::F32 => sys::cudaDataType_t::CUDA_R_32F,
            Type::F64 => sys::cudaDataType_t::CUDA_R_64F,
            Type::F16 => sys::cudaDataType_t::CUDA_R_16F,
            Type::Bf16 => sys::cudaDataType_t::CUDA_R_16BF,
        };
        use sys::cublasLtMatrixLayoutAttribute_t::*;
        // SAFETY: the pointers are valid, and attributes have the given sizes.
        unsafe {
            let status = sys::cublasLtMatrixLayoutCreate(
                &raw mut layout,
                ty,
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

/// A call of `cublasLtMatmul`, and the arguments of the heuristic before it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) compute: sys::cublasComputeType_t,
    pub(crate) transposed: (bool, bool),
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
    pub(crate) shapes: [Shape; 4],
    pub(crate) addresses: [u64; 4],
}

impl Call {
    pub(crate) fn new(shapes: [Shape; 4], addresses: [u64; 4]) -> Self {
        let compute = match shapes[0].ty {
            Type::F64 => sys::cublasComputeType_t::CUBLAS_COMPUTE_64F,
            _ => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        Self {
            compute,
            transposed: (false, false),
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
            shapes,
            addresses,
        }
    }

    pub(crate) fn descriptor(&self) -> sys::cublasLtMatmulDesc_t {
        let mut descriptor = std::ptr::null_mut();
        let scale = match self.shapes[0].ty {
            Type::F64 => sys::cudaDataType_t::CUDA_R_64F,
            _ => sys::cudaDataType_t::CUDA_R_32F,
        };
        let (ta, tb) = (i32::from(self.transposed.0), i32::from(self.transposed.1));
        use sys::cublasLtMatmulDescAttributes_t::*;
        // SAFETY: the pointers are valid, and attributes have the given sizes.
        unsafe {
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
        descriptor
    }

    /// Calls the heuristic, and multiplies with its algorithm, or without one if it offers none.
    /// Returns both statuses.
    pub(crate) fn run(&self, lt: &Lt) -> (i32, i32) {
        self.run_with(lt, |_| ())
    }

    /// Like `run`, but calls `change` on the addresses in the descriptor and of the operands after
    /// the heuristic.
    pub(crate) fn run_with(&self, lt: &Lt, change: impl FnOnce(&mut Self)) -> (i32, i32) {
        let descriptor = self.descriptor();
        let layouts = self.shapes.map(|shape| shape.layout());
        let mut preference = std::ptr::null_mut();
        let mut answer = std::mem::MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::uninit();
        let mut found: c_int = -1;
        let mut changed = self.clone();
        change(&mut changed);
        let changed_descriptor = changed.descriptor();
        use sys::cublasLtMatmulPreferenceAttributes_t::*;
        // SAFETY: all structures were created above, and the library checks addresses.
        unsafe {
            assert_eq!(sys::cublasLtMatmulPreferenceCreate(&raw mut preference) as u32, 0);
            if let Some(alignment) = self.alignment {
                for attribute in [
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                ] {
                    let value = (&raw const alignment).cast();
                    let status =
                        sys::cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, 4);
                    assert_eq!(status as u32, 0);
                }
            }
            let place = answer.as_mut_ptr();
            let heuristic =
                get_heuristic(lt.handle, descriptor, layouts, preference, 1, place, &raw mut found);
            assert_eq!(found == 1, heuristic as u32 == 0);
            let algorithm =
                if found == 1 { &raw const (*answer.as_ptr()).algo } else { std::ptr::null() };
            let (alpha, beta) = self.scalars;
            let single = (alpha as f32, beta as f32);
            let (alpha, beta): (*const c_void, *const c_void) = match self.shapes[0].ty {
                Type::F64 => ((&raw const alpha).cast(), (&raw const beta).cast()),
                _ => ((&raw const single.0).cast(), (&raw const single.1).cast()),
            };
            let (scalars, addresses) = ([alpha, beta], changed.addresses);
            let matmul =
                lt.matmul(changed_descriptor, scalars, layouts, addresses, algorithm, (0, 0));
            sys::cublasLtMatmulPreferenceDestroy(preference);
            sys::cublasLtMatmulDescDestroy(descriptor);
            sys::cublasLtMatmulDescDestroy(changed_descriptor);
            destroy(layouts);
            (heuristic as i32, matmul as i32)
        }
    }
}
