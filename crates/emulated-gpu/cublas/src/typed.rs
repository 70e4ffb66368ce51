//! `cublasGemmEx` and its batched forms, which take the types as arguments.

use std::ffi::c_int;

use emulated_blas::{Compute, DataType, Result, reject_if, scale_type};

use crate::call::{GemmCall, export_gemm};
use crate::operand::BatchLocation;

/// Converts the type arguments of `A`, `B` and `C`.
pub(crate) fn types(codes: [c_int; 3]) -> Result<[DataType; 3]> {
    Ok([
        DataType::from_argument(codes[0], "Atype")?,
        DataType::from_argument(codes[1], "Btype")?,
        DataType::from_argument(codes[2], "Ctype")?,
    ])
}

/// # Safety
/// See [`GemmCall::submit`].
unsafe fn submit<I: Copy + Into<i64>>(
    call: &GemmCall<c_int, I>,
    codes: [c_int; 3],
    (compute_type, algo): (c_int, c_int),
    places: [BatchLocation; 3],
    batch: impl Into<i64>,
) -> Result {
    // The valid algorithms are CUBLAS_GEMM_DEFAULT, ALGO0 to ALGO23, their tensor-core
    // counterparts, and AUTOTUNE.
    reject_if!(
        !matches!(algo, -1..=23 | 99..=115 | 999),
        invalid,
        "algo is {algo}, which is not a cublasGemmAlgo_t"
    );
    let compute = Compute::from_code(compute_type)?;
    let types = types(codes)?;
    // SAFETY: guaranteed by the caller.
    unsafe { call.submit(types, scale_type(compute, types[0]), compute, places, batch) }
}

macro_rules! gemm_ex {
    ($($name:ident, $strided:ident, $batched:ident, $int:ty;)*) => {$(
        export_gemm! {
            /// Computes `C = alpha · op(A) · op(B) + beta · C`.
            fn $name(
                call: GemmCall<c_int, $int>, types a_type b_type c_type;
                compute_type: c_int, algo: c_int
            ) {
                let codes = [a_type, b_type, c_type];
                submit(&call, codes, (compute_type, algo), call.strided([0; 3]), 1)
            }

            /// Computes `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]` for a strided batch.
            fn $strided(
                call: GemmCall<c_int, $int>, types a_type b_type c_type, strides stride_a stride_b stride_c;
                batch_count: $int, compute_type: c_int, algo: c_int
            ) {
                let (codes, strides) = ([a_type, b_type, c_type], [stride_a, stride_b, stride_c]);
                submit(&call, codes, (compute_type, algo), call.strided(strides), batch_count)
            }

            /// Computes `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]` for arrays of pointers.
            fn $batched(
                call: GemmCall<c_int, $int>, types a_type b_type c_type;
                batch_count: $int, compute_type: c_int, algo: c_int
            ) {
                let codes = [a_type, b_type, c_type];
                submit(&call, codes, (compute_type, algo), call.arrays(), batch_count)
            }
        }
    )*};
}

gemm_ex! {
    cublasGemmEx, cublasGemmStridedBatchedEx, cublasGemmBatchedEx, c_int;
    cublasGemmEx_64, cublasGemmStridedBatchedEx_64, cublasGemmBatchedEx_64, i64;
}
