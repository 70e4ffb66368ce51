//! Tests of the effects of a handle's modes.

use cudarc::cublas::sys::{self, cublasOperation_t, cublasPointerMode_t};

use crate::support::Blas;

#[test]
fn the_math_mode_enables_tf32() {
    let blas = Blas::new();
    // A value with 12 bits after the binary point; TF32 keeps 10.
    let x = 1.0f32 + 2f32.powi(-12);
    let (a, b, c) = (blas.put(&[x; 4]), blas.put(&[1.0f32; 4]), blas.put(&[0.0f32]));
    let (one, zero) = (1.0f32, 0.0f32);
    let n = cublasOperation_t::CUBLAS_OP_N;
    use sys::cublasMath_t::*;
    for (mode, ld, expected) in [
        (CUBLAS_DEFAULT_MATH, 4, x),
        (CUBLAS_TF32_TENSOR_OP_MATH, 4, 1.0),
        // Columns whose distance is not a multiple of 16 bytes don't suit tensor cores.
        (CUBLAS_TF32_TENSOR_OP_MATH, 3, x),
        (CUBLAS_PEDANTIC_MATH, 4, x),
        (CUBLAS_TENSOR_OP_MATH, 4, 1.0),
    ] {
        // SAFETY: every operand has one element.
        unsafe {
            assert_eq!(sys::cublasSetMathMode(blas.handle, mode) as u32, 0);
            let operands = [(blas.address(&a), ld), (blas.address(&b), ld), (blas.address(&c), 1)];
            let scalars = [&raw const one, &raw const zero];
            let status = blas.sgemm([n; 2], [1; 3], scalars, operands);
            assert_eq!(status as u32, 0);
        }
        assert_eq!(blas.get(&c), [expected], "{mode:?} {ld}");
    }
}

#[test]
fn scalars_in_device_memory_are_read_when_the_work_runs() {
    let blas = Blas::new();
    let (a, b, c) = (blas.put(&[3.0f64]), blas.put(&[5.0f64]), blas.put(&[100.0f64]));
    let mut scalars = blas.put(&[0.0f64, 0.0]);
    let n = cublasOperation_t::CUBLAS_OP_N;
    // SAFETY: every operand has one element; the scalars are in device memory, as the mode
    // requires.
    unsafe {
        let mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(sys::cublasSetPointerMode_v2(blas.handle, mode) as u32, 0);
        let (pa, pb) = (blas.address::<_, f64>(&a), blas.address::<_, f64>(&b));
        let (pc, ps) = (blas.address::<_, f64>(&c), blas.address::<_, f64>(&scalars));
        // The copy of the scalars is enqueued before the product, and the host doesn't wait for it.
        blas.stream.memcpy_htod(&[2.0f64, 0.5], &mut scalars).unwrap();
        let beta = ps.add(1);
        let status = sys::cublasDgemm_v2(blas.handle, n, n, 1, 1, 1, ps, pa, 1, pb, 1, beta, pc, 1);
        assert_eq!(status as u32, 0);
    }
    assert_eq!(blas.get(&c), [80.0]);
}
