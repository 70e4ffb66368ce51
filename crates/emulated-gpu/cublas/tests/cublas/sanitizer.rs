//! The sanitizer checks the library's accesses in the same way as a kernel's accesses. A fault ends
//! the context, so each fault is caused in a separate process.

use std::process::Command;

use cudarc::cublas::sys::cublasOperation_t;
use cudarc::driver::CudaSlice;
use cudarc::driver::sys::CUresult;

use crate::grouped;
use crate::support::Blas;

fn upload(blas: &Blas, x: f32) -> CudaSlice<f32> {
    blas.put(&[x])
}

/// Uninitialised memory for one number.
fn uninitialised_number(blas: &Blas) -> CudaSlice<f32> {
    // SAFETY: the tests assert that reading it is detected.
    unsafe { blas.stream.alloc(1) }.unwrap()
}

/// Computes `c = a · b + beta · c` with one element each.
fn multiply(blas: &Blas, operands: [&CudaSlice<f32>; 3], beta: f32) -> u32 {
    let operands = operands.map(|slice| (blas.address(slice), 1));
    let (one, n) = (1.0f32, cublasOperation_t::CUBLAS_OP_N);
    // SAFETY: every operand has one element.
    let status = unsafe { blas.sgemm([n; 2], [1; 3], [&raw const one, &raw const beta], operands) };
    status as u32
}

/// Runs one of the ignored tests in a separate process, with every byte tracked; returns the
/// process's standard error.
fn run_with_checks(test: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("sanitizer::{test}"), "--ignored", "--nocapture"])
        .env("EMULATED_GPU_CHECKS", "initialisation")
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{message}");
    message
}

#[test]
#[ignore = "run by `valid_products_are_not_reported`"]
fn clean() {
    let blas = Blas::new();
    let (a, b, c) = (upload(&blas, 2.0), upload(&blas, 3.0), uninitialised_number(&blas));
    // The output of a product counts as initialised.
    assert_eq!(multiply(&blas, [&a, &b, &c], 0.0), 0);
    assert_eq!(multiply(&blas, [&a, &b, &c], 1.0), 0);
    assert_eq!(blas.stream.clone_dtoh(&c).unwrap(), [12.0]);
}

#[test]
fn valid_products_are_not_reported() {
    assert!(!run_with_checks("clean").contains("emulated"));
}

#[test]
#[ignore = "run by `uninitialised_operands_are_detected`"]
fn uninitialised() {
    let blas = Blas::new();
    let (a, b, c) = (upload(&blas, 2.0), uninitialised_number(&blas), upload(&blas, 0.0));
    // The call itself is valid, so it succeeds, unless the fault has already been detected when it
    // returns.
    assert!(matches!(multiply(&blas, [&a, &b, &c], 0.0), 0 | 13));
    let error = blas.stream.synchronize().unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_LAUNCH_FAILED);
    // The context is lost, as after a fault in a kernel.
    assert_eq!(multiply(&blas, [&a, &a, &c], 0.0), 13);
    std::mem::forget((a, b, c));
}

#[test]
fn uninitialised_operands_are_detected() {
    let message = run_with_checks("uninitialised");
    for text in ["uninitialised memory", "library cublasSgemm_v2, operand 1, which it reads"] {
        assert!(message.contains(text), "{message}");
    }
    // The next product fails too, and its error is also printed on standard error.
    let text = "emulated cuBLAS: cublasSgemm_v2: the driver refused the work: CUDA error 719";
    assert!(message.contains(text), "{message}");
}

#[test]
#[ignore = "run by `operands_freed_before_a_graph_launch_are_detected`"]
fn freed() {
    let blas = Blas::new();
    let (a, b, c) = (upload(&blas, 2.0), upload(&blas, 3.0), upload(&blas, 0.0));
    let stream = &blas.stream;
    let (status, graph) = blas.capture(|| multiply(&blas, [&a, &b, &c], 0.0));
    assert_eq!(status, 0);
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    drop(a);
    stream.synchronize().unwrap();
    let error = graph.launch().and_then(|()| stream.synchronize()).unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    std::mem::forget((b, c, graph));
}

