//! Tests of threads that share handles, and of threads that create and destroy their own handles;
//! cuBLAS allows both.

use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::cublas::sys::{self, cublasMath_t, cublasOperation_t, cublasPointerMode_t};

use crate::support::{Blas, install};

const THREADS: usize = 4;
const ROUNDS: usize = 25;

/// Computes `c = a · b` of 2 × 2 matrices, with host scalars.
fn multiply(handle: sys::cublasHandle_t, [a, b, c]: [usize; 3]) -> u32 {
    let (n, one, zero) = (cublasOperation_t::CUBLAS_OP_N, 1.0f32, 0.0f32);
    let (a, b, c) = (a as *const f32, b as *const f32, c as *mut f32);
    // SAFETY: every operand has four elements, which are valid until the work is done; the library
    // checks the handle.
    let status =
        unsafe { sys::cublasSgemm_v2(handle, n, n, 2, 2, 2, &one, a, 2, b, 2, &zero, c, 2) };
    status as u32
}

/// A call reads the handle's settings once when it begins, so that a thread that changes them only
/// affects later calls.
#[test]
fn threads_may_share_a_handle() {
    let blas = Blas::new();
    let handle = blas.handle as usize;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let handle = handle as sys::cublasHandle_t;
            use cublasMath_t::*;
            for mode in [CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_DEFAULT_MATH].iter().cycle() {
                // SAFETY: the handle and the pointers are valid.
                unsafe {
                    assert_eq!(sys::cublasSetMathMode(handle, *mode) as u32, 0);
                    let mut seen = CUBLAS_DEFAULT_MATH;
                    assert_eq!(sys::cublasGetMathMode(handle, &raw mut seen) as u32, 0);
                    assert_eq!(seen, *mode, "no other thread sets it");
                    let host = cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST;
                    assert_eq!(sys::cublasSetPointerMode_v2(handle, host) as u32, 0);
                }
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let workers: Vec<_> = (1..=THREADS)
            .map(|thread| {
                let stream = &blas.stream;
                scope.spawn(move || {
                    // The values are small integers, which TF32 represents exactly, so the math
                    // mode doesn't change the results.
                    let x = thread as f32;
                    let a = stream.clone_htod(&[x, 1.0, 0.0, x]).unwrap();
                    let b = stream.clone_htod(&[2.0f32, 0.0, 1.0, 2.0]).unwrap();
                    let c = stream.clone_htod(&[0.0f32; 4]).unwrap();
                    let address = |slice| cudarc::driver::DevicePtr::device_ptr(slice, stream).0;
                    let operands = [&a, &b, &c].map(|slice| address(slice) as usize);
                    for _ in 0..ROUNDS {
                        assert_eq!(multiply(handle as sys::cublasHandle_t, operands), 0);
                        let c = stream.clone_dtoh(&c).unwrap();
                        assert_eq!(c, [2.0 * x, 2.0, x, 1.0 + 2.0 * x]);
                    }
                })
            })
            .collect();
        let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|end| end.unwrap());
    });
}

/// If another thread destroys a handle, each call either succeeds completely or fails.
#[test]
fn handles_destroyed_by_other_threads_are_detected() {
    install();
    let blas = Blas::new();
    let (a, b) = (blas.put(&[1.0f32, 0.0, 0.0, 1.0]), blas.put(&[1.0f32, 2.0, 3.0, 4.0]));
    let c = blas.put(&[0.0f32; 4]);
    let operands = [&a, &b, &c].map(|slice| blas.address::<_, f32>(slice) as usize);
    let context = blas.stream.context();
    let mut done = 0;
    for _ in 0..ROUNDS {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { sys::cublasCreate_v2(&raw mut handle) } as u32, 0);
        let handle = handle as usize;
        let (codes, ends): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..THREADS - 1)
                .map(|_| {
                    scope.spawn(move || {
                        context.bind_to_thread().unwrap();
                        (0..8).map(|_| multiply(handle as _, operands)).collect::<Vec<_>>()
                    })
                })
                .collect();
            // SAFETY: the library detects invalid handles.
            let destroy = || unsafe { sys::cublasDestroy_v2(handle as _) } as u32;
            let enders: Vec<_> = (0..2).map(|_| scope.spawn(destroy)).collect();
            (
                callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect(),
                enders.into_iter().map(|ender| ender.join().unwrap()).collect(),
            )
        });
        // CUBLAS_STATUS_NOT_INITIALIZED is the status for an invalid handle.
        assert!(codes.iter().all(|&code| code == 0 || code == 1), "{codes:?}");
        assert_eq!(ends.iter().filter(|&&code| code == 0).count(), 1, "one of them: {ends:?}");
        done += codes.iter().filter(|&&code| code == 0).count();
    }
    if done > 0 {
        context.synchronize().unwrap();
        assert_eq!(blas.get(&c), [1.0, 2.0, 3.0, 4.0]);
    }
}
