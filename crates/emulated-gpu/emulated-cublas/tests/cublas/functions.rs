//! What the functions compute, against sums in double precision.

use std::ffi::c_void;

use ::half::{bf16, f16};
use cudarc::cublas::sys::{self, cublasOperation_t};

use crate::support::{Blas, Messages};

const OPERATIONS: [cublasOperation_t; 2] =
    [cublasOperation_t::CUBLAS_OP_N, cublasOperation_t::CUBLAS_OP_T];

fn values(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + seed * 101) % 64) as f64 / 16.0 - 2.0).collect()
}

/// Sizes, and leading dimensions with room to spare.
#[derive(Clone, Copy)]
struct Shape {
    m: usize,
    n: usize,
    k: usize,
    ta: bool,
    tb: bool,
}

impl Shape {
    fn lda(self) -> usize {
        if self.ta { self.k + 1 } else { self.m + 1 }
    }

    fn ldb(self) -> usize {
        if self.tb { self.n + 2 } else { self.k + 2 }
    }

    fn ldc(self) -> usize {
        self.m + 3
    }

    fn elements(self) -> (usize, usize, usize) {
        (
            self.lda() * if self.ta { self.m } else { self.k },
            self.ldb() * if self.tb { self.k } else { self.n },
            self.ldc() * self.n,
        )
    }

    /// `c = alpha · op(a) · op(b) + beta · c`, by definition.
    fn multiply(self, alpha: f64, a: &[f64], b: &[f64], beta: f64, c: &mut [f64]) {
        for column in 0..self.n {
            for row in 0..self.m {
                let sum: f64 = (0..self.k)
                    .map(|depth| {
                        let left = if self.ta {
                            a[row * self.lda() + depth]
                        } else {
                            a[depth * self.lda() + row]
                        };
                        let right = if self.tb {
                            b[depth * self.ldb() + column]
                        } else {
                            b[column * self.ldb() + depth]
                        };
                        left * right
                    })
                    .sum();
                let c = &mut c[column * self.ldc() + row];
                *c = alpha * sum + beta * *c;
            }
        }
    }
}

fn shapes() -> impl Iterator<Item = Shape> {
    [false, true]
        .into_iter()
        .flat_map(|ta| [false, true].into_iter().map(move |tb| Shape { m: 5, n: 4, k: 7, ta, tb }))
}

