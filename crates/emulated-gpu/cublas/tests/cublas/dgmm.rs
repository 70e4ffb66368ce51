//! Products with diagonal matrices, compared with a reference implementation, for every type and
//! several increments.

use std::ffi::{c_int, c_void};

use cudarc::cublas::sys::{self, cublasSideMode_t};

use crate::numbers::{Number, c64, download, upload, values};
use crate::support::{Blas, Messages};

const LEFT: cublasSideMode_t = cublasSideMode_t::CUBLAS_SIDE_LEFT;
const RIGHT: cublasSideMode_t = cublasSideMode_t::CUBLAS_SIDE_RIGHT;
const SIZES: (usize, usize) = (4, 3);
const LDA: usize = 5;

/// Calls the function under test: `call(blas, mode, [a, x, c], incx, ldc)`.
type DgmmFunction<'a> = &'a dyn Fn(&Blas, cublasSideMode_t, [*mut c_void; 3], c_int, c_int) -> u32;

fn check<T: Number>(call: DgmmFunction<'_>) {
    let blas = Blas::new();
    let (m, n) = SIZES;
    let (a, x) = (values::<T>(LDA * n, 1), values::<T>(2 * m, 7));
    let nines: Vec<c64> = vec![c64::new(9.0, 0.0); LDA * n];
    for (mode, inc) in
        [LEFT, RIGHT].into_iter().flat_map(|mode| [1, 2, -2, 0].map(|inc| (mode, inc)))
    {
        let (len, step) = (if mode == LEFT { m } else { n }, i32::unsigned_abs(inc) as usize);
        for in_place in [false, true] {
            let (da, dx) = (upload::<T>(&blas, &a), upload::<T>(&blas, &x));
            let dc = if in_place { da.clone() } else { upload(&blas, &nines) };
            let target = if in_place { &da } else { &dc };
            let pointers = [&da, &dx, target].map(|slice| blas.address::<_, c_void>(slice));
            assert_eq!(call(&blas, mode, pointers, inc, LDA as c_int), 0);
            let mut expected = if in_place { a.clone() } else { nines.clone() };
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let index = if mode == LEFT { row } else { column };
                let index = if inc < 0 { len - 1 - index } else { index };
                let place = column * LDA + row;
                expected[place] = x[index * step] * a[place];
            }
            assert_eq!(download(&blas, target), expected, "{mode:?} {inc} {in_place}");
        }
    }
}

macro_rules! dgmm {
    ($($test:ident, $function:ident, $number:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$number>(&|blas, mode, [a, x, c], inc, ldc| {
                let (m, n) = (SIZES.0 as c_int, SIZES.1 as c_int);
                let (a, x, c) = (a.cast(), x.cast(), c.cast());
                // SAFETY: every operand is large enough.
                unsafe { sys::$function(blas.handle, mode, m, n, a, ldc, x, inc, c, ldc) as u32 }
            });
        }
    )*};
}

dgmm! {
    sdgmm, cublasSdgmm, f32;
    ddgmm, cublasDdgmm, f64;
    cdgmm, cublasCdgmm, [f32; 2];
    zdgmm, cublasZdgmm, [f64; 2];
}

#[test]
fn aliases_whose_result_depends_on_the_order_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, x) = (blas.put(&[1.0_f32; 9]), blas.put(&[1.0_f32; 9]));
    let [pa, px] = [&a, &x].map(|slice| blas.address::<_, f32>(slice));
    // SAFETY: the library rejects invalid arguments before it touches the memory.
    let call = |c, ldc| unsafe { sys::cublasSdgmm(blas.handle, LEFT, 2, 2, pa, 2, px, 1, c, ldc) };
    messages.expect(call(px, 2), 7, &["C and x are the same memory"]);
    messages.expect(call(pa, 3), 7, &["lda is 2 and ldc 3"]);
    messages.expect(call(pa, 1), 7, &["ldc is 1"]);
}
