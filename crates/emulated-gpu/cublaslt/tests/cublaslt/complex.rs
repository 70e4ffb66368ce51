//! Complex products through `cublasLtMatmul`, compared with a reference implementation.

use std::ffi::{c_int, c_void};

use cudarc::cublaslt::sys;
use cudarc::driver::DeviceRepr;

use crate::messages::Messages;
use crate::support::{Lt, destroy};

type Complex = [f64; 2];

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

/// Multiples of 1/4, so that all results are exact in single precision.
fn values(count: usize, seed: usize) -> Vec<Complex> {
    let part = |i: usize| ((i * 37 + seed * 11) % 16) as f64 / 4.0 - 2.0;
    (0..count).map(|i| [part(2 * i), part(2 * i + 1)]).collect()
}

const ALPHA: Complex = [0.5, -1.0];
const BETA: Complex = [2.0, 0.25];
/// The rows and columns of the result, and the number of terms in its sums.
const SIZES: (usize, usize, usize) = (3, 5, 4);

/// The parameters of a call: the compute type, the types of the matrices and scalars, and the
/// epilogue.
#[derive(Clone, Copy)]
struct Types {
    compute: sys::cublasComputeType_t,
    ty: sys::cudaDataType_t,
    scale: sys::cudaDataType_t,
    epilogue: c_int,
}

const SINGLE: Types = Types {
    compute: sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
    ty: sys::cudaDataType_t::CUDA_C_32F,
    scale: sys::cudaDataType_t::CUDA_C_32F,
    epilogue: 1,
};
const DOUBLE: Types = Types {
    compute: sys::cublasComputeType_t::CUBLAS_COMPUTE_64F,
    ty: sys::cudaDataType_t::CUDA_C_64F,
    scale: sys::cudaDataType_t::CUDA_C_64F,
    epilogue: 1,
};

/// Computes `D = alpha · op(A) · op(B) + beta · C` with the given operation numbers and contiguous
/// columns; returns the status and `D`.
fn multiply<T: DeviceRepr + Copy + Default + Into<f64>>(
    lt: &Lt,
    types: Types,
    (ta, tb): (c_int, c_int),
    part: fn(f64) -> T,
) -> (u32, Vec<f64>) {
    let (m, n, k) = SIZES;
    let put = |values: &[Complex]| {
        lt.put(&values.iter().flat_map(|value| value.map(part)).collect::<Vec<T>>())
    };
    let (a, b, c) = (put(&values(m * k, 1)), put(&values(k * n, 2)), put(&values(m * n, 3)));
    let d = put(&vec![[9.0; 2]; m * n]);
    let [alpha, beta] = [ALPHA, BETA].map(|value| value.map(part));
    let layout = |rows: usize, columns: usize| {
        let mut layout = std::ptr::null_mut();
        // SAFETY: the pointer is valid.
        let status = unsafe {
            let (rows, columns) = (rows as u64, columns as u64);
            sys::cublasLtMatrixLayoutCreate(&raw mut layout, types.ty, rows, columns, rows as i64)
        };
        assert_eq!(status as u32, 0);
        layout
    };
    let stored = |operation: c_int, rows, columns| {
        if operation == 0 { layout(rows, columns) } else { layout(columns, rows) }
    };
    let layouts = [stored(ta, m, k), stored(tb, k, n), layout(m, n), layout(m, n)];
    let mut descriptor = std::ptr::null_mut();
    use sys::cublasLtMatmulDescAttributes_t::*;
    // SAFETY: the pointers are valid, attributes have the given sizes, and operands are large
    // enough.
    let status = unsafe {
        sys::cublasLtMatmulDescCreate(&raw mut descriptor, types.compute, types.scale);
        for (attribute, value) in [
            (CUBLASLT_MATMUL_DESC_TRANSA, ta),
            (CUBLASLT_MATMUL_DESC_TRANSB, tb),
            (CUBLASLT_MATMUL_DESC_EPILOGUE, types.epilogue),
        ] {
            let value = (&raw const value).cast::<c_void>();
            assert_eq!(
                sys::cublasLtMatmulDescSetAttribute(descriptor, attribute, value, 4) as u32,
                0
            );
        }
        let scalars = [alpha.as_ptr().cast(), beta.as_ptr().cast()];
        let addresses = [&a, &b, &c, &d].map(|matrix| lt.address(matrix));
        let none = std::ptr::null();
        let status = lt.matmul(descriptor, scalars, layouts, addresses, none, (0, 0));
        sys::cublasLtMatmulDescDestroy(descriptor);
        destroy(layouts);
        status as u32
    };
    let got: Vec<T> = lt.stream.clone_dtoh(&d).unwrap();
    (status, got.into_iter().map(Into::into).collect())
}

fn expected((ta, tb): (c_int, c_int)) -> Vec<f64> {
    let (m, n, k) = SIZES;
    let (a, b, c) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
    let element = |matrix: &[Complex], (rows, columns): (usize, usize), operation, row, column| {
        let at = if operation == 0 { column * rows + row } else { row * columns + column };
        let [real, imaginary]: Complex = matrix[at];
        [real, if operation == 2 { -imaginary } else { imaginary }]
    };
    let sums =
        (0..n).flat_map(|column| (0..m).map(move |row| (row, column))).map(|(row, column)| {
            let sum = (0..k).fold([0.0; 2], |sum, p| {
                let (a, b) = (element(&a, (m, k), ta, row, p), element(&b, (k, n), tb, p, column));
                plus(sum, times(a, b))
            });
            plus(times(ALPHA, sum), times(BETA, c[column * m + row]))
        });
    sums.collect::<Vec<_>>().into_flattened()
}

#[test]
fn every_operation_in_both_precisions() {
    let lt = Lt::new();
    for operations in (0..3).flat_map(|ta| (0..3).map(move |tb| (ta, tb))) {
        let wanted = (0, expected(operations));
        assert_eq!(multiply(&lt, SINGLE, operations, |x| x as f32), wanted, "{operations:?}");
        assert_eq!(multiply(&lt, DOUBLE, operations, |x| x), wanted, "{operations:?}");
        let tf32 = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32;
        let fast = Types { compute: tf32, ..SINGLE };
        assert_eq!(multiply(&lt, fast, operations, |x| x as f32), wanted, "{operations:?}");
    }
}

#[test]
fn unsupported_complex_calls_are_refused() {
    let lt = Lt::new();
    let messages = Messages::capture();
    let untouched = vec![9.0; 2 * SIZES.0 * SIZES.1];
    let bias = Types { epilogue: 4, ..SINGLE };
    assert_eq!(multiply(&lt, bias, (0, 0), |x| x as f32), (15, untouched.clone()));
    messages.expect(&["CUBLASLT_EPILOGUE_BIAS does not support complex numbers"]);
    let real = Types { scale: sys::cudaDataType_t::CUDA_R_32F, ..SINGLE };
    assert_eq!(multiply(&lt, real, (0, 0), |x| x as f32), (15, untouched));
    messages.expect(&["the scale type is CUDA_R_32F", "it must be CUDA_C_32F"]);
}
