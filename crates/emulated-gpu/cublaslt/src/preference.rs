//! `cublasLtMatmulPreference_t`: what the heuristic may choose.

use std::ffi::c_int;

use crate::attribute::{Field, Opaque, export_structure};

/// Preferences. The defaults are those of NVIDIA's `cublasLtMatmulPreferenceAttributes_t`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Preference {
    mark: u32,
    search_mode: i32,
    max_workspace: i64,
    impl_mask: i64,
    reduction_scheme_mask: i32,
    /// Bytes that the addresses of `A`, `B`, `C` and `D` will be multiples of, at least.
    pub(crate) alignments: [i32; 4],
    max_waves: f32,
}

// SAFETY: the mark is the first of its fields, which are all numbers.
unsafe impl Opaque for Preference {
    const WHAT: &'static str = "matmul preference";
    const PREFIX: &'static str = "CUBLASLT_MATMUL_PREF_…";
    const MARK: u32 = u32::from_be_bytes(*b"LtPr");
    const SIZE: usize = 64;

    fn field(&mut self, attribute: c_int) -> Option<Field<'_>> {
        Some(match attribute {
            0 => Field::I32(&mut self.search_mode),
            1 => Field::I64(&mut self.max_workspace),
            3 => Field::I32(&mut self.reduction_scheme_mask),
            5 => Field::I32(&mut self.alignments[0]),
            6 => Field::I32(&mut self.alignments[1]),
            7 => Field::I32(&mut self.alignments[2]),
            8 => Field::I32(&mut self.alignments[3]),
            9 => Field::F32(&mut self.max_waves),
            12 => Field::I64(&mut self.impl_mask),
            _ => return None,
        })
    }
}

impl Preference {
    /// No workspace, and operands aligned to 256 bytes.
    pub(crate) fn new() -> Self {
        Self {
            mark: Self::MARK,
            search_mode: 0,
            max_workspace: 0,
            impl_mask: -1,
            // CUBLASLT_REDUCTION_SCHEME_MASK
            reduction_scheme_mask: 7,
            alignments: [256; 4],
            max_waves: 0.0,
        }
    }

    /// Whether an algorithm may use this many bytes of workspace, and add parts of sums by such a scheme.
    pub(crate) fn allows(&self, workspace: u64, reduction: i32) -> bool {
        i64::try_from(workspace).is_ok_and(|bytes| bytes <= self.max_workspace)
            && self.reduction_scheme_mask & reduction != 0
    }
}

export_structure! {
    Preference, "pref", new();
    cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceInit_internal, cublasLtMatmulPreferenceDestroy,
    cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceGetAttribute
}
