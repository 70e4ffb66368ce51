//! `cublasLtMatmulDesc_t`: the description of a matrix product.

use std::ffi::c_int;

use crate::attribute::{export_structure, field_pointer, opaque};

opaque! {
    /// The structure of a descriptor. The defaults are those of `cublasLtMatmulDescAttributes_t` in
    /// NVIDIA's header; addresses are stored as 64-bit integers.
    Descriptor: "matmul descriptor", "CUBLASLT_MATMUL_DESC_…", b"LtDe", 184;
    /// A descriptor without transposition and epilogue.
    new(compute_type: c_int, scale_type: c_int);
    others: |descriptor, attribute| {
        let index = SCALES.iter().position(|(number, _)| *number == attribute)?;
        field_pointer(&mut descriptor.scales[index])
    };
    pub(crate) compute_type: i32 = compute_type, 0;
    pub(crate) scale_type: i32 = scale_type, 1;
    pub(crate) pointer_mode: i32 = 0, 2;
    pub(crate) transa: i32 = 0, 3;
    pub(crate) transb: i32 = 0, 4;
    pub(crate) transc: i32 = 0, 5;
    // CUBLAS_FILL_MODE_FULL
    pub(crate) fill_mode: i32 = 2, 6;
    // CUBLASLT_EPILOGUE_DEFAULT
    pub(crate) epilogue: i32 = 1, 7;
    pub(crate) sm_count_target: i32 = 0, 15;
    pub(crate) aux_type: i32 = -1, 22;
    pub(crate) bias_type: i32 = -1, 26;
    pub(crate) bias: i64 = 0, 8;
    pub(crate) bias_batch_stride: i64 = 0, 10;
    pub(crate) aux: i64 = 0, 11;
    pub(crate) aux_ld: i64 = 0, 12;
    pub(crate) aux_batch_stride: i64 = 0, 13;
    pub(crate) alpha_batch_stride: i64 = 0, 14;
    /// `A_SCALE_POINTER` to `D_SCALE_POINTER`, `AMAX_D_POINTER`, and the corresponding attributes
    /// of the auxiliary matrix. They are for 8-bit types, which are not supported.
    pub(crate) scales: [i64; 7] = [0; 7];
    /// This attribute has no effect on the supported types.
    pub(crate) fast_accumulation: i8 = 0, 25;
}

/// The attributes that [`Descriptor::scales`] stores: their numbers and names, in the same order.
pub(crate) const SCALES: [(c_int, &str); 7] = [
    (17, "A_SCALE_POINTER"),
    (18, "B_SCALE_POINTER"),
    (19, "C_SCALE_POINTER"),
    (20, "D_SCALE_POINTER"),
    (21, "AMAX_D_POINTER"),
    (23, "EPILOGUE_AUX_SCALE_POINTER"),
    (24, "EPILOGUE_AUX_AMAX_POINTER"),
];

export_structure! {
    Descriptor, "matmulDesc", new(compute_type: c_int, scale_type: c_int);
    cublasLtMatmulDescCreate, cublasLtMatmulDescInit_internal, cublasLtMatmulDescDestroy,
    cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute
}
