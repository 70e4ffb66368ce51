//! `gemv` and `asum`.

use cudarc::cublas::sys::{self, cublasOperation_t, cublasPointerMode_t};

use crate::support::Blas;

#[test]
fn gemv_walks_vectors_in_any_step() {
    let blas = Blas::new();
    // Column-major 2 x 3, lda 4: [[1, 3, 5], [2, 4, 6]].
    let a = blas.put(&[1.0f32, 2.0, -1.0, -1.0, 3.0, 4.0, -1.0, -1.0, 5.0, 6.0]);
    let pa = blas.address::<_, f32>(&a);
    let (alpha, beta) = (2.0f32, 10.0f32);
    let n = cublasOperation_t::CUBLAS_OP_N;
    let t = cublasOperation_t::CUBLAS_OP_T;
    for (operation, incx, incy, x, y, expected) in [
        (n, 1, 1, vec![1.0, 0.0, -1.0], vec![1.0, 2.0], vec![2.0, 12.0]),
        (n, 2, 2, vec![1.0, 9.0, 0.0, 9.0, -1.0], vec![1.0, 7.0, 2.0], vec![2.0, 7.0, 12.0]),
        // From the far end: x is [-1, 0, 1], y [2, 1].
        (n, -1, -1, vec![1.0, 0.0, -1.0], vec![1.0, 2.0], vec![18.0, 28.0]),
        (t, 1, 1, vec![1.0, 1.0], vec![0.0, 0.0, 1.0], vec![6.0, 14.0, 32.0]),
    ] {
        let (x, y) = (blas.put::<f32>(&x), blas.put::<f32>(&y));
        let (px, py) = (blas.address::<_, f32>(&x), blas.address::<_, f32>(&y));
        // SAFETY: every operand has its elements.
        let status = unsafe {
            sys::cublasSgemv_v2(
                blas.handle,
                operation,
                2,
                3,
                &raw const alpha,
                pa,
                4,
                px,
                incx,
                &raw const beta,
                py,
                incy,
            )
        };
        assert_eq!(status as u32, 0);
        assert_eq!(blas.get(&y), expected, "{operation:?} {incx} {incy}");
    }
}

#[test]
fn asum_sums_magnitudes() {
    let blas = Blas::new();
    let len = 1000;
    let x = blas.put(&(0..len).map(|i| if i % 2 == 0 { 0.5 } else { -0.25 }).collect::<Vec<f32>>());
    let px = blas.address::<_, f32>(&x);
    for (n, inc, expected) in [(len, 1, 375.0), (500, 2, 250.0), (0, 1, 0.0), (10, -1, 0.0)] {
        let mut sum = -1.0f32;
        // SAFETY: `x` has its elements, and the sum a place.
        let status = unsafe { sys::cublasSasum_v2(blas.handle, n, px, inc, &raw mut sum) };
        assert_eq!(status as u32, 0);
        assert_eq!(sum, expected, "{n} {inc}");
    }
    let sum = blas.put(&[0.0f32]);
    // SAFETY: as above, with the place in device memory.
    unsafe {
        let mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(sys::cublasSetPointerMode_v2(blas.handle, mode) as u32, 0);
        let place = blas.address::<_, f32>(&sum);
        assert_eq!(sys::cublasSasum_v2(blas.handle, len, px, 1, place) as u32, 0);
    }
    assert_eq!(blas.get(&sum), [375.0]);
}

#[test]
fn of_no_elements_the_sum_is_zero_however_far_they_are_apart() {
    let blas = Blas::new();
    for (len, inc) in [(i64::MAX, i64::MIN), (i64::MIN, -1), (2, -1), (i64::MAX, -3), (0, 1)] {
        let (mut result, nowhere) = (7.0f64, usize::MAX as *const f64);
        // SAFETY: nothing is read of a vector without elements; the result's place lives.
        let status =
            unsafe { sys::cublasDasum_v2_64(blas.handle, len, nowhere, inc, &raw mut result) };
        assert_eq!((status as u32, result), (0, 0.0), "{len} elements, {inc} apart");
    }
}
