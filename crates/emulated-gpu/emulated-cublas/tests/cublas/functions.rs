//! What the functions compute, against sums in double precision.

use std::ffi::c_void;

use cudarc::cublas::sys::{self, cublasOperation_t, cublasPointerMode_t};
use half::{bf16, f16};

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

#[test]
fn the_math_mode_decides_about_tf32() {
    let blas = Blas::new();
    // Needs 12 bits after the point: TF32 keeps 10.
    let x = 1.0f32 + 2f32.powi(-12);
    let (a, b, c) = (blas.put(&[x; 4]), blas.put(&[1.0f32; 4]), blas.put(&[0.0f32]));
    let (one, zero) = (1.0f32, 0.0f32);
    let n = cublasOperation_t::CUBLAS_OP_N;
    use sys::cublasMath_t::*;
    for (mode, ld, expected) in [
        (CUBLAS_DEFAULT_MATH, 4, x),
        (CUBLAS_TF32_TENSOR_OP_MATH, 4, 1.0),
        // Columns that are no multiples of 16 bytes apart do not suit tensor cores.
        (CUBLAS_TF32_TENSOR_OP_MATH, 3, x),
        (CUBLAS_PEDANTIC_MATH, 4, x),
        (CUBLAS_TENSOR_OP_MATH, 4, 1.0),
    ] {
        // SAFETY: one element each.
        unsafe {
            assert_eq!(sys::cublasSetMathMode(blas.handle, mode) as u32, 0);
            let (pa, pb) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&b));
            let pc = blas.address::<_, f32>(&c);
            let status = sys::cublasSgemm_v2(
                blas.handle,
                n,
                n,
                1,
                1,
                1,
                &raw const one,
                pa,
                ld,
                pb,
                ld,
                &raw const zero,
                pc,
                1,
            );
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
    // SAFETY: one element each; the scalars are device memory, as the mode says.
    unsafe {
        let mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(sys::cublasSetPointerMode_v2(blas.handle, mode) as u32, 0);
        let (pa, pb) = (blas.address::<_, f64>(&a), blas.address::<_, f64>(&b));
        let (pc, ps) = (blas.address::<_, f64>(&c), blas.address::<_, f64>(&scalars));
        // Queued before the product, without waiting.
        blas.stream.memcpy_htod(&[2.0f64, 0.5], &mut scalars).unwrap();
        let beta = ps.add(1);
        let status = sys::cublasDgemm_v2(blas.handle, n, n, 1, 1, 1, ps, pa, 1, pb, 1, beta, pc, 1);
        assert_eq!(status as u32, 0);
    }
    assert_eq!(blas.get(&c), [80.0]);
}

#[test]
fn gemv_walks_vectors_in_any_step() {
    let blas = Blas::new();
    // Column-major 2 x 3, lda 4: [[1, 3, 5], [2, 4, 6]].
    let a = blas.put(&[1.0f32, 2.0, -1.0, -1.0, 3.0, 4.0, -1.0, -1.0, 5.0, 6.0]);
    let pa = blas.address::<_, f32>(&a);
    let (alpha, beta) = (2.0f32, 10.0f32);
    let n = cublasOperation_t::CUBLAS_OP_N;
    let t = cublasOperation_t::CUBLAS_OP_T;
    for (operation, incx, incy, x, y, expected) in [
        (n, 1, 1, vec![1.0, 0.0, -1.0], vec![1.0, 2.0], vec![2.0, 12.0]),
        (n, 2, 2, vec![1.0, 9.0, 0.0, 9.0, -1.0], vec![1.0, 7.0, 2.0], vec![2.0, 7.0, 12.0]),
        // From the far end: x is [-1, 0, 1], y [2, 1].
        (n, -1, -1, vec![1.0, 0.0, -1.0], vec![1.0, 2.0], vec![18.0, 28.0]),
        (t, 1, 1, vec![1.0, 1.0], vec![0.0, 0.0, 1.0], vec![6.0, 14.0, 32.0]),
    ] {
        let (x, y) = (blas.put::<f32>(&x), blas.put::<f32>(&y));
        let (px, py) = (blas.address::<_, f32>(&x), blas.address::<_, f32>(&y));
        // SAFETY: every operand has its elements.
        let status = unsafe {
            sys::cublasSgemv_v2(
                blas.handle,
                operation,
                2,
                3,
                &raw const alpha,
                pa,
                4,
                px,
                incx,
                &raw const beta,
                py,
                incy,
            )
        };
        assert_eq!(status as u32, 0);
        assert_eq!(blas.get(&y), expected, "{operation:?} {incx} {incy}");
    }
}

