//! Elements of every type as complex numbers, and a reference implementation of products. All values are multiples of 1/16, so that all results are exact in single
//! precision.

use std::fmt::Debug;

use cudarc::cublas::sys::cublasOperation_t;
use cudarc::driver::{CudaSlice, DeviceRepr};
pub(crate) use emulated_blas::c64;

use crate::support::Blas;

/// The operations: none, transpose, and conjugate transpose.
pub(crate) const OPERATIONS: [cublasOperation_t; 3] = [
    cublasOperation_t::CUBLAS_OP_N,
    cublasOperation_t::CUBLAS_OP_T,
    cublasOperation_t::CUBLAS_OP_C,
];
pub(crate) const ALPHA: c64 = c64::new(0.5, -1.0);
pub(crate) const BETA: c64 = c64::new(-2.0, 0.25);

/// An element type; a real type ignores imaginary parts.
pub(crate) trait Number: DeviceRepr + Copy + Default + Debug {
    fn from_complex(number: c64) -> Self;
    fn to_complex(self) -> c64;
}

macro_rules! numbers {
    ($($part:ident)*) => {$(
        impl Number for $part {
            fn from_complex(number: c64) -> Self {
                number.re as Self
            }

            fn to_complex(self) -> c64 {
                c64::new(self.into(), 0.0)
            }
        }

        impl Number for [$part; 2] {
            fn from_complex(number: c64) -> Self {
                [number.re as $part, number.im as $part]
            }

            fn to_complex(self) -> c64 {
                c64::new(self[0].into(), self[1].into())
            }
        }
    )*};
}

numbers! { f32 f64 }

/// Computes `alpha · sum + beta · old` with `alpha` and `beta` converted to `T`.
pub(crate) fn scaled<T: Number>(sum: c64, old: c64) -> c64 {
    let [alpha, beta] = [ALPHA, BETA].map(|scalar| T::from_complex(scalar).to_complex());
    alpha * sum + beta * old
}

/// An element of `op(matrix)`, where `matrix` is in column order.
pub(crate) fn element(
    matrix: &[c64],
    ld: usize,
    operation: usize,
    row: usize,
    column: usize,
) -> c64 {
    match operation {
        0 => matrix[column * ld + row],
        1 => matrix[row * ld + column],
        _ => matrix[row * ld + column].conj(),
    }
}

/// Values that are exactly representable in `T`.
pub(crate) fn values<T: Number>(count: usize, seed: usize) -> Vec<c64> {
    let part = |i: usize| ((i * 37 + seed * 101) % 64) as f64 / 16.0 - 2.0;
    let number = |i| T::from_complex(c64::new(part(2 * i), part(2 * i + 1))).to_complex();
    (0..count).map(number).collect()
}

pub(crate) fn upload<T: Number>(blas: &Blas, values: &[c64]) -> CudaSlice<T> {
    blas.put(&values.iter().map(|&value| T::from_complex(value)).collect::<Vec<T>>())
}

pub(crate) fn download<T: Number>(blas: &Blas, slice: &CudaSlice<T>) -> Vec<c64> {
    blas.get(slice).into_iter().map(T::to_complex).collect()
}
