//! `cublasLtMatmulPreference_t`: restrictions on the choice of the heuristic.

use crate::attribute::{export_structure, opaque};

opaque! {
    /// The structure of preferences. The defaults are those of
    /// `cublasLtMatmulPreferenceAttributes_t` in NVIDIA's header.
    Preference: "matmul preference", "CUBLASLT_MATMUL_PREF_…", b"LtPr", 64;
    /// The defaults: no workspace, and operands that are aligned to 256 bytes.
    new();
    others: |_, _| None;
    search_mode: i32 = 0, 0;
    max_workspace: i64 = 0, 1;
    impl_mask: i64 = -1, 12;
    // CUBLASLT_REDUCTION_SCHEME_MASK
    reduction_scheme_mask: i32 = 7, 3;
    /// The minimum alignments of `A`, `B`, `C` and `D` in bytes.
    pub(crate) alignments: [i32; 4] = [256; 4], [5, 6, 7, 8];
    max_waves: f32 = 0.0, 9;
}

impl Preference {
    /// Whether an algorithm may use this workspace and this reduction scheme.
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
