//! Functions that are exported but always return `NOT_SUPPORTED`. They must exist, because a
//! program that links to all of cuBLAS, such as CuPy's module, would not load otherwise, even if it
//! never calls them.

use std::ffi::c_int;

use emulated_blas::Rejection;

use crate::ffi::LOG;

/// Defines functions that ignore their arguments and return an error. The parameters need not be
/// declared, because the caller removes them (System V ABI, "The Stack Frame").
macro_rules! refuse {
    ($($what:literal: $($name:ident)*;)*) => {$($(
        #[doc = concat!("Always fails: ", $what, " is not emulated.")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> c_int {
            LOG.guard(stringify!($name), || {
                Err(Rejection::unsupported(concat!($what, " is not emulated")))
            })
        }
    )*)*};
}

refuse! {
    "this operation on vectors":
        cublasCaxpy_v2 cublasCdotc_v2 cublasCdotu_v2 cublasCscal_v2 cublasCsscal_v2 cublasDaxpy_v2
        cublasDdot_v2 cublasDnrm2_v2 cublasDscal_v2 cublasDzasum_v2 cublasDznrm2_v2 cublasIcamax_v2
        cublasIcamin_v2 cublasIdamax_v2 cublasIdamin_v2 cublasIsamax_v2 cublasIsamin_v2
        cublasIzamax_v2 cublasIzamin_v2 cublasSaxpy_v2 cublasScasum_v2 cublasScnrm2_v2 cublasSdot_v2
        cublasSnrm2_v2 cublasSscal_v2 cublasZaxpy_v2 cublasZdotc_v2 cublasZdotu_v2 cublasZdscal_v2
        cublasZscal_v2;
    "this operation on a matrix and vectors":
        cublasCgerc_v2 cublasCgeru_v2 cublasDger_v2 cublasDsbmv_v2 cublasSger_v2 cublasSsbmv_v2
        cublasZgerc_v2 cublasZgeru_v2;
    "this operation on matrices":
        cublasCgeam cublasCsyrk_v2 cublasCtrsmBatched cublasCtrsm_v2 cublasDgeam cublasDsyrk_v2
        cublasDtrsmBatched cublasDtrsm_v2 cublasSgeam cublasSgemmEx cublasSsyrk_v2
        cublasStrsmBatched cublasStrsm_v2 cublasZgeam cublasZsyrk_v2 cublasZtrsmBatched
        cublasZtrsm_v2;
    "a factorisation in batches":
        cublasCgetrfBatched cublasCgetriBatched cublasCgetrsBatched cublasDgetrfBatched
        cublasDgetriBatched cublasDgetrsBatched cublasSgetrfBatched cublasSgetriBatched
        cublasSgetrsBatched cublasZgetrfBatched cublasZgetriBatched cublasZgetrsBatched;
    "a packed matrix":
        cublasDtpttr cublasDtrttp cublasStpttr cublasStrttp;
}
