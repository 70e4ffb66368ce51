//! Complex products and products with vectors, against sums written out. All values are sixteenths, and all
//! results are exact in single precision.

use std::ffi::c_void;

use cudarc::cublas::sys::{self, cublasOperation_t};

use crate::support::{Blas, Messages};

type Complex = [f64; 2];

const OPERATIONS: [cublasOperation_t; 3] = [
    cublasOperation_t::CUBLAS_OP_N,
    cublasOperation_t::CUBLAS_OP_T,
    cublasOperation_t::CUBLAS_OP_C,
];
const ALPHA: Complex = [0.5, -1.0];
const BETA: Complex = [-2.0, 0.25];
const BATCH: usize = 2;

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

fn values(count: usize, seed: usize) -> Vec<Complex> {
    let part = |i: usize| ((i * 37 + seed * 101) % 64) as f64 / 16.0 - 2.0;
    (0..count).map(|i| [part(2 * i), part(2 * i + 1)]).collect()
}

/// The element of `op(matrix)`, stored in column order.
fn element(matrix: &[Complex], ld: usize, operation: usize, row: usize, column: usize) -> Complex {
    let at = if operation == 0 { column * ld + row } else { row * ld + column };
    let [real, imaginary] = matrix[at];
    [real, if operation == 2 { -imaginary } else { imaginary }]
}

macro_rules! complex_tests {
    ($gemm_test:ident, $gemv_test:ident, $part:ty, $gemm:ident, $strided:ident, $batched:ident, $gemv:ident) => {
        #[test]
        fn $gemm_test() {
            let blas = Blas::new();
            let (m, n, k) = (5, 4, 3);
            let put = |values: &[Complex]| {
                let parts = values.iter().flat_map(|value| value.map(|part| part as $part));
                blas.put(&parts.collect::<Vec<$part>>())
            };
            let scalars = [ALPHA, BETA].map(|value| value.map(|part| part as $part));
            for (ta, tb) in (0..3).flat_map(|ta| (0..3).map(move |tb| (ta, tb))) {
                let (lda, ldb, ldc) =
                    (if ta == 0 { m } else { k } + 1, if tb == 0 { k } else { n } + 2, m + 3);
                let (len_a, len_b) =
                    (lda * if ta == 0 { k } else { m }, ldb * if tb == 0 { n } else { k });
                let len_c = ldc * n;
                let (a, b) = (values(len_a * BATCH, 1), values(len_b * BATCH, 2));
                let c = values(len_c * BATCH, 3);
                let mut expected = c.clone();
                for index in 0..BATCH {
                    let (a, b) = (&a[index * len_a..], &b[index * len_b..]);
                    for (row, column) in
                        (0..m).flat_map(|row| (0..n).map(move |column| (row, column)))
                    {
                        let sum = (0..k).fold([0.0; 2], |sum, p| {
                            let (a, b) =
                                (element(a, lda, ta, row, p), element(b, ldb, tb, p, column));
                            plus(sum, times(a, b))
                        });
                        let c = &mut expected[index * len_c + column * ldc + row];
                        *c = plus(times(ALPHA, sum), times(BETA, *c));
                    }
                }
                let flat = |values: &[Complex]| values.as_flattened().to_vec();
                let got = |slice: &_| -> Vec<f64> {
                    blas.get(slice).into_iter().map(|x: $part| f64::from(x)).collect()
                };
                let (da, db) = (put(&a), put(&b));
                let (pa, pb) = (blas.address::<_, $part>(&da), blas.address::<_, $part>(&db));
                let [alpha, beta] = scalars.each_ref().map(|value| value.as_ptr());
                let (op_a, op_b) = (OPERATIONS[ta], OPERATIONS[tb]);
                let lds = (lda as i32, ldb as i32, ldc as i32);
                let (mm, nn, kk) = (m as i32, n as i32, k as i32);

                let single = put(&c);
                // SAFETY: every operand has its elements.
                let status = unsafe {
                    sys::$gemm(
                        blas.handle,
                        op_a,
                        op_b,
                        mm,
                        nn,
                        kk,
                        alpha.cast(),
                        pa.cast(),
                        lds.0,
                        pb.cast(),
                        lds.1,
                        beta.cast(),
                        blas.address(&single),
                        lds.2,
                    )
                };
                assert_eq!(status as u32, 0);
                assert_eq!(got(&single)[..2 * len_c], flat(&expected[..len_c]), "{ta} {tb}");
                assert_eq!(got(&single)[2 * len_c..], flat(&c[len_c..]), "the rest is untouched");

                let strided = put(&c);
                // SAFETY: as above.
                let status = unsafe {
                    sys::$strided(
                        blas.handle,
                        op_a,
                        op_b,
                        mm,
                        nn,
                        kk,
                        alpha.cast(),
                        pa.cast(),
                        lds.0,
                        len_a as i64,
                        pb.cast(),
                        lds.1,
                        len_b as i64,
                        beta.cast(),
                        blas.address(&strided),
                        lds.2,
                        len_c as i64,
                        BATCH as i32,
                    )
                };
                assert_eq!(status as u32, 0);
                assert_eq!(got(&strided), flat(&expected), "{ta} {tb}");

                let batched = put(&c);
                let pc = blas.address::<_, $part>(&batched);
                let pointers = |first: *mut $part, step: usize| {
                    blas.put(&[0, 1].map(|i| first.wrapping_add(2 * i * step) as u64))
                };
                let (pa, pb, pc) = (pointers(pa, len_a), pointers(pb, len_b), pointers(pc, len_c));
                // SAFETY: as above.
                let status = unsafe {
                    sys::$batched(
                        blas.handle,
                        op_a,
                        op_b,
                        mm,
                        nn,
                        kk,
                        alpha.cast(),
                        blas.address(&pa),
                        lds.0,
                        blas.address(&pb),
                        lds.1,
                        beta.cast(),
                        blas.address(&pc),
                        lds.2,
                        BATCH as i32,
                    )
                };
                assert_eq!(status as u32, 0);
                assert_eq!(got(&batched), flat(&expected), "{ta} {tb}");
            }
        }

        #[test]
        fn $gemv_test() {
            let blas = Blas::new();
            let (m, n, ld) = (5, 3, 6);
            let put = |values: &[Complex]| {
                let parts = values.iter().flat_map(|value| value.map(|part| part as $part));
                blas.put(&parts.collect::<Vec<$part>>())
            };
            let scalars = [ALPHA, BETA].map(|value| value.map(|part| part as $part));
            for operation in 0..3 {
                let (rows, columns) = if operation == 0 { (m, n) } else { (n, m) };
                let (a, x, y) = (values(ld * n, 1), values(2 * columns, 2), values(rows, 3));
                let expected: Vec<Complex> = (0..rows)
                    .map(|row| {
                        let sum = (0..columns).fold([0.0; 2], |sum, p| {
                            plus(sum, times(element(&a, ld, operation, row, p), x[2 * p]))
                        });
                        plus(times(ALPHA, sum), times(BETA, y[row]))
                    })
                    .collect();
                let (a, x, y) = (put(&a), put(&x), put(&y));
                let [alpha, beta] = scalars.each_ref().map(|value| value.as_ptr());
                // SAFETY: every operand has its elements.
                let status = unsafe {
                    sys::$gemv(
                        blas.handle,
                        OPERATIONS[operation],
                        m as i32,
                        n as i32,
                        alpha.cast(),
                        blas.address(&a),
                        ld as i32,
                        blas.address(&x),
                        2,
                        beta.cast(),
                        blas.address(&y),
                        1,
                    )
                };
                assert_eq!(status as u32, 0);
                let got: Vec<f64> = blas.get(&y).into_iter().map(|x: $part| f64::from(x)).collect();
                assert_eq!(got, expected.as_flattened(), "{operation}");
            }
        }
    };
}

