//! `cublas<T>gemm`, `cublas<T>gemmStridedBatched` and `cublas<T>gemmBatched`, with 32-bit and
//! 64-bit integers.

use std::ffi::c_int;

use emulated_blas::{Compute, DataType, Result};

use crate::call::{GemmCall, export_gemm};
use crate::handle::{Settings, settings};
use crate::operand::BatchLocation;

/// The element type that is part of a function's name, such as `S` or `D`.
#[derive(Clone, Copy)]
pub(crate) struct NamedType {
    pub(crate) ty: DataType,
    /// The compute type, which depends on the handle's settings.
    pub(crate) compute: fn(&Settings) -> Compute,
}

pub(crate) const SINGLE: NamedType =
    NamedType { ty: DataType::F32, compute: Settings::single_precision };
pub(crate) const DOUBLE: NamedType = NamedType { ty: DataType::F64, compute: |_| Compute::F64 };
pub(crate) const COMPLEX: NamedType =
    NamedType { ty: DataType::C32, compute: Settings::single_precision };
pub(crate) const DOUBLE_COMPLEX: NamedType =
    NamedType { ty: DataType::C64, compute: |_| Compute::F64 };
pub(crate) const HALF: NamedType = NamedType { ty: DataType::F16, compute: |_| Compute::F16 };

/// # Safety
/// See [`GemmCall::submit`].
unsafe fn submit<I: Copy + Into<i64>>(
    call: &GemmCall<c_int, I>,
    typed: NamedType,
    places: [BatchLocation; 3],
    batch: impl Into<i64>,
) -> Result {
    let compute = (typed.compute)(&settings(call.handle)?);
    // SAFETY: guaranteed by the caller.
    unsafe { call.submit([typed.ty; 3], typed.ty, compute, places, batch) }
}

macro_rules! gemm {
    ($($name:ident, $strided:ident, $batched:ident, $typed:ident, $int:ty;)*) => {$(
        export_gemm! {
            /// Computes `C = alpha · op(A) · op(B) + beta · C`.
            fn $name(call: GemmCall<c_int, $int>) {
                submit(&call, $typed, call.strided([0; 3]), 1)
            }

            /// Computes `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]` for a strided batch.
            fn $strided(
                call: GemmCall<c_int, $int>, strides stride_a stride_b stride_c; batch_count: $int
            ) {
                submit(&call, $typed, call.strided([stride_a, stride_b, stride_c]), batch_count)
            }

            /// Computes `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]` for arrays of pointers.
            fn $batched(call: GemmCall<c_int, $int>; batch_count: $int) {
                submit(&call, $typed, call.arrays(), batch_count)
            }
        }
    )*};
}

gemm! {
    cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemmBatched, SINGLE, c_int;
    cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemmBatched, DOUBLE, c_int;
    cublasHgemm, cublasHgemmStridedBatched, cublasHgemmBatched, HALF, c_int;
    cublasCgemm_v2, cublasCgemmStridedBatched, cublasCgemmBatched, COMPLEX, c_int;
    cublasZgemm_v2, cublasZgemmStridedBatched, cublasZgemmBatched, DOUBLE_COMPLEX, c_int;
    cublasSgemm_v2_64, cublasSgemmStridedBatched_64, cublasSgemmBatched_64, SINGLE, i64;
    cublasDgemm_v2_64, cublasDgemmStridedBatched_64, cublasDgemmBatched_64, DOUBLE, i64;
    cublasHgemm_64, cublasHgemmStridedBatched_64, cublasHgemmBatched_64, HALF, i64;
    cublasCgemm_v2_64, cublasCgemmStridedBatched_64, cublasCgemmBatched_64, COMPLEX, i64;
    cublasZgemm_v2_64, cublasZgemmStridedBatched_64, cublasZgemmBatched_64, DOUBLE_COMPLEX, i64;
}