#[test]
fn asum_sums_magnitudes() {
    let blas = Blas::new();
    let len = 1000;
    let x = blas.put(&(0..len).map(|i| if i % 2 == 0 { 0.5 } else { -0.25 }).collect::<Vec<f32>>());
    let px = blas.address::<_, f32>(&x);
    for (n, inc, expected) in [(len, 1, 375.0), (500, 2, 250.0), (0, 1, 0.0), (10, -1, 0.0)] {
        let mut sum = -1.0f32;
        // SAFETY: `x` has its elements, and the sum a place.
        let status = unsafe { sys::cublasSasum_v2(blas.handle, n, px, inc, &raw mut sum) };
        assert_eq!(status as u32, 0);
        assert_eq!(sum, expected, "{n} {inc}");
    }
    let sum = blas.put(&[0.0f32]);
    // SAFETY: as above, with the place in device memory.
    unsafe {
        let mode = cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        assert_eq!(sys::cublasSetPointerMode_v2(blas.handle, mode) as u32, 0);
        let place = blas.address::<_, f32>(&sum);
        assert_eq!(sys::cublasSasum_v2(blas.handle, len, px, 1, place) as u32, 0);
    }
    assert_eq!(blas.get(&sum), [375.0]);
}

type Grouped = unsafe extern "C" fn(
    sys::cublasHandle_t,
    *const cublasOperation_t,
    *const cublasOperation_t,
    *const i32,
    *const i32,
    *const i32,
    *const f32,
    *const u64,
    *const i32,
    *const u64,
    *const i32,
    *const f32,
    *const u64,
    *const i32,
    i32,
    *const i32,
) -> i32;

/// Two groups, of two products and one, as in NVIDIA's sample: cudarc passes the arrays of pointers
/// in the host's memory, NVIDIA's documentation wants them in the device's, and both work.
#[test]
fn groups_have_their_own_sizes() {
    let blas = Blas::new();
    // SAFETY: the loaded library has the function, of that type.
    let grouped: Grouped = unsafe {
        let library = libloading::os::unix::Library::new("libcublas.so").unwrap();
        *library.get(b"cublasSgemmGroupedBatched\0").unwrap()
    };
    let a = blas.put(&[1.0f32, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0, 1.0, 2.0, 3.0]);
    let b = blas.put(&[5.0f32, 7.0, 6.0, 8.0, 9.0, 11.0, 10.0, 12.0, 4.0]);
    let (pa, pb) = (blas.address::<_, f32>(&a), blas.address::<_, f32>(&b));
    let operations = [cublasOperation_t::CUBLAS_OP_N; 2];
    let (m, n, k, ld) = ([2, 3], [2, 1], [2, 1], ([2, 3], [2, 1]));
    let (alpha, beta, sizes) = ([1.0f32, 2.0], [0.0f32, 1.0], [2, 1]);
    for on_device in [false, true] {
        let c = blas.put(&[1.0f32; 11]);
        let pc = blas.address::<_, f32>(&c);
        let arrays = [pa, pb, pc].map(|p| [0, 4, 8].map(|i| p.wrapping_add(i) as u64));
        let copies = arrays.map(|array| blas.put(&array));
        let [a, b, c_array] = if on_device {
            [0, 1, 2].map(|i| blas.address::<_, u64>(&copies[i]).cast_const())
        } else {
            [0, 1, 2].map(|i| arrays[i].as_ptr())
        };
        // SAFETY: every operand has its elements.
        let status = unsafe {
            grouped(
                blas.handle,
                operations.as_ptr(),
                operations.as_ptr(),
                m.as_ptr(),
                n.as_ptr(),
                k.as_ptr(),
                alpha.as_ptr(),
                a,
                ld.0.as_ptr(),
                b,
                ld.1.as_ptr(),
                beta.as_ptr(),
                c_array,
                ld.0.as_ptr(),
                2,
                sizes.as_ptr(),
            )
        };
        assert_eq!(status, 0);
        let expected = [19.0, 43.0, 22.0, 50.0, 111.0, 151.0, 122.0, 166.0, 9.0, 17.0, 25.0];
        assert_eq!(blas.get(&c), expected, "{on_device}");
    }
}