complex_tests!(
    cgemm,
    cgemv,
    f32,
    cublasCgemm_v2,
    cublasCgemmStridedBatched,
    cublasCgemmBatched,
    cublasCgemv_v2
);
complex_tests!(
    zgemm,
    zgemv,
    f64,
    cublasZgemm_v2,
    cublasZgemmStridedBatched,
    cublasZgemmBatched,
    cublasZgemv_v2
);

#[test]
fn gemm_ex_takes_complex_types_and_their_scalars() {
    let messages = Messages::listen();
    let blas = Blas::new();
    let (a, b) = ([[1.0_f32, 2.0], [0.5, -1.0]], [[3.0_f32, -1.0], [2.0, 4.0]]);
    let (da, db, dc) =
        (blas.put(a.as_flattened()), blas.put(b.as_flattened()), blas.put(&[9.0_f32; 8]));
    let (one, zero) = ([1.0_f32, 0.0], [0.0_f32, 0.0]);
    let (n, complex) = (cublasOperation_t::CUBLAS_OP_N, sys::cudaDataType_t::CUDA_C_32F);
    let call = |c_type| {
        // SAFETY: every operand has its elements.
        unsafe {
            sys::cublasGemmEx(
                blas.handle,
                n,
                n,
                2,
                2,
                1,
                one.as_ptr().cast(),
                blas.address::<_, c_void>(&da),
                complex,
                2,
                blas.address::<_, c_void>(&db),
                complex,
                1,
                zero.as_ptr().cast(),
                blas.address::<_, c_void>(&dc),
                c_type,
                2,
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        }
    };
    assert_eq!(call(complex) as u32, 0);
    // (1 + 2i)(3 - i) = 5 + 5i, (0.5 - i)(3 - i) = 0.5 - 3.5i, (1 + 2i)(2 + 4i) = -6 + 8i, (0.5 - i)(2 + 4i) = 5.
    assert_eq!(blas.get(&dc), [5.0, 5.0, 0.5, -3.5, -6.0, 8.0, 5.0, 0.0]);
    let status = call(sys::cudaDataType_t::CUDA_R_32F);
    messages.expect(status, 15, &["Ctype CUDA_R_32F", "do not go with CUBLAS_COMPUTE_32F"]);
}
