//! `gemv` and `asum`.

use std::ffi::{c_int, c_void};

use cudarc::cublas::sys::{self, cublasOperation_t, cublasPointerMode_t};

use crate::numbers::{
    ALPHA, BETA, Number, OPERATIONS, c64, download, element, scaled, upload, values,
};
use crate::support::Blas;

/// The rows and columns of a matrix, and its leading dimension.
const SHAPE: (usize, usize, usize) = (5, 3, 6);

/// Calls the function under test: `call(blas, operation, [alpha, beta], [a, x, y])`. The increment
/// is 2 for `x` and 1 for `y`.
type GemvFunction<'a> =
    &'a dyn Fn(&Blas, cublasOperation_t, [*const c_void; 2], [*mut c_void; 3]) -> u32;

fn check<T: Number>(call: GemvFunction<'_>) {
    let blas = Blas::new();
    let (m, n, ld) = SHAPE;
    let scalars = [ALPHA, BETA].map(T::from_complex);
    for (operation, code) in OPERATIONS.into_iter().enumerate() {
        let (rows, columns) = if operation == 0 { (m, n) } else { (n, m) };
        let (a, x, y) = (values::<T>(ld * n, 1), values::<T>(2 * columns, 2), values::<T>(rows, 3));
        let sum = |row| (0..columns).map(|p| element(&a, ld, operation, row, p) * x[2 * p]).sum();
        let expected: Vec<c64> = (0..rows).map(|row| scaled::<T>(sum(row), y[row])).collect();
        let memory = [&a, &x, &y].map(|values| upload::<T>(&blas, values));
        let addresses = memory.each_ref().map(|slice| blas.address(slice));
        let scalars = scalars.each_ref().map(|scalar| (&raw const *scalar).cast());
        assert_eq!(call(&blas, code, scalars, addresses), 0);
        assert_eq!(download(&blas, &memory[2]), expected, "{operation}");
    }
}

macro_rules! gemv {
    ($($test:ident, $function:ident, $number:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$number>(&|blas, operation, [alpha, beta], [a, x, y]| {
                let (m, n, ld) = (SHAPE.0 as c_int, SHAPE.1 as c_int, SHAPE.2 as c_int);
                let (alpha, a, x, beta, y) = (alpha.cast(), a.cast(), x.cast(), beta.cast(), y.cast());
                // SAFETY: every operand is large enough.
                unsafe {
                    sys::$function(blas.handle, operation, m, n, alpha, a, ld, x, 2, beta, y, 1) as u32
                }
            });
        }
    )*};
}

gemv! {
    sgemv, cublasSgemv_v2, f32;
    dgemv, cublasDgemv_v2, f64;
    cgemv, cublasCgemv_v2, [f32; 2];
    zgemv, cublasZgemv_v2, [f64; 2];
}

#[test]
fn gemv_supports_any_increment() {
    let blas = Blas::new();
    // The 2 x 3 matrix [[1, 3, 5], [2, 4, 6]], column-major with the leading dimension 4.
    let a = blas.put(&[1.0f32, 2.0, -1.0, -1.0, 3.0, 4.0, -1.0, -1.0, 5.0, 6.0]);
    let pa = blas.address::<_, f32>(&a);
    let (alpha, beta) = (2.0f32, 10.0f32);
    let n = cublasOperation_t::CUBLAS_OP_N;
    let t = cublasOperation_t::CUBLAS_OP_T;
    for (operation, incx, incy, x, y, expected) in [
        (n, 1, 1, vec![1.0, 0.0, -1.0], vec![1.0, 2.0], vec![2.0, 12.0]),
        (n, 2, 2, vec![1.0, 9.0, 0.0, 9.0, -1.0], vec![1.0, 7.0, 2.0], vec![2.0, 7.0, 12.0]),
        // Negative increments start at the end: x is [-1, 0, 1], and y is [2, 1].
        (n, -1, -1, vec![1.0, 0.0, -1.0], vec![1.0, 2.0], vec![18.0, 28.0]),
        (t, 1, 1, vec![1.0, 1.0], vec![0.0, 0.0, 1.0], vec![6.0, 14.0, 32.0]),
    ] {
        let (x, y) = (blas.put::<f32>(&x), blas.put::<f32>(&y));
        let (px, py) = (blas.address::<_, f32>(&x), blas.address::<_, f32>(&y));
        // SAFETY: every operand is large enough.
        let status = unsafe {
            let scalars = [&raw const alpha, &raw const beta];
            blas.sgemv(operation, [2, 3], scalars, (pa, 4), [(px, incx), (py, incy)])
        };
        assert_eq!(status as u32, 0);
        assert_eq!(blas.get(&y), expected, "{operation:?} {incx} {incy}");
    }
}

