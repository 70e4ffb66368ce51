//! `cublas<T>gemm` and `cublas<T>gemmStridedBatched`, in 32- and 64-bit integers.

use std::ffi::{c_int, c_longlong, c_void};

use emulated_blas::{Compute, DataType, Rejection};

use crate::ffi::export;
use crate::handle::{Handle, Settings, settings};
use crate::level3::Gemm;
use crate::operand::{BatchLocation, Operand};

/// One of the types that functions have in their names.
#[derive(Clone, Copy)]
pub(crate) struct Typed {
    pub(crate) ty: DataType,
    /// In what is computed, by the handle's settings.
    pub(crate) compute: fn(&Settings) -> Compute,
}

pub(crate) const SINGLE: Typed = Typed { ty: DataType::F32, compute: Settings::single };
pub(crate) const DOUBLE: Typed = Typed { ty: DataType::F64, compute: |_| Compute::F64 };
pub(crate) const COMPLEX: Typed = Typed { ty: DataType::C32, compute: Settings::single };
pub(crate) const DOUBLE_COMPLEX: Typed = Typed { ty: DataType::C64, compute: |_| Compute::F64 };
pub(crate) const HALF: Typed = Typed { ty: DataType::F16, compute: |_| Compute::F16 };

/// The operands `A`, `B` and `C` of one type.
pub(crate) fn operands(
    types: (DataType, DataType, DataType),
    places: (BatchLocation, BatchLocation, BatchLocation),
    lds: (i64, i64, i64),
) -> (Operand, Operand, Operand) {
    (
        Operand { name: "A", ld_name: "lda", place: places.0, ty: types.0, ld: lds.0 },
        Operand { name: "B", ld_name: "ldb", place: places.1, ty: types.1, ld: lds.1 },
        Operand { name: "C", ld_name: "ldc", place: places.2, ty: types.2, ld: lds.2 },
    )
}

pub(crate) fn submit(
    name: &'static str,
    handle: Handle,
    typed: Typed,
    operations: (c_int, c_int),
    sizes: (i64, i64, i64),
    scalars: (*const c_void, *const c_void),
    places: (BatchLocation, BatchLocation, BatchLocation),
    lds: (i64, i64, i64),
    batch: i64,
) -> Result<(), Rejection> {
    let compute = (typed.compute)(&settings(handle)?);
    let (a, b, c) = operands((typed.ty, typed.ty, typed.ty), places, lds);
    let gemm = Gemm {
        operations,
        sizes,
        alpha: scalars.0,
        beta: scalars.1,
        scale: typed.ty,
        a,
        b,
        c,
        batch,
        compute,
    };
    gemm.submit(name, handle)
}

macro_rules! gemm {
    ($($name:ident, $strided:ident, $typed:ident, $int:ty;)*) => {$(
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
                lda: $int,
                b: *const c_void,
                ldb: $int,
                beta: *const c_void,
                c: *mut c_void,
                ldc: $int,
            ) {
                submit(
                    NAME,
                    handle,
                    $typed,
                    (transa, transb),
                    (m.into(), n.into(), k.into()),
                    (alpha, beta),
                    (
                        BatchLocation::Strided(a as u64, 0),
                        BatchLocation::Strided(b as u64, 0),
                        BatchLocation::Strided(c as u64, 0),
                    ),
                    (lda.into(), ldb.into(), ldc.into()),
                    1,
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
                lda: $int,
                stride_a: c_longlong,
                b: *const c_void,
                ldb: $int,
                stride_b: c_longlong,
                beta: *const c_void,
                c: *mut c_void,
                ldc: $int,
                stride_c: c_longlong,
                batch_count: $int,
            ) {
                submit(
                    NAME,
                    handle,
                    $typed,
                    (transa, transb),
                    (m.into(), n.into(), k.into()),
                    (alpha, beta),
                    (
                        BatchLocation::Strided(a as u64, stride_a),
                        BatchLocation::Strided(b as u64, stride_b),
                        BatchLocation::Strided(c as u64, stride_c),
                    ),
                    (lda.into(), ldb.into(), ldc.into()),
                    batch_count.into(),
                )
            }
        }
    )*};
}

gemm! {
    cublasSgemm_v2, cublasSgemmStridedBatched, SINGLE, c_int;
    cublasDgemm_v2, cublasDgemmStridedBatched, DOUBLE, c_int;
    cublasHgemm, cublasHgemmStridedBatched, HALF, c_int;
    cublasSgemm_v2_64, cublasSgemmStridedBatched_64, SINGLE, i64;
    cublasDgemm_v2_64, cublasDgemmStridedBatched_64, DOUBLE, i64;
    cublasHgemm_64, cublasHgemmStridedBatched_64, HALF, i64;
    cublasCgemm_v2, cublasCgemmStridedBatched, COMPLEX, c_int;
    cublasZgemm_v2, cublasZgemmStridedBatched, DOUBLE_COMPLEX, c_int;
    cublasCgemm_v2_64, cublasCgemmStridedBatched_64, COMPLEX, i64;
    cublasZgemm_v2_64, cublasZgemmStridedBatched_64, DOUBLE_COMPLEX, i64;
}
