//! cuBLASLt's objects, each destroyed when it is dropped.

use std::ffi::c_void;
use std::ptr::from_ref;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    cublasComputeType_t, cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, cublasLtMatrixLayout_t,
};

use super::REAL;

type Result<T> = std::result::Result<T, CublasError>;

/// An object of the library, and the function that destroys it.
pub(super) struct Owned<T: Copy>(pub(super) T, unsafe fn(T) -> Result<()>);

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: one of the functions below made it, and it is dropped once. If the library fails to
        // destroy it, nothing more can be done.
        let _ = unsafe { (self.1)(self.0) };
    }
}

pub(super) type Handle = Owned<cublasLtHandle_t>;
/// The shape of a matrix in memory, column-major.
pub(super) type Layout = Owned<cublasLtMatrixLayout_t>;
/// The computation: transpositions, the epilogue and its addresses.
pub(super) type Descriptor = Owned<cublasLtMatmulDesc_t>;
/// The heuristic's limits.
pub(super) type Preference = Owned<cublasLtMatmulPreference_t>;

pub(super) fn handle() -> Result<Handle> {
    Ok(Owned(result::create_handle()?, result::destroy_handle))
}

pub(super) fn layout(rows: usize, columns: usize, ld: usize) -> Result<Layout> {
    let layout = result::create_matrix_layout(REAL, rows as u64, columns as u64, ld as i64)?;
    Ok(Owned(layout, result::destroy_matrix_layout))
}

pub(super) fn descriptor(compute: cublasComputeType_t) -> Result<Descriptor> {
    Ok(Owned(result::create_matmul_desc(compute, REAL)?, result::destroy_matmul_desc))
}

pub(super) fn preference() -> Result<Preference> {
    Ok(Owned(result::create_matmul_pref()?, result::destroy_matmul_pref))
}

impl Descriptor {
    /// Sets an attribute, whose type in C is a number of the size of `T`.
    pub(super) fn set<T: Copy>(&self, at: cublasLtMatmulDescAttributes_t, value: &T) -> Result<()> {
        // SAFETY: the descriptor lives, and the library copies this many bytes, or says that the
        // attribute has another size.
        unsafe {
            let value = from_ref(value).cast::<c_void>();
            result::set_matmul_desc_attribute(self.0, at, value, size_of::<T>())
        }
    }
}

impl Preference {
    /// Sets an attribute, whose type in C is a number of the size of `T`.
    pub(super) fn set<T: Copy>(
        &self,
        at: cublasLtMatmulPreferenceAttributes_t,
        value: &T,
    ) -> Result<()> {
        // SAFETY: as of the descriptor.
        unsafe {
            let value = from_ref(value).cast::<c_void>();
            result::set_matmul_pref_attribute(self.0, at, value, size_of::<T>())
        }
    }
}
