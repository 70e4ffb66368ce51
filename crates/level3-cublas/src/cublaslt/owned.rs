//! cuBLASLt's objects, each destroyed when it is dropped.

use std::ffi::c_void;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    cublasComputeType_t, cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, cublasLtMatrixLayout_t,
};

use super::REAL;

type Result<T> = std::result::Result<T, CublasError>;

pub(super) struct Handle(pub(super) cublasLtHandle_t);

impl Handle {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(result::create_handle()?))
    }
}

/// The shape of a matrix in memory, column-major.
pub(super) struct Layout(pub(super) cublasLtMatrixLayout_t);

impl Layout {
    pub(super) fn new(rows: usize, columns: usize, ld: usize) -> Result<Self> {
        let layout = result::create_matrix_layout(REAL, rows as u64, columns as u64, ld as i64)?;
        Ok(Self(layout))
    }
}

/// What is computed: transpositions, the epilogue and its addresses.
pub(super) struct Descriptor(pub(super) cublasLtMatmulDesc_t);

impl Descriptor {
    pub(super) fn new(compute: cublasComputeType_t) -> Result<Self> {
        Ok(Self(result::create_matmul_desc(compute, REAL)?))
    }

    /// Sets an attribute, whose type in C is a number of the size of `T`.
    pub(super) fn set<T: Copy>(
        &self,
        attribute: cublasLtMatmulDescAttributes_t,
        value: &T,
    ) -> Result<()> {
        let (value, size) = (std::ptr::from_ref(value).cast::<c_void>(), size_of::<T>());
        // SAFETY: the descriptor lives, and the library copies this many bytes, or says that the
        // attribute has another size.
        unsafe { result::set_matmul_desc_attribute(self.0, attribute, value, size) }
    }
}

/// What the heuristic has to keep to.
pub(super) struct Preference(pub(super) cublasLtMatmulPreference_t);

impl Preference {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(result::create_matmul_pref()?))
    }

    /// Sets an attribute, whose type in C is a number of the size of `T`.
    pub(super) fn set<T: Copy>(
        &self,
        attribute: cublasLtMatmulPreferenceAttributes_t,
        value: &T,
    ) -> Result<()> {
        let (value, size) = (std::ptr::from_ref(value).cast::<c_void>(), size_of::<T>());
        // SAFETY: as of `Descriptor::set`.
        unsafe { result::set_matmul_pref_attribute(self.0, attribute, value, size) }
    }
}

// When something can't be destroyed, nothing is left to do.

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and dropped once.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and dropped once.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and dropped once.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and dropped once.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}
