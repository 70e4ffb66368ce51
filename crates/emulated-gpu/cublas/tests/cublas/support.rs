//! Loads the emulated libraries as programs do, and calls their functions.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::ops::Deref;
use std::sync::Once;

use cudarc::cublas::sys;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaSlice};
use emulated_gpu_test_support::device::{self, Device};

/// Installs the libraries: from now on, `libcuda.so` and `libcublas.so` resolve to the emulated
/// ones.
pub(crate) fn install() {
    let cublas = emulated_cublas::library_path().unwrap();
    device::install([emulated_cuda::library_path().unwrap(), cublas]);
}

/// A new stream, and a handle that uses it.
pub(crate) struct Blas {
    pub(crate) handle: sys::cublasHandle_t,
    device: Device,
}

impl Blas {
    pub(crate) fn new() -> Self {
        install();
        let device = Device::new();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is valid.
        unsafe {
            assert_eq!(sys::cublasCreate_v2(&raw mut handle) as u32, 0);
            assert_eq!(sys::cublasSetStream_v2(handle, device.stream.cu_stream().cast()) as u32, 0);
        }
        Self { handle, device }
    }

    /// Calls `cublasSgemm_v2` with operations, `[m, n, k]`, `[alpha, beta]`, and `A`, `B` and `C`
    /// with leading dimensions.
    ///
    /// # Safety
    /// Every operand must be large enough, or the library must refuse it before it touches the
    /// memory.
    pub(crate) unsafe fn sgemm(
        &self,
        [transa, transb]: [sys::cublasOperation_t; 2],
        [m, n, k]: [c_int; 3],
        [alpha, beta]: [*const f32; 2],
        [(a, lda), (b, ldb), (c, ldc)]: [(*mut f32, c_int); 3],
    ) -> sys::cublasStatus_t {
        let handle = self.handle;
        // SAFETY: guaranteed by the caller.
        unsafe {
            sys::cublasSgemm_v2(
                handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
            )
        }
    }

    /// Calls `cublasSgemmBatched` with arguments as for `sgemm`, but always without transposition.
    ///
    /// # Safety
    /// See `sgemm`; the arrays of pointers must be valid too.
    pub(crate) unsafe fn sgemm_batched(
        &self,
        [m, n, k]: [c_int; 3],
        [alpha, beta]: [*const f32; 2],
        [(a, lda), (b, ldb), (c, ldc)]: [(*mut u64, c_int); 3],
        count: c_int,
    ) -> sys::cublasStatus_t {
        let (handle, none) = (self.handle, sys::cublasOperation_t::CUBLAS_OP_N);
        let (a, b, c) = (a.cast(), b.cast(), c.cast());
        // SAFETY: guaranteed by the caller.
        unsafe {
            sys::cublasSgemmBatched(
                handle, none, none, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count,
            )
        }
    }

    /// Calls `cublasSgemv_v2` with the operation, `[m, n]`, `[alpha, beta]`, `A` with its leading
    /// dimension, and `x` and `y` with their increments.
    ///
    /// # Safety
    /// See `sgemm`.
    pub(crate) unsafe fn sgemv(
        &self,
        trans: sys::cublasOperation_t,
        [m, n]: [c_int; 2],
        [alpha, beta]: [*const f32; 2],
        (a, lda): (*mut f32, c_int),
        [(x, incx), (y, incy)]: [(*mut f32, c_int); 2],
    ) -> sys::cublasStatus_t {
        let handle = self.handle;
        // SAFETY: guaranteed by the caller.
        unsafe { sys::cublasSgemv_v2(handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy) }
    }

    /// Captures the work that `queue` enqueues; returns the result of `queue` and the graph.
    pub(crate) fn capture<T>(&self, queue: impl FnOnce() -> T) -> (T, CudaGraph) {
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        self.stream.synchronize().unwrap();
        self.stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        let returned = queue();
        (returned, self.stream.end_capture(flags).unwrap().unwrap())
    }

    /// The address of an allocation.
    pub(crate) fn address<T, P>(&self, slice: &CudaSlice<T>) -> *mut P {
        self.device.address(slice) as *mut P
    }
}

impl Deref for Blas {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle.
        let status = unsafe { sys::cublasDestroy_v2(self.handle) };
        assert_eq!(status as u32, 0);
    }
}

/// The library's messages in this thread; other tests cause errors at the same time.
pub(crate) struct Messages(());

thread_local! {
    static RECEIVED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn record(message: *const c_char) {
    // SAFETY: the library passes a valid text.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    RECEIVED.with_borrow_mut(|received| received.push(message));
}

impl Messages {
    pub(crate) fn capture() -> Self {
        static REGISTERED: Once = Once::new();
        install();
        REGISTERED.call_once(|| {
            // SAFETY: the function has the documented type.
            unsafe { sys::cublasSetLoggerCallback(Some(record)) };
        });
        RECEIVED.take();
        Self(())
    }

    /// Asserts a status, and that the only message contains all these texts.
    pub(crate) fn expect(&self, status: sys::cublasStatus_t, wanted: c_int, texts: &[&str]) {
        let received = RECEIVED.take();
        assert_eq!(status as c_int, wanted, "{received:?}");
        assert_eq!(received.len(), 1, "{received:?}");
        for text in texts {
            assert!(received[0].contains(text), "`{text}` is missing: {}", received[0]);
        }
    }
}
