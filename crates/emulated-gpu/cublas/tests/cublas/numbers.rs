//! Elements of every type as pairs of a real and an imaginary part, and a reference implementation
//! of products. All values are multiples of 1/16, so that all results are exact in single
//! precision.

use std::fmt::Debug;

use cudarc::cublas::sys::cublasOperation_t;
use cudarc::driver::{CudaSlice, DeviceRepr};

use crate::support::Blas;

pub(crate) type Complex = [f64; 2];

/// The operations: none, transpose, and conjugate transpose.
pub(crate) const OPERATIONS: [cublasOperation_t; 3] = [
    cublasOperation_t::CUBLAS_OP_N,
    cublasOperation_t::CUBLAS_OP_T,
    cublasOperation_t::CUBLAS_OP_C,
];
pub(crate) const ALPHA: Complex = [0.5, -1.0];
pub(crate) const BETA: Complex = [-2.0, 0.25];

/// An element type; a real type ignores imaginary parts.
pub(crate) trait Number: DeviceRepr + Copy + Default + Debug {
    fn from_parts(parts: Complex) -> Self;
    fn parts(self) -> Complex;
}

macro_rules! numbers {
    ($($part:ident)*) => {$(
        impl Number for $part {
            fn from_parts([real, _]: Complex) -> Self {
                real as Self
            }

            fn parts(self) -> Complex {
                [self.into(), 0.0]
            }
        }

        impl Number for [$part; 2] {
            fn from_parts(parts: Complex) -> Self {
                parts.map(|part| part as $part)
            }

            fn parts(self) -> Complex {
                self.map(f64::from)
            }
        }
    )*};
}

numbers! { f32 f64 }

pub(crate) fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

pub(crate) fn plus(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

pub(crate) fn conjugate([real, imaginary]: Complex) -> Complex {
    [real, -imaginary]
}

pub(crate) fn sum_of_products(pairs: impl Iterator<Item = (Complex, Complex)>) -> Complex {
    pairs.fold([0.0; 2], |sum, (a, b)| plus(sum, times(a, b)))
}

/// Computes `alpha · sum + beta · old` with the scalars of type `T`.
pub(crate) fn scaled<T: Number>(sum: Complex, old: Complex) -> Complex {
    plus(times(T::from_parts(ALPHA).parts(), sum), times(T::from_parts(BETA).parts(), old))
}

/// An element of `op(matrix)`, where `matrix` is in column order.
pub(crate) fn element(
    matrix: &[Complex],
    ld: usize,
    operation: usize,
    row: usize,
    column: usize,
) -> Complex {
    match operation {
        0 => matrix[column * ld + row],
        1 => matrix[row * ld + column],
        _ => conjugate(matrix[row * ld + column]),
    }
}

/// Values that a `T` represents exactly.
pub(crate) fn values<T: Number>(count: usize, seed: usize) -> Vec<Complex> {
    let part = |i: usize| ((i * 37 + seed * 101) % 64) as f64 / 16.0 - 2.0;
    (0..count).map(|i| T::from_parts([part(2 * i), part(2 * i + 1)]).parts()).collect()
}

pub(crate) fn put<T: Number>(blas: &Blas, values: &[Complex]) -> CudaSlice<T> {
    blas.put(&values.iter().map(|&value| T::from_parts(value)).collect::<Vec<T>>())
}

pub(crate) fn get<T: Number>(blas: &Blas, slice: &CudaSlice<T>) -> Vec<Complex> {
    blas.get(slice).into_iter().map(T::parts).collect()
}
