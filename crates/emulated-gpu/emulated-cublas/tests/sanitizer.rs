//! The sanitizer sees what the library reads and writes as it sees a kernel's accesses. A fault ends
//! the context, so each is planted in a process of its own, which this program starts.

#![allow(unsafe_code, reason = "the functions are C")]

use std::process::Command;
use std::sync::Arc;

use cudarc::cublas::sys::{self, cublasOperation_t};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};

struct Blas {
    handle: sys::cublasHandle_t,
    stream: Arc<CudaStream>,
}

impl Blas {
    fn new() -> Self {
        let paths =
            [emulated_cuda::library_path().unwrap(), emulated_cublas::library_path().unwrap()];
        for path in paths {
            // SAFETY: the libraries do nothing when they are loaded.
            std::mem::forget(unsafe { libloading::Library::new(path) }.unwrap());
        }
        let context = CudaContext::new(0).unwrap();
        // SAFETY: everything stands in one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().unwrap();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the place lives.
        unsafe {
            assert_eq!(sys::cublasCreate_v2(&raw mut handle) as u32, 0);
            assert_eq!(sys::cublasSetStream_v2(handle, stream.cu_stream().cast()) as u32, 0);
        }
        Self { handle, stream }
    }

    fn put(&self, x: f32) -> CudaSlice<f32> {
        self.stream.clone_htod(&[x]).unwrap()
    }

    /// Memory for one number, which nothing has written.
    fn room(&self) -> CudaSlice<f32> {
        // SAFETY: finding it read is what these tests are about.
        unsafe { self.stream.alloc(1) }.unwrap()
    }

    /// `c = a · b + beta · c`, one element each.
    fn multiply(&self, operands: [&CudaSlice<f32>; 3], beta: f32) -> u32 {
        let [a, b, c] = operands.map(|slice| slice.device_ptr(&self.stream).0 as *mut f32);
        let (one, n) = (1.0f32, cublasOperation_t::CUBLAS_OP_N);
        // SAFETY: one element each.
        let status = unsafe {
            sys::cublasSgemm_v2(
                self.handle,
                n,
                n,
                1,
                1,
                1,
                &raw const one,
                a,
                1,
                b,
                1,
                &raw const beta,
                c,
                1,
            )
        };
        status as u32
    }
}

/// Runs one of the ignored tests in a process of its own, with every byte tracked; what it wrote to
/// standard error.
fn planted(test: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("EMULATED_GPU_CHECKS", "initialisation")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
#[ignore = "run by `a_clean_product_is_not_flagged`"]
fn clean() {
    let blas = Blas::new();
    let (a, b, c) = (blas.put(2.0), blas.put(3.0), blas.room());
    // What a product writes counts as written.
    assert_eq!(blas.multiply([&a, &b, &c], 0.0), 0);
    assert_eq!(blas.multiply([&a, &b, &c], 1.0), 0);
    assert_eq!(blas.stream.clone_dtoh(&c).unwrap(), [12.0]);
}

#[test]
fn a_clean_product_is_not_flagged() {
    assert!(!planted("clean").contains("emulated"));
}

#[test]
#[ignore = "run by `an_uninitialised_operand_is_found`"]
fn uninitialised() {
    let blas = Blas::new();
    let (a, b, c) = (blas.put(2.0), blas.room(), blas.put(0.0));
    // The call itself is right; where the check is quick, it tells of the fault already.
    assert!(matches!(blas.multiply([&a, &b, &c], 0.0), 0 | 13));
    let error = blas.stream.synchronize().unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_LAUNCH_FAILED);
    // The context is lost, as after a kernel's fault.
    assert_eq!(blas.multiply([&a, &a, &c], 0.0), 13);
    std::mem::forget((a, b, c));
}

#[test]
fn an_uninitialised_operand_is_found() {
    let said = planted("uninitialised");
    for text in ["uninitialised memory", "library cublasSgemm_v2, operand 1, which it reads"] {
        assert!(said.contains(text), "{said}");
    }
    // The product after it, which names what is wrong on standard error as every refusal does.
    let text = "emulated cuBLAS: cublasSgemm_v2: the driver does not take the work: CUDA error 719";
    assert!(said.contains(text), "{said}");
}

#[test]
#[ignore = "run by `an_operand_that_was_freed_before_a_graph_is_launched_is_found`"]
fn freed() {
    let blas = Blas::new();
    let (a, b, c) = (blas.put(2.0), blas.put(3.0), blas.put(0.0));
    let stream = &blas.stream;
    stream.synchronize().unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    assert_eq!(blas.multiply([&a, &b, &c], 0.0), 0);
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags).unwrap().unwrap();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    drop(a);
    stream.synchronize().unwrap();
    let error = graph.launch().and_then(|()| stream.synchronize()).unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    std::mem::forget((b, c, graph));
}

#[test]
fn an_operand_that_was_freed_before_a_graph_is_launched_is_found() {
    let said = planted("freed");
    for text in ["illegal address", "library cublasSgemm_v2, operand 0", "has been freed"] {
        assert!(said.contains(text), "{said}");
    }
}
