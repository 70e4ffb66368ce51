//! `cublasGemmGroupedBatchedEx` and `cublas<T>gemmGroupedBatched`: groups of products, where each
//! group has its own sizes and matrices are given by arrays of pointers.

use std::ffi::{c_int, c_void};

use emulated_blas::{
    Compute, DataType, InputRounding, PointerMode, Rejection, Result, reject_if, scale_type,
    vec_with_capacity,
};

use crate::call::{GemmCall, export_gemm};
use crate::gemm::{DOUBLE, SINGLE};
use crate::handle::{open, settings};
use crate::level3::{Gemm, check_sizes, launch};
use crate::operand::{BatchLocation, operands};
use crate::typed::types;

/// The arguments of a call. Operations, sizes and leading dimensions are arrays with one value per
/// group.
struct GroupedGemm<Integer> {
    call: GemmCall<*const c_int, *const Integer>,
    types: [DataType; 3],
    compute: Compute,
    group_count: i64,
    group_sizes: *const Integer,
}

/// # Safety
/// `array` must be null or have `count` readable values.
unsafe fn read<Integer: Copy>(
    array: *const Integer,
    count: usize,
    what: &str,
) -> Result<Vec<Integer>> {
    reject_if!(array.is_null(), invalid, "{what} is a null pointer");
    let mut list = vec_with_capacity(count)?;
    // SAFETY: the array is readable, as the caller promises; it may be unaligned.
    list.extend((0..count).map(|index| unsafe { array.add(index).read_unaligned() }));
    Ok(list)
}

impl<Integer: Copy + Into<i64>> GroupedGemm<Integer> {
    /// Checks all groups before any of them is enqueued, as the real library does.
    ///
    /// # Safety
    /// Non-null arrays must have one readable value per group.
    unsafe fn submit(self) -> Result {
        let call = &self.call;
        let (settings, driver) = open(call.handle)?;
        check_sizes([(self.group_count, "group_count")])?;
        if settings.pointer_mode == PointerMode::Device {
            return Err(Rejection::unsupported(
                "the pointer mode is CUBLAS_POINTER_MODE_DEVICE: grouped products require alpha_array \
                 and beta_array in host memory",
            ));
        }
        self.check_types()?;
        let groups = self.group_count as usize;
        if groups == 0 {
            return Ok(());
        }
        let scale = scale_type(self.compute, self.types[0]);
        // SAFETY: guaranteed by the caller.
        let (transa, transb, m, n, k, lda, ldb, ldc, sizes) = unsafe {
            (
                read(call.operations.0, groups, "transa_array")?,
                read(call.operations.1, groups, "transb_array")?,
                read(call.sizes.0, groups, "m_array")?,
                read(call.sizes.1, groups, "n_array")?,
                read(call.sizes.2, groups, "k_array")?,
                read(call.lds[0], groups, "lda_array")?,
                read(call.lds[1], groups, "ldb_array")?,
                read(call.lds[2], groups, "ldc_array")?,
                read(self.group_sizes, groups, "group_size")?,
            )
        };
        let (alpha, beta) = call.scalars;
        if alpha.is_null() || beta.is_null() {
            return Err(Rejection::invalid("alpha_array or beta_array is a null pointer"));
        }
        let mut prepared = Vec::new();
        let mut first = 0u64;
        for group in 0..groups {
            // The address of this group's part of an array of pointers, which follows the parts of
            // earlier groups. Groups may be empty.
            let at = |array: u64| {
                let behind = first.checked_mul(8).and_then(|bytes| array.checked_add(bytes));
                let behind = behind.ok_or_else(|| {
                    Rejection::invalid(format!(
                        "group {group}: {first} pointers before it, from {array:#x} on, exceed the address space"
                    ))
                })?;
                Ok::<_, Rejection>(BatchLocation::ArrayAnywhere(if array == 0 {
                    0
                } else {
                    behind
                }))
            };
            let scalar = |array: *const c_void| {
                array.cast::<u8>().wrapping_add(group * scale.size() as usize).cast()
            };
            let size: i64 = sizes[group].into();
            let [a, b, c] = call.addresses;
            let [a, b, c] = operands(
                self.types,
                [at(a)?, at(b)?, at(c)?],
                [lda[group], ldb[group], ldc[group]].map(Into::into),
            );
            let gemm = Gemm {
                operations: (transa[group], transb[group]),
                sizes: (m[group].into(), n[group].into(), k[group].into()),
                scalars: (scalar(alpha), scalar(beta)),
                scale,
                a,
                b,
                c,
                batch: size,
                compute: self.compute,
            };
            // SAFETY: guaranteed by the caller.
            let product = unsafe { gemm.prepare(&settings, driver) }.map_err(|rejection| {
                rejection.map_message(|message| format!("group {group}: {message}"))
            })?;
            prepared.extend(product);
            first = first.saturating_add(size.unsigned_abs());
        }
        if prepared.is_empty() {
            return Ok(());
        }
        launch(call.name, driver, settings.stream, prepared)
    }

    /// `cublasGemmGroupedBatchedEx` supports fewer types than `cublasGemmEx`: `A`, `B` and `C` have
    /// the same type, and TF32 is the only fast type.
    fn check_types(&self) -> Result {
        let [a, b, c] = self.types;
        let is_supported = match self.compute {
            Compute::F32(InputRounding::Full) => {
                matches!(a, DataType::F16 | DataType::Bf16 | DataType::F32)
            }
            Compute::F32(InputRounding::Tf32) => a == DataType::F32,
            Compute::F64 => a == DataType::F64,
            _ => false,
        };
        if is_supported && a == b && b == c {
            return Ok(());
        }
        Err(Rejection::unsupported(format!(
            "Atype {}, Btype {} and Ctype {} with {} are not supported by grouped \
             products",
            a.name(),
            b.name(),
            c.name(),
            self.compute.name()
        )))
    }
}

macro_rules! grouped {
    ($($name:ident, $typed:ident, $int:ty;)*) => {$(
        export_gemm! {
            /// Computes groups of products of one element type.
            fn $name(
                call: GemmCall<*const c_int, *const $int>; group_count: $int, group_sizes: *const $int
            ) {
                let types = [$typed.ty; 3];
                let compute = ($typed.compute)(&settings(call.handle)?);
                let group_count = group_count.into();
                GroupedGemm { call, types, compute, group_count, group_sizes }.submit()
            }
        }
    )*};
}

grouped! {
    cublasSgemmGroupedBatched, SINGLE, c_int;
    cublasDgemmGroupedBatched, DOUBLE, c_int;
    cublasSgemmGroupedBatched_64, SINGLE, i64;
    cublasDgemmGroupedBatched_64, DOUBLE, i64;
}

macro_rules! grouped_ex {
    ($($name:ident, $int:ty;)*) => {$(
        export_gemm! {
            /// Computes groups of products whose element types are arguments.
            fn $name(
                call: GemmCall<*const c_int, *const $int>, types a_type b_type c_type;
                group_count: $int, group_sizes: *const $int, compute_type: c_int
            ) {
                let types = types([a_type, b_type, c_type])?;
                let compute = Compute::from_code(compute_type)?;
                let group_count = group_count.into();
                GroupedGemm { call, types, compute, group_count, group_sizes }.submit()
            }
        }
    )*};
}

grouped_ex! {
    cublasGemmGroupedBatchedEx, c_int;
    cublasGemmGroupedBatchedEx_64, i64;
}
