//! `cublasGemmEx`: the types that it supports, and its results.

use std::ffi::c_void;

use ::half::{bf16, f16};
use cudarc::cublas::sys::{
    self, cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType_t,
};
use cudarc::driver::{CudaSlice, DeviceRepr};

use crate::support::{Blas, Messages};

/// Computes `C = A · B` for contiguous matrices without transposition.
fn multiply<A: DeviceRepr, C: DeviceRepr, S>(
    blas: &Blas,
    [m, n, k]: [i32; 3],
    [one, zero]: [&[S]; 2],
    (a, b, ab_type): (&CudaSlice<A>, &CudaSlice<A>, cudaDataType_t),
    (c, c_type): (&CudaSlice<C>, cudaDataType_t),
    compute: cublasComputeType_t,
) -> sys::cublasStatus_t {
    let (handle, none) = (blas.handle, cublasOperation_t::CUBLAS_OP_N);
    let algorithm = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
    let (one, zero) = (one.as_ptr().cast(), zero.as_ptr().cast());
    let (a, b, c): (*mut c_void, *mut c_void, *mut c_void) =
        (blas.address(a), blas.address(b), blas.address(c));
    // SAFETY: every operand is large enough.
    unsafe {
        sys::cublasGemmEx(
            handle, none, none, m, n, k, one, a, ab_type, m, b, ab_type, k, zero, c, c_type, m,
            compute, algorithm,
        )
    }
}

/// The combinations of types, compute type and scale type that `cublasGemmEx` must support.
#[test]
fn gemm_ex_supports_its_types() {
    let _messages = Messages::capture();
    let blas = Blas::new();
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.25]);
    // Column-major 2 x 2: [[1, 3], [2, 4]] · [[0.5, 2], [-1, 0.25]].
    let expected = [-2.5, -3.0, 2.75, 5.0];
    let as_bytes = |ty: u32, values: &[f64]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|&x| match ty {
                0 => (x as f32).to_le_bytes().to_vec(),
                1 => x.to_le_bytes().to_vec(),
                2 => f16::from_f64(x).to_le_bytes().to_vec(),
                _ => bf16::from_f64(x).to_le_bytes().to_vec(),
            })
            .collect()
    };
    let types = |code: u32| match code {
        0 => cudaDataType_t::CUDA_R_32F,
        1 => cudaDataType_t::CUDA_R_64F,
        2 => cudaDataType_t::CUDA_R_16F,
        14 => cudaDataType_t::CUDA_R_16BF,
        _ => cudaDataType_t::CUDA_R_8I,
    };
    use cublasComputeType_t::*;
    for (ab, c, compute, scale, wanted) in [
        (2, 2, CUBLAS_COMPUTE_16F, 2, 0),
        (2, 2, CUBLAS_COMPUTE_32F, 0, 0),
        (2, 0, CUBLAS_COMPUTE_32F, 0, 0),
        (14, 14, CUBLAS_COMPUTE_32F, 0, 0),
        (14, 0, CUBLAS_COMPUTE_32F_PEDANTIC, 0, 0),
        (0, 0, CUBLAS_COMPUTE_32F, 0, 0),
        (0, 0, CUBLAS_COMPUTE_32F_FAST_TF32, 0, 0),
        (0, 0, CUBLAS_COMPUTE_32F_FAST_16BF, 0, 0),
        (1, 1, CUBLAS_COMPUTE_64F, 1, 0),
        (0, 2, CUBLAS_COMPUTE_32F, 0, 15),
        (2, 2, CUBLAS_COMPUTE_32F_FAST_TF32, 0, 15),
        (3, 0, CUBLAS_COMPUTE_32F, 0, 15),
        (0, 0, CUBLAS_COMPUTE_32I, 0, 15),
    ] {
        let (da, db) = (blas.put(&as_bytes(ab, &a)), blas.put(&as_bytes(ab, &b)));
        let dc = blas.put(&as_bytes(c, &[9.0; 4]));
        let (one, zero) = (as_bytes(scale, &[1.0]), as_bytes(scale, &[0.0]));
        let (ab_type, c_type) = (types(ab), types(c));
        let (operands, scalars) = ((&da, &db, ab_type), [&one[..], &zero[..]]);
        let status = multiply(&blas, [2; 3], scalars, operands, (&dc, c_type), compute);
        assert_eq!(status as u32, wanted, "{ab} {c} {compute:?}");
        let wanted = if wanted == 0 { expected } else { [9.0; 4] };
        assert_eq!(blas.get(&dc), as_bytes(c, &wanted), "{ab} {c} {compute:?}");
    }
}

#[test]
fn gemm_ex_supports_complex_types_and_scalars() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, b) = ([[1.0_f32, 2.0], [0.5, -1.0]], [[3.0_f32, -1.0], [2.0, 4.0]]);
    let (da, db, dc) =
        (blas.put(a.as_flattened()), blas.put(b.as_flattened()), blas.put(&[9.0_f32; 8]));
    let (one, zero) = ([1.0_f32, 0.0], [0.0_f32, 0.0]);
    let complex = cudaDataType_t::CUDA_C_32F;
    let call = |c_type| {
        let (operands, scalars) = ((&da, &db, complex), [&one[..], &zero[..]]);
        let compute = cublasComputeType_t::CUBLAS_COMPUTE_32F;
        multiply(&blas, [2, 2, 1], scalars, operands, (&dc, c_type), compute)
    };
    assert_eq!(call(complex) as u32, 0);
    // (1 + 2i)(3 - i) = 5 + 5i, (0.5 - i)(3 - i) = 0.5 - 3.5i, (1 + 2i)(2 + 4i) = -6 + 8i, (0.5 -
    // i)(2 + 4i) = 5.
    assert_eq!(blas.get(&dc), [5.0, 5.0, 0.5, -3.5, -6.0, 8.0, 5.0, 0.0]);
    let status = call(cudaDataType_t::CUDA_R_32F);
    messages.expect(status, 15, &["Ctype CUDA_R_32F", "are not supported with CUBLAS_COMPUTE_32F"]);
}