#[test]
fn operands_freed_before_a_graph_launch_are_detected() {
    let message = run_with_checks("freed");
    for text in ["illegal address", "library cublasSgemm_v2, operand 0", "has been freed"] {
        assert!(message.contains(text), "{message}");
    }
}

/// The kind of address that is in a captured batch's array of pointers when the graph is launched.
#[derive(Clone, Copy, PartialEq)]
enum Pointer {
    Host,
    Null,
    Misaligned,
    Beyond,
}

/// Captures a batch of one product, lets a copy replace the address in its array of pointers, and
/// launches the graph. `operand` is 0, 1 or 2, for A, B and C.
fn wrong_pointer(grouped: bool, operand: usize, pointer: Pointer, wanted: CUresult) {
    let blas = Blas::new();
    let stream = &blas.stream;
    let (a, b, c) = (upload(&blas, 2.0), upload(&blas, 3.0), upload(&blas, 0.0));
    let places = [&a, &b, &c].map(|slice| blas.address::<_, f32>(slice) as u64);
    let mut arrays = blas.put(&places);
    let pointers = [0, 1, 2].map(|index| blas.address::<_, u64>(&arrays).wrapping_add(index));
    let (one, zero, n, size) = (1.0f32, 0.0f32, cublasOperation_t::CUBLAS_OP_N, 1);
    // SAFETY: every operand has one element.
    let (status, graph) = blas.capture(|| unsafe {
        let (n, one, zero, size) = (&raw const n, &raw const one, &raw const zero, &raw const size);
        let ([a, b, c], handle) = (pointers, blas.handle);
        if grouped {
            grouped::function()(
                handle, n, n, size, size, size, one, a, size, b, size, zero, c, size, 1, size,
            )
        } else {
            blas.sgemm_batched([1; 3], [one, zero], pointers.map(|array| (array, 1)), 1) as i32
        }
    });
    assert_eq!(status, 0);
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [6.0]);
    let mut secret = [42.0f32; 4];
    let mut addresses = places;
    addresses[operand] = match pointer {
        Pointer::Host => &raw mut secret[1] as u64,
        Pointer::Null => 0,
        Pointer::Misaligned => addresses[operand] + 2,
        Pointer::Beyond => addresses[operand] + 4,
    };
    stream.memcpy_htod(&addresses, &mut arrays).unwrap();
    let error = graph.launch().and_then(|()| stream.synchronize()).unwrap_err();
    assert_eq!(error.0, wanted);
    assert_eq!(secret, [42.0; 4], "the host's memory is unchanged");
    std::mem::forget((a, b, c, arrays, graph));
}

macro_rules! wrong_pointers {
    ($($name:ident, $child:ident: $grouped:expr, $operand:expr, $pointer:ident, $code:ident, $message:expr;)*) => {$(
        #[test]
        #[ignore = "run by the test of the same name"]
        fn $child() {
            wrong_pointer($grouped, $operand, Pointer::$pointer, CUresult::$code);
        }

        #[test]
        fn $name() {
            let message = run_with_checks(stringify!($child));
            assert!(message.contains($message), "{message}");
        }
    )*};
}

wrong_pointers! {
    a_batch_does_not_write_to_the_host, host_written: false, 2, Host, CUDA_ERROR_ILLEGAL_ADDRESS,
        "library cublasSgemmBatched, operand 0, which it writes";
    a_batch_does_not_read_from_the_host, host_read: false, 0, Host, CUDA_ERROR_ILLEGAL_ADDRESS,
        "library cublasSgemmBatched, operand 0, which it reads";
    a_batch_does_not_dereference_null, null_read: false, 1, Null, CUDA_ERROR_ILLEGAL_ADDRESS,
        "illegal address";
    a_batch_needs_aligned_elements, misaligned_read: false, 0, Misaligned, CUDA_ERROR_MISALIGNED_ADDRESS,
        "the address must be a multiple of 4 bytes";
    a_group_does_not_write_to_the_host, group_host_written: true, 2, Host, CUDA_ERROR_ILLEGAL_ADDRESS,
        "library cublasSgemmGroupedBatched, operand 0, which it writes";
    a_group_stays_inside_its_allocations, group_beyond: true, 1, Beyond, CUDA_ERROR_ILLEGAL_ADDRESS,
        "bytes after the end of the allocation";
}
