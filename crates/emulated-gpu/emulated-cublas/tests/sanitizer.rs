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

/// What a captured batch finds in its array of pointers when the graph is launched.
#[derive(Clone, Copy, PartialEq)]
enum Pointer {
    Host,
    Null,
    Misaligned,
    Beyond,
}

type Grouped = unsafe extern "C" fn(
    sys::cublasHandle_t,
    *const cublasOperation_t,
    *const cublasOperation_t,
    *const i32,
    *const i32,
    *const i32,
    *const f32,
    *const *const f32,
    *const i32,
    *const *const f32,
    *const i32,
    *const f32,
    *const *mut f32,
    *const i32,
    i32,
    *const i32,
) -> u32;

/// The function, which cudarc has of newer releases only.
fn grouped_function() -> Grouped {
    // SAFETY: the loaded library has the function, of that type.
    unsafe {
        let library = libloading::os::unix::Library::new("libcublas.so").unwrap();
        *library.get(b"cublasSgemmGroupedBatched\0").unwrap()
    }
}

/// Captures a batch of one product, lets a copy put another address into its array of pointers, and
/// launches. `operand` is 0, 1 or 2, for A, B and C.
fn wrong_pointer(grouped: bool, operand: usize, pointer: Pointer, wanted: CUresult) {
    let blas = Blas::new();
    let stream = &blas.stream;
    let (a, b, c) = (blas.put(2.0), blas.put(3.0), blas.put(0.0));
    let [pa, pb, pc] = [&a, &b, &c].map(|slice| slice.device_ptr(stream).0);
    let mut arrays = stream.clone_htod(&[pa, pb, pc]).unwrap();
    let at = arrays.device_ptr(stream).0;
    let array = |index: u64| (at + 8 * index) as *const *const f32;
    let (one, zero, n) = ([1.0f32], [0.0f32], [cublasOperation_t::CUBLAS_OP_N]);
    let size = [1i32];
    stream.synchronize().unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    // SAFETY: one element each.
    let status = unsafe {
        let (handle, one, zero) = (blas.handle, one.as_ptr(), zero.as_ptr());
        let (size, n) = (size.as_ptr(), n.as_ptr());
        if grouped {
            grouped_function()(
                handle,
                n,
                n,
                size,
                size,
                size,
                one,
                array(0),
                size,
                array(1),
                size,
                zero,
                array(2).cast(),
                size,
                1,
                size,
            )
        } else {
            sys::cublasSgemmBatched(
                handle,
                *n,
                *n,
                1,
                1,
                1,
                one,
                array(0),
                1,
                array(1),
                1,
                zero,
                array(2).cast(),
                1,
                1,
            ) as u32
        }
    };
    assert_eq!(status, 0);
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags).unwrap().unwrap();
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [6.0]);
    let mut secret = [42.0f32; 4];
    let mut addresses = [pa, pb, pc];
    addresses[operand] = match pointer {
        Pointer::Host => &raw mut secret[1] as u64,
        Pointer::Null => 0,
        Pointer::Misaligned => addresses[operand] + 2,
        Pointer::Beyond => addresses[operand] + 4,
    };
    stream.memcpy_htod(&addresses, &mut arrays).unwrap();
    let error = graph.launch().and_then(|()| stream.synchronize()).unwrap_err();
    assert_eq!(error.0, wanted);
    assert_eq!(secret, [42.0; 4], "the host's memory is as it was");
    std::mem::forget((a, b, c, arrays, graph));
}

macro_rules! wrong_pointers {
    ($($name:ident, $planted:ident: $grouped:expr, $operand:expr, $pointer:ident, $code:ident, $said:expr;)*) => {$(
        #[test]
        #[ignore = "run by the test of the same name"]
        fn $planted() {
            wrong_pointer($grouped, $operand, Pointer::$pointer, CUresult::$code);
        }

        #[test]
        fn $name() {
            let said = planted(stringify!($planted));
            assert!(said.contains($said), "{said}");
        }
    )*};
}

wrong_pointers! {
    a_batch_does_not_write_to_the_host, host_written: false, 2, Host, CUDA_ERROR_ILLEGAL_ADDRESS,
        "library cublasSgemmBatched, operand 0, which it writes";
    a_batch_does_not_read_from_the_host, host_read: false, 0, Host, CUDA_ERROR_ILLEGAL_ADDRESS,
        "library cublasSgemmBatched, operand 0, which it reads";
    a_batch_does_not_follow_null, null_read: false, 1, Null, CUDA_ERROR_ILLEGAL_ADDRESS,
        "illegal address";
    a_batch_wants_its_elements_aligned, misaligned_read: false, 0, Misaligned, CUDA_ERROR_MISALIGNED_ADDRESS,
        "it has to be at a multiple of 4 bytes";
    a_group_does_not_write_to_the_host, group_host_written: true, 2, Host, CUDA_ERROR_ILLEGAL_ADDRESS,
        "library cublasSgemmGroupedBatched, operand 0, which it writes";
    a_group_stays_inside_of_allocations, group_beyond: true, 1, Beyond, CUDA_ERROR_ILLEGAL_ADDRESS,
        "bytes after the end of the allocation";
}