/// All values here are sixteenths, and all results are exact in single precision.
macro_rules! gemm_test {
    ($test:ident, $function:ident, $strided:ident, $batched:ident, $ty:ty) => {
        #[test]
        fn $test() {
            let blas = Blas::new();
            for shape in shapes() {
                let Shape { m, n, k, ta, tb } = shape;
                let (len_a, len_b, len_c) = shape.elements();
                let (alpha, beta) = (0.5 as $ty, -2.0 as $ty);
                const BATCH: usize = 3;
                let (a, b) = (values(len_a * BATCH, 1), values(len_b * BATCH, 2));
                let c = values(len_c * BATCH, 3);
                let mut expected = c.clone();
                for i in 0..BATCH {
                    shape.multiply(
                        f64::from(alpha),
                        &a[i * len_a..],
                        &b[i * len_b..],
                        f64::from(beta),
                        &mut expected[i * len_c..][..len_c],
                    );
                }
                let put = |values: &[f64]| {
                    blas.put(&values.iter().map(|&x| x as $ty).collect::<Vec<_>>())
                };
                let (a, b) = (put(&a), put(&b));
                let (op_a, op_b) = (OPERATIONS[usize::from(ta)], OPERATIONS[usize::from(tb)]);
                let (m, n, k) = (m as i32, n as i32, k as i32);
                let (lda, ldb, ldc) = (shape.lda() as i32, shape.ldb() as i32, shape.ldc() as i32);
                let (pa, pb) = (blas.address::<_, $ty>(&a), blas.address::<_, $ty>(&b));

                let single = put(&c);
                // SAFETY: every operand has its elements.
                let status = unsafe {
                    sys::$function(
                        blas.handle,
                        op_a,
                        op_b,
                        m,
                        n,
                        k,
                        &raw const alpha,
                        pa,
                        lda,
                        pb,
                        ldb,
                        &raw const beta,
                        blas.address(&single),
                        ldc,
                    )
                };
                assert_eq!(status as u32, 0);
                let got: Vec<f64> = blas.get(&single).into_iter().map(f64::from).collect();
                assert_eq!(got[..len_c], expected[..len_c], "{ta} {tb}");
                assert_eq!(got[len_c..], c[len_c..], "the rest is untouched");

                let strided = put(&c);
                // SAFETY: as above.
                let status = unsafe {
                    sys::$strided(
                        blas.handle,
                        op_a,
                        op_b,
                        m,
                        n,
                        k,
                        &raw const alpha,
                        pa,
                        lda,
                        len_a as i64,
                        pb,
                        ldb,
                        len_b as i64,
                        &raw const beta,
                        blas.address(&strided),
                        ldc,
                        len_c as i64,
                        BATCH as i32,
                    )
                };
                assert_eq!(status as u32, 0);
                let got: Vec<f64> = blas.get(&strided).into_iter().map(f64::from).collect();
                assert_eq!(got, expected, "{ta} {tb}");

                let batched = put(&c);
                let pc = blas.address::<_, $ty>(&batched);
                let pointers = |first: *mut $ty, step: usize| {
                    blas.put(&[0, 1, 2].map(|i| first.wrapping_add(i * step) as u64))
                };
                let (pa, pb, pc) = (pointers(pa, len_a), pointers(pb, len_b), pointers(pc, len_c));
                // SAFETY: as above.
                let status = unsafe {
                    sys::$batched(
                        blas.handle,
                        op_a,
                        op_b,
                        m,
                        n,
                        k,
                        &raw const alpha,
                        blas.address(&pa),
                        lda,
                        blas.address(&pb),
                        ldb,
                        &raw const beta,
                        blas.address(&pc),
                        ldc,
                        BATCH as i32,
                    )
                };
                assert_eq!(status as u32, 0);
                let got: Vec<f64> = blas.get(&batched).into_iter().map(f64::from).collect();
                assert_eq!(got, expected, "{ta} {tb}");
            }
        }
    };
}

gemm_test!(sgemm, cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemmBatched, f32);
gemm_test!(dgemm, cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemmBatched, f64);

/// Types, compute type and scale type of a product that `cublasGemmEx` has to take.
#[test]
fn gemm_ex_takes_its_types() {
    let _messages = Messages::listen();
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
        0 => sys::cudaDataType_t::CUDA_R_32F,
        1 => sys::cudaDataType_t::CUDA_R_64F,
        2 => sys::cudaDataType_t::CUDA_R_16F,
        14 => sys::cudaDataType_t::CUDA_R_16BF,
        _ => sys::cudaDataType_t::CUDA_R_8I,
    };
    use sys::cublasComputeType_t::*;
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
        let n = cublasOperation_t::CUBLAS_OP_N;
        // SAFETY: every operand has its elements.
        let status = unsafe {
            sys::cublasGemmEx(
                blas.handle,
                n,
                n,
                2,
                2,
                2,
                one.as_ptr().cast(),
                blas.address::<_, c_void>(&da),
                types(ab),
                2,
                blas.address::<_, c_void>(&db),
                types(ab),
                2,
                zero.as_ptr().cast(),
                blas.address::<_, c_void>(&dc),
                types(c),
                2,
                compute,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        assert_eq!(status as u32, wanted, "{ab} {c} {compute:?}");
        let wanted = if wanted == 0 { expected } else { [9.0; 4] };
        assert_eq!(blas.get(&dc), as_bytes(c, &wanted), "{ab} {c} {compute:?}");
    }
}
