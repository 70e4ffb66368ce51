//! Complex products through `cublasLtMatmul`, compared with a reference implementation.

use cudarc::cublaslt::sys::cublasComputeType_t;
use emulated_blas::c64;

use crate::messages::Messages;
use crate::support::{Call, CublasLt, Shape, Type};

const ALPHA: c64 = c64::new(0.5, -1.0);
const BETA: c64 = c64::new(2.0, 0.25);
/// The rows and columns of the result, and the number of terms in its sums.
const SIZES: (usize, usize, usize) = (3, 5, 4);

/// Test values: multiples of 1/4, so that all results are exact in single precision.
fn values(count: usize, seed: usize) -> Vec<c64> {
    let part = |i: usize| ((i * 37 + seed * 11) % 16) as f64 / 4.0 - 2.0;
    (0..count).map(|i| c64::new(part(2 * i), part(2 * i + 1))).collect()
}

fn parts(values: &[c64]) -> Vec<f64> {
    values.iter().flat_map(|value| [value.re, value.im]).collect()
}

/// Computes `D = alpha · op(A) · op(B) + beta · C` with these operation numbers and contiguous
/// columns. `change` may modify the call first. Returns the status and `D`.
fn multiply(
    lt: &CublasLt,
    ty: Type,
    (ta, tb): (i32, i32),
    change: impl FnOnce(&mut Call),
) -> (i32, Vec<f64>) {
    let (m, n, k) = SIZES;
    let nines = vec![c64::new(9.0, 9.0); m * n];
    let memory = [values(m * k, 1), values(k * n, 2), values(m * n, 3), nines]
        .map(|values| lt.numbers(ty, &parts(&values)));
    let shape = |operation: i32, rows, columns| match operation {
        0 => Shape::new(ty, rows, columns),
        _ => Shape::new(ty, columns, rows),
    };
    let shapes = [shape(ta, m, k), shape(tb, k, n), shape(0, m, n), shape(0, m, n)];
    let mut call = Call {
        operations: (ta, tb),
        scalars: (ALPHA.re, BETA.re),
        imaginary_scalars: (ALPHA.im, BETA.im),
        ..Call::new(shapes, memory.each_ref().map(|matrix| lt.address(matrix)))
    };
    change(&mut call);
    (call.multiply(lt, None, (0, 0)), lt.get_numbers(ty, &memory[3]))
}

fn expected((ta, tb): (i32, i32)) -> Vec<f64> {
    let (m, n, k) = SIZES;
    let (a, b, c) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
    let element = |matrix: &[c64], (rows, columns): (usize, usize), operation, row, column| {
        let at = if operation == 0 { column * rows + row } else { row * columns + column };
        let value: c64 = matrix[at];
        if operation == 2 { value.conj() } else { value }
    };
    let places = (0..n).flat_map(|column| (0..m).map(move |row| (row, column)));
    let results = places.map(|(row, column)| {
        let product = |p| element(&a, (m, k), ta, row, p) * element(&b, (k, n), tb, p, column);
        ALPHA * (0..k).map(product).sum::<c64>() + BETA * c[column * m + row]
    });
    parts(&results.collect::<Vec<_>>())
}

#[test]
fn every_operation_in_both_precisions() {
    let lt = CublasLt::new();
    for operations in (0..3).flat_map(|ta| (0..3).map(move |tb| (ta, tb))) {
        let wanted = (0, expected(operations));
        for ty in [Type::C32, Type::C64] {
            assert_eq!(multiply(&lt, ty, operations, |_| ()), wanted, "{ty:?} {operations:?}");
        }
        let tf32 = |call: &mut Call| {
            call.compute = cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32;
        };
        assert_eq!(multiply(&lt, Type::C32, operations, tf32), wanted, "{operations:?}");
    }
}

#[test]
fn unsupported_complex_calls_are_refused() {
    let lt = CublasLt::new();
    let messages = Messages::capture();
    let untouched = vec![9.0; 2 * SIZES.0 * SIZES.1];
    let with_bias = multiply(&lt, Type::C32, (0, 0), |call| call.epilogue = 4);
    assert_eq!(with_bias, (15, untouched.clone()));
    messages.expect(&["CUBLASLT_EPILOGUE_BIAS does not support complex numbers"]);
    let with_real_scalars = multiply(&lt, Type::C32, (0, 0), |call| call.scale = Type::F32);
    assert_eq!(with_real_scalars, (15, untouched));
    messages.expect(&["the scale type is CUDA_R_32F", "it must be CUDA_C_32F"]);
}