#[test]
fn asum_sums_absolute_values() {
    let blas = Blas::new();
    let len = 1000;
    let x = blas.put(&(0..len).map(|i| if i % 2 == 0 { 0.5 } else { -0.25 }).collect::<Vec<f32>>());
    let px = blas.address::<_, f32>(&x);
    for (n, inc, expected) in [(len, 1, 375.0), (500, 2, 250.0), (0, 1, 0.0), (10, -1, 0.0)] {
        let mut sum = -1.0f32;
        // SAFETY: `x` is large enough, and the result is writable.
        let status = unsafe { sys::cublasSasum_v2(blas.handle, n, px, inc, &raw mut sum) };
        assert_eq!(status as u32, 0);
        assert_eq!(sum, expected, "{n} {inc}");
    }
    let sum = blas.put(&[0.0f32]);
    // SAFETY: `x` is large enough, and the result is in device memory, as the mode requires.
    unsafe {
        let mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(sys::cublasSetPointerMode_v2(blas.handle, mode) as u32, 0);
        let place = blas.address::<_, f32>(&sum);
        assert_eq!(sys::cublasSasum_v2(blas.handle, len, px, 1, place) as u32, 0);
    }
    assert_eq!(blas.get(&sum), [375.0]);
}

#[test]
fn the_sum_of_an_empty_vector_is_zero_for_any_increment() {
    let blas = Blas::new();
    for (len, inc) in [(i64::MAX, i64::MIN), (i64::MIN, -1), (2, -1), (i64::MAX, -3), (0, 1)] {
        let (mut result, nowhere) = (7.0f64, usize::MAX as *const f64);
        // SAFETY: an empty vector is not read, and the result is writable.
        let status =
            unsafe { sys::cublasDasum_v2_64(blas.handle, len, nowhere, inc, &raw mut result) };
        assert_eq!((status as u32, result), (0, 0.0), "{len} elements, {inc} apart");
    }
}

#[test]
fn host_scalars_and_results_may_be_unaligned() {
    let blas = Blas::new();
    let x = blas.put(&[3.0f32, -4.0]);
    let y = blas.put(&[1.0f32, 2.0]);
    let (px, py) = (blas.address::<_, f32>(&x), blas.address::<_, f32>(&y));
    let mut bytes = [0u8; 9];
    // SAFETY: two scalars, and later a result, fit into the array; every operand is large enough.
    unsafe {
        let [alpha, beta]: [*mut f32; 2] = [1, 5].map(|at| bytes.as_mut_ptr().add(at).cast());
        alpha.write_unaligned(2.0);
        beta.write_unaligned(10.0);
        let n = cublasOperation_t::CUBLAS_OP_N;
        let vectors = [(px.wrapping_add(1), 1), (py, 1)];
        assert_eq!(blas.sgemv(n, [2, 1], [alpha, beta], (px, 2), vectors) as u32, 0);
        assert_eq!(blas.get(&y), [-14.0, 52.0]);
        assert_eq!(sys::cublasSasum_v2(blas.handle, 2, px, 1, alpha) as u32, 0);
        assert_eq!(alpha.read_unaligned(), 7.0);
    }
}
