//! `cublasGemmEx` and its batched forms: the types are arguments.

use std::ffi::{c_int, c_longlong, c_void};

use emulated_blas::{Compute, DataType, Rejection, scale_type};

use crate::ffi::export;
use crate::gemm::operands;
use crate::handle::Handle;
use crate::level3::Gemm;
use crate::operand::BatchLocation;

/// The types of `A`, `B` and `C`.
pub(crate) fn types(
    codes: (c_int, c_int, c_int),
) -> Result<(DataType, DataType, DataType), Rejection> {
    Ok((
        DataType::from_code(codes.0, "Atype")?,
        DataType::from_code(codes.1, "Btype")?,
        DataType::from_code(codes.2, "Ctype")?,
    ))
}

fn submit(
    name: &'static str,
    handle: Handle,
    operations: (c_int, c_int),
    sizes: (i64, i64, i64),
    scalars: (*const c_void, *const c_void),
    codes: (c_int, c_int, c_int),
    places: (BatchLocation, BatchLocation, BatchLocation),
    lds: (i64, i64, i64),
    batch: i64,
    compute_type: c_int,
    algo: c_int,
) -> Result<(), Rejection> {
    // CUBLAS_GEMM_DEFAULT and ALGO0 to ALGO23, their tensor-core twins, and AUTOTUNE.
    if !matches!(algo, -1..=23 | 99..=115 | 999) {
        return Err(Rejection::invalid(format!("algo is {algo}, which is none")));
    }
    let compute = Compute::from_code(compute_type)?;
    let (a, b, c) = operands(types(codes)?, places, lds);
    let scale = scale_type(compute, a.ty);
    let gemm = Gemm {
        operations,
        sizes,
        alpha: scalars.0,
        beta: scalars.1,
        scale,
        a,
        b,
        c,
        batch,
        compute,
    };
    gemm.submit(name, handle)
}

macro_rules! gemm_ex {
    ($($name:ident, $strided:ident, $batched:ident, $int:ty;)*) => {$(
        export! {
            /// `C = alpha · op(A) · op(B) + beta · C`
            fn $name(
                handle: Handle,
                transa: c_int,
                transb: c_int,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const c_void,
                a_type: c_int,
                lda: $int,
                b: *const c_void,
                b_type: c_int,
                ldb: $int,
                beta: *const c_void,
                c: *mut c_void,
                c_type: c_int,
                ldc: $int,
                compute_type: c_int,
                algo: c_int,
            ) {
                submit(
                    NAME,
                    handle,
                    (transa, transb),
                    (m.into(), n.into(), k.into()),
                    (alpha, beta),
                    (a_type, b_type, c_type),
                    (
                        BatchLocation::Strided(a as u64, 0),
                        BatchLocation::Strided(b as u64, 0),
                        BatchLocation::Strided(c as u64, 0),
                    ),
                    (lda.into(), ldb.into(), ldc.into()),
                    1,
                    compute_type,
                    algo,
                )
            }

            /// `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]`, each a stride after the last.
            fn $strided(
                handle: Handle,
                transa: c_int,
                transb: c_int,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const c_void,
                a_type: c_int,
                lda: $int,
                stride_a: c_longlong,
                b: *const c_void,
                b_type: c_int,
                ldb: $int,
                stride_b: c_longlong,
                beta: *const c_void,
                c: *mut c_void,
                c_type: c_int,
                ldc: $int,
                stride_c: c_longlong,
                batch_count: $int,
                compute_type: c_int,
                algo: c_int,
            ) {
                submit(
                    NAME,
                    handle,
                    (transa, transb),
                    (m.into(), n.into(), k.into()),
                    (alpha, beta),
                    (a_type, b_type, c_type),
                    (
                        BatchLocation::Strided(a as u64, stride_a),
                        BatchLocation::Strided(b as u64, stride_b),
                        BatchLocation::Strided(c as u64, stride_c),
                    ),
                    (lda.into(), ldb.into(), ldc.into()),
                    batch_count.into(),
                    compute_type,
                    algo,
                )
            }

            /// `C[i] = alpha · op(A[i]) · op(B[i]) + beta · C[i]`, by arrays of pointers.
            fn $batched(
                handle: Handle,
                transa: c_int,
                transb: c_int,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const *const c_void,
                a_type: c_int,
                lda: $int,
                b: *const *const c_void,
                b_type: c_int,
                ldb: $int,
                beta: *const c_void,
                c: *const *mut c_void,
                c_type: c_int,
                ldc: $int,
                batch_count: $int,
                compute_type: c_int,
                algo: c_int,
            ) {
                submit(
                    NAME,
                    handle,
                    (transa, transb),
                    (m.into(), n.into(), k.into()),
                    (alpha, beta),
                    (a_type, b_type, c_type),
                    (BatchLocation::Array(a as u64), BatchLocation::Array(b as u64), BatchLocation::Array(c as u64)),
                    (lda.into(), ldb.into(), ldc.into()),
                    batch_count.into(),
                    compute_type,
                    algo,
                )
            }
        }
    )*};
}

gemm_ex! {
    cublasGemmEx, cublasGemmStridedBatchedEx, cublasGemmBatchedEx, c_int;
    cublasGemmEx_64, cublasGemmStridedBatchedEx_64, cublasGemmBatchedEx_64, i64;
}
