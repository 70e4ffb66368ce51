//! `cublas<T>gemmBatched`: matrices by arrays of pointers.

use std::ffi::{c_int, c_void};

use crate::ffi::export;
use crate::gemm::{COMPLEX, DOUBLE, DOUBLE_COMPLEX, HALF, SINGLE, submit};
use crate::handle::Handle;
use crate::operand::BatchLocation;

macro_rules! gemm_batched {
    ($($name:ident, $typed:ident, $int:ty;)*) => {$(
        export! {
            /// `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]`
            fn $name(
                handle: Handle,
                transa: c_int,
                transb: c_int,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const *const c_void,
                lda: $int,
                b: *const *const c_void,
                ldb: $int,
                beta: *const c_void,
                c: *const *mut c_void,
                ldc: $int,
                batch_count: $int,
            ) {
                submit(
                    NAME,
                    handle,
                    $typed,
                    (transa, transb),
                    (m.into(), n.into(), k.into()),
                    (alpha, beta),
                    (BatchLocation::Array(a as u64), BatchLocation::Array(b as u64), BatchLocation::Array(c as u64)),
                    (lda.into(), ldb.into(), ldc.into()),
                    batch_count.into(),
                )
            }
        }
    )*};
}

gemm_batched! {
    cublasSgemmBatched, SINGLE, c_int;
    cublasDgemmBatched, DOUBLE, c_int;
    cublasHgemmBatched, HALF, c_int;
    cublasSgemmBatched_64, SINGLE, i64;
    cublasDgemmBatched_64, DOUBLE, i64;
    cublasHgemmBatched_64, HALF, i64;
    cublasCgemmBatched, COMPLEX, c_int;
    cublasZgemmBatched, DOUBLE_COMPLEX, c_int;
    cublasCgemmBatched_64, COMPLEX, i64;
    cublasZgemmBatched_64, DOUBLE_COMPLEX, i64;
}
