//! `cublasLtMatmulDesc_t`: what is computed.

use std::ffi::c_int;

use crate::attribute::{Field, Opaque, export_structure};

/// A descriptor. The defaults are those of NVIDIA's `cublasLtMatmulDescAttributes_t`; addresses are
/// kept as the 64 bits they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Descriptor {
    mark: u32,
    pub(crate) compute_type: i32,
    pub(crate) scale_type: i32,
    pub(crate) pointer_mode: i32,
    pub(crate) transa: i32,
    pub(crate) transb: i32,
    pub(crate) transc: i32,
    pub(crate) fill_mode: i32,
    pub(crate) epilogue: i32,
    pub(crate) sm_count_target: i32,
    pub(crate) aux_type: i32,
    pub(crate) bias_type: i32,
    pub(crate) bias: i64,
    pub(crate) bias_batch_stride: i64,
    pub(crate) aux: i64,
    pub(crate) aux_ld: i64,
    pub(crate) aux_batch_stride: i64,
    pub(crate) alpha_batch_stride: i64,
    /// `A_SCALE_POINTER` to `D_SCALE_POINTER`, `AMAX_D_POINTER`, and those of the auxiliary matrix:
    /// for 8-bit types, which are not here.
    pub(crate) scales: [i64; 7],
    /// Without effect on the types that are here.
    pub(crate) fast_accumulation: i8,
}

/// Attributes that [`Descriptor::scales`] holds, in its order.
pub(crate) const SCALES: [(c_int, &str); 7] = [
    (17, "A_SCALE_POINTER"),
    (18, "B_SCALE_POINTER"),
    (19, "C_SCALE_POINTER"),
    (20, "D_SCALE_POINTER"),
    (21, "AMAX_D_POINTER"),
    (23, "EPILOGUE_AUX_SCALE_POINTER"),
    (24, "EPILOGUE_AUX_AMAX_POINTER"),
];

// SAFETY: the mark is the first of its fields, which are all numbers.
unsafe impl Opaque for Descriptor {
    const WHAT: &'static str = "matmul descriptor";
    const PREFIX: &'static str = "CUBLASLT_MATMUL_DESC_…";
    const MARK: u32 = u32::from_be_bytes(*b"LtDe");
    const SIZE: usize = 184;

    fn field(&mut self, attribute: c_int) -> Option<Field<'_>> {
        Some(match attribute {
            0 => Field::I32(&mut self.compute_type),
            1 => Field::I32(&mut self.scale_type),
            2 => Field::I32(&mut self.pointer_mode),
            3 => Field::I32(&mut self.transa),
            4 => Field::I32(&mut self.transb),
            5 => Field::I32(&mut self.transc),
            6 => Field::I32(&mut self.fill_mode),
            7 => Field::I32(&mut self.epilogue),
            8 => Field::I64(&mut self.bias),
            10 => Field::I64(&mut self.bias_batch_stride),
            11 => Field::I64(&mut self.aux),
            12 => Field::I64(&mut self.aux_ld),
            13 => Field::I64(&mut self.aux_batch_stride),
            14 => Field::I64(&mut self.alpha_batch_stride),
            15 => Field::I32(&mut self.sm_count_target),
            22 => Field::I32(&mut self.aux_type),
            25 => Field::I8(&mut self.fast_accumulation),
            26 => Field::I32(&mut self.bias_type),
            _ => {
                let index = SCALES.iter().position(|(number, _)| *number == attribute)?;
                Field::I64(&mut self.scales[index])
            }
        })
    }
}

impl Descriptor {
    /// No transposition, no epilogue.
    pub(crate) fn new(compute_type: c_int, scale_type: c_int) -> Self {
        Self {
            mark: Self::MARK,
            compute_type,
            scale_type,
            pointer_mode: 0,
            transa: 0,
            transb: 0,
            transc: 0,
            // CUBLAS_FILL_MODE_FULL
            fill_mode: 2,
            // CUBLASLT_EPILOGUE_DEFAULT
            epilogue: 1,
            sm_count_target: 0,
            aux_type: -1,
            bias_type: -1,
            bias: 0,
            bias_batch_stride: 0,
            aux: 0,
            aux_ld: 0,
            aux_batch_stride: 0,
            alpha_batch_stride: 0,
            scales: [0; 7],
            fast_accumulation: 0,
        }
    }
}

export_structure! {
    Descriptor, "matmulDesc", new(compute_type: c_int, scale_type: c_int);
    cublasLtMatmulDescCreate, cublasLtMatmulDescInit_internal, cublasLtMatmulDescDestroy,
    cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute
}
