//! What all functions of the `gemm` family are called with, and how they are declared.

use std::array::from_fn;
use std::ffi::{c_int, c_void};

use emulated_blas::{Compute, DataType, Rejection};

use crate::handle::Handle;
use crate::level3::Gemm;
use crate::operand::{BatchLocation, operands};

/// The arguments that all of them have: `O` is an operation and `I` a size or a leading dimension, or
/// either a pointer to as many of them as there are groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<O, I> {
    /// The function.
    pub(crate) name: &'static str,
    pub(crate) handle: Handle,
    /// `transa`, `transb`
    pub(crate) operations: (O, O),
    /// `m`, `n`, `k`
    pub(crate) sizes: (I, I, I),
    /// `alpha`, `beta`
    pub(crate) scalars: (*const c_void, *const c_void),
    /// `A`, `B` and `C`, or the arrays of pointers to them.
    pub(crate) addresses: [u64; 3],
    /// `lda`, `ldb`, `ldc`
    pub(crate) lds: [I; 3],
}

impl<I: Copy + Into<i64>> Call<c_int, I> {
    /// Batches in which matrices lie a stride after the last; of one matrix the stride does not matter.
    pub(crate) fn strided(&self, strides: [i64; 3]) -> [BatchLocation; 3] {
        from_fn(|index| BatchLocation::Strided(self.addresses[index], strides[index]))
    }

    /// Batches of which there are arrays of pointers.
    pub(crate) fn arrays(&self) -> [BatchLocation; 3] {
        self.addresses.map(BatchLocation::Array)
    }

    /// Checks and queues it, with what the forms of the function find out each in its own way.
    ///
    /// # Safety
    /// In host pointer mode, `alpha` and `beta` have to be readable where they are not null.
    pub(crate) unsafe fn submit(
        &self,
        types: [DataType; 3],
        scale: DataType,
        compute: Compute,
        places: [BatchLocation; 3],
        batch: impl Into<i64>,
    ) -> Result<(), Rejection> {
        let (m, n, k) = self.sizes;
        let [a, b, c] = operands(types, places, self.lds.map(Into::into));
        let gemm = Gemm {
            operations: self.operations,
            sizes: (m.into(), n.into(), k.into()),
            scalars: self.scalars,
            scale,
            a,
            b,
            c,
            batch: batch.into(),
            compute,
        };
        // SAFETY: the caller's promise.
        unsafe { gemm.submit(self.name, self.handle) }
    }
}

/// Declares exported functions of the family. The body of each finds in the [`Call`] what all have; what
/// only some have is named: types of `A`, `B` and `C`, strides, and what comes last.
macro_rules! export_gemm {
    ($(
        $(#[$meta:meta])*
        fn $name:ident(
            $call:ident: Call<$operation:ty, $size:ty>
            $(, types $a_type:ident $b_type:ident $c_type:ident)?
            $(, strides $stride_a:ident $stride_b:ident $stride_c:ident)?
            $(; $($last:ident: $last_type:ty),*)?
        ) $body:block
    )*) => { c_abi::export! {$(
        $(#[$meta])*
        fn $name(
            handle: $crate::handle::Handle,
            transa: $operation,
            transb: $operation,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const std::ffi::c_void,
            a: *const std::ffi::c_void,
            $($a_type: std::ffi::c_int,)?
            lda: $size,
            $($stride_a: std::ffi::c_longlong,)?
            b: *const std::ffi::c_void,
            $($b_type: std::ffi::c_int,)?
            ldb: $size,
            $($stride_b: std::ffi::c_longlong,)?
            beta: *const std::ffi::c_void,
            c: *mut std::ffi::c_void,
            $($c_type: std::ffi::c_int,)?
            ldc: $size,
            $($stride_c: std::ffi::c_longlong,)?
            $($($last: $last_type),*)?
        ) {
            let $call = $crate::call::Call {
                name: NAME,
                handle,
                operations: (transa, transb),
                sizes: (m, n, k),
                scalars: (alpha, beta),
                addresses: [a as u64, b as u64, c as u64],
                lds: [lda, ldb, ldc],
            };
            $body
        }
    )*} };
}
pub(crate) use export_gemm;
