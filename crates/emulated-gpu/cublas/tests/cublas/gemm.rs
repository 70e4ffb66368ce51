//! `gemm` in every type, single and in batches, compared with a reference implementation.

use std::ffi::{c_int, c_longlong, c_void};

use cudarc::cublas::sys::{self, cublasOperation_t};

use crate::numbers::{ALPHA, BETA, Number, OPERATIONS, download, element, scaled, upload, values};
use crate::support::Blas;

/// The sizes `m`, `n` and `k` of the product.
const SIZES: (usize, usize, usize) = (5, 4, 7);
const BATCH: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Batching {
    Single,
    Strided,
    Batched,
}

/// The arguments of the functions. If a batch is passed as arrays of pointers, the arguments
/// contain the addresses of the arrays.
struct Call {
    handle: sys::cublasHandle_t,
    operations: [cublasOperation_t; 2],
    sizes: [c_int; 3],
    scalars: [*const c_void; 2],
    addresses: [*mut c_void; 3],
    lds: [c_int; 3],
    strides: [c_longlong; 3],
}

fn check<T: Number>(call: &dyn Fn(Batching, &Call) -> u32) {
    let blas = Blas::new();
    let (m, n, k) = SIZES;
    let scalars = [ALPHA, BETA].map(T::from_complex);
    for (ta, tb) in (0..3).flat_map(|ta| (0..3).map(move |tb| (ta, tb))) {
        // The leading dimensions are larger than necessary.
        let lds = [if ta == 0 { m } else { k } + 1, if tb == 0 { k } else { n } + 2, m + 3];
        let columns = [if ta == 0 { k } else { m }, if tb == 0 { n } else { k }, n];
        let lens: [usize; 3] = std::array::from_fn(|i| lds[i] * columns[i]);
        let [a, b, c] = [0, 1, 2].map(|i| values::<T>(lens[i] * BATCH, i + 1));
        let mut expected = c.clone();
        for index in 0..BATCH {
            let (a, b) = (&a[index * lens[0]..], &b[index * lens[1]..]);
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let product =
                    |p| element(a, lds[0], ta, row, p) * element(b, lds[1], tb, p, column);
                let sum = (0..k).map(product).sum();
                let c = &mut expected[index * lens[2] + column * lds[2] + row];
                *c = scaled::<T>(sum, *c);
            }
        }
        for batching in [Batching::Single, Batching::Strided, Batching::Batched] {
            let memory = [&a, &b, &c].map(|values| upload::<T>(&blas, values));
            let firsts = memory.each_ref().map(|slice| blas.address::<_, T>(slice));
            let arrays: [_; 3] = std::array::from_fn(|i| {
                blas.put(&[0, 1, 2].map(|index| firsts[i].wrapping_add(index * lens[i]) as u64))
            });
            let status = call(
                batching,
                &Call {
                    handle: blas.handle,
                    operations: [OPERATIONS[ta], OPERATIONS[tb]],
                    sizes: [m, n, k].map(|size| size as c_int),
                    scalars: scalars.each_ref().map(|scalar| (&raw const *scalar).cast()),
                    addresses: match batching {
                        Batching::Batched => arrays.each_ref().map(|array| blas.address(array)),
                        _ => firsts.map(|first| first.cast()),
                    },
                    lds: lds.map(|ld| ld as c_int),
                    strides: lens.map(|len| len as c_longlong),
                },
            );
            assert_eq!(status, 0);
            let computed = lens[2] * if batching == Batching::Single { 1 } else { BATCH };
            let got = download(&blas, &memory[2]);
            assert_eq!(got[..computed], expected[..computed], "{batching:?} {ta} {tb}");
            assert_eq!(got[computed..], c[computed..], "the rest is untouched");
        }
    }
}

macro_rules! gemm {
    ($($test:ident, $number:ty, $single:ident, $strided:ident, $batched:ident;)*) => {$(
        #[test]
        fn $test() {
            check::<$number>(&|batching, call| {
                let &Call { handle, operations: [ta, tb], sizes: [m, n, k], .. } = call;
                let [alpha, beta] = call.scalars.map(|scalar| scalar.cast());
                let ([a, b, c], [lda, ldb, ldc]) = (call.addresses, call.lds);
                let [after_a, after_b, after_c] = call.strides;
                // SAFETY: every operand is large enough.
                let status = unsafe {
                    match batching {
                        Batching::Single => sys::$single(
                            handle, ta, tb, m, n, k,
                            alpha, a.cast(), lda, b.cast(), ldb, beta, c.cast(), ldc,
                        ),
                        Batching::Strided => sys::$strided(
                            handle, ta, tb, m, n, k, alpha, a.cast(), lda, after_a,
                            b.cast(), ldb, after_b, beta, c.cast(), ldc, after_c, BATCH as c_int,
                        ),
                        Batching::Batched => sys::$batched(
                            handle, ta, tb, m, n, k,
                            alpha, a.cast(), lda, b.cast(), ldb, beta, c.cast(), ldc, BATCH as c_int,
                        ),
                    }
                };
                status as u32
            });
        }
    )*};
}

gemm! {
    sgemm, f32, cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemmBatched;
    dgemm, f64, cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemmBatched;
    cgemm, [f32; 2], cublasCgemm_v2, cublasCgemmStridedBatched, cublasCgemmBatched;
    zgemm, [f64; 2], cublasZgemm_v2, cublasZgemmStridedBatched, cublasZgemmBatched;
}
