//! The common arguments of the `gemm` functions, and the macro that declares these functions.

use std::array::from_fn;
use std::ffi::{c_int, c_void};

use emulated_blas::{Compute, DataType, Result};

use crate::handle::Handle;
use crate::level3::Gemm;
use crate::operand::{BatchLocation, operands};

/// The arguments that all `gemm` functions have. `O` is the type of an operation, and `I` the type
/// of a size or a leading dimension; for grouped products, both are pointers to one value per
/// group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GemmCall<O, I> {
    /// The name of the exported function.
    pub(crate) name: &'static str,
    pub(crate) handle: Handle,
    /// `transa`, `transb`
    pub(crate) operations: (O, O),
    /// `m`, `n`, `k`
    pub(crate) sizes: (I, I, I),
    /// `alpha`, `beta`
    pub(crate) scalars: (*const c_void, *const c_void),
    /// The addresses of `A`, `B` and `C`, or of the arrays of pointers to them.
    pub(crate) addresses: [u64; 3],
    /// `lda`, `ldb`, `ldc`
    pub(crate) lds: [I; 3],
}

impl<I: Copy + Into<i64>> GemmCall<c_int, I> {
    /// The operands as strided batches; for a single matrix the stride has no effect.
    pub(crate) fn strided(&self, strides: [i64; 3]) -> [BatchLocation; 3] {
        from_fn(|index| BatchLocation::Strided(self.addresses[index], strides[index]))
    }

    /// The operands as arrays of pointers.
    pub(crate) fn arrays(&self) -> [BatchLocation; 3] {
        self.addresses.map(BatchLocation::Array)
    }

    /// Checks the arguments and enqueues the product. The parameters are the arguments that differ
    /// between the functions.
    ///
    /// # Safety
    /// In host pointer mode, non-null `alpha` and `beta` must be readable.
    pub(crate) unsafe fn submit(
        &self,
        types: [DataType; 3],
        scale: DataType,
        compute: Compute,
        places: [BatchLocation; 3],
        batch: impl Into<i64>,
    ) -> Result {
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
        // SAFETY: guaranteed by the caller.
        unsafe { gemm.submit(self.name, self.handle) }
    }
}

/// Declares exported functions of the `gemm` family. The [`GemmCall`] in a function's body has the
/// common arguments. A declaration lists the other arguments: the types of `A`, `B` and `C`, the
/// strides, and the last arguments.
macro_rules! export_gemm {
    ($(
        $(#[$meta:meta])*
        fn $name:ident(
            $call:ident: GemmCall<$operation:ty, $size:ty>
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
            let $call = $crate::call::GemmCall {
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
