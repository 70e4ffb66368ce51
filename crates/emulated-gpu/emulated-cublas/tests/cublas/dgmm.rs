//! Products with diagonal matrices: against what is written out, in every type, with every increment.

use std::ffi::{c_int, c_void};

use cudarc::cublas::sys::{self, cublasSideMode_t};
use cudarc::driver::DeviceRepr;

use crate::support::{Blas, Messages};

const LEFT: cublasSideMode_t = cublasSideMode_t::CUBLAS_SIDE_LEFT;
const RIGHT: cublasSideMode_t = cublasSideMode_t::CUBLAS_SIDE_RIGHT;
const SIZES: (usize, usize) = (4, 3);
const LDA: usize = 5;

/// Quarters: all products are exact in single precision.
fn value(index: usize) -> f64 {
    ((index * 37 + 11) % 16) as f64 / 4.0 - 2.0
}

/// `call(mode, a, x, incx, c, ldc)`.
type Call<'a> = &'a dyn Fn(&Blas, cublasSideMode_t, [*mut c_void; 3], c_int, c_int) -> u32;

/// Of the real type `T`, or of complex numbers of two of it.
fn check<T: DeviceRepr + Copy + Default + Into<f64>>(
    is_complex: bool,
    part: fn(f64) -> T,
    call: Call<'_>,
) {
    let blas = Blas::new();
    let (m, n) = SIZES;
    let parts = if is_complex { 2 } else { 1 };
    let numbers = |count: usize, seed: usize| -> Vec<f64> {
        (0..count * parts).map(|index| value(index + seed)).collect()
    };
    let (a, x) = (numbers(LDA * n, 1), numbers(2 * m, 7));
    let at = |values: &[f64], index: usize| {
        let imaginary = if is_complex { values[2 * index + 1] } else { 0.0 };
        (values[parts * index], imaginary)
    };
    let put = |values: &[f64]| blas.put(&values.iter().map(|&x| part(x)).collect::<Vec<T>>());
    for (mode, inc) in
        [LEFT, RIGHT].into_iter().flat_map(|mode| [1, 2, -2, 0].map(|inc| (mode, inc)))
    {
        let (len, step) = (if mode == LEFT { m } else { n }, i32::unsigned_abs(inc) as usize);
        for in_place in [false, true] {
            let (da, dx) = (put(&a), put(&x));
            let dc = if in_place { da.clone() } else { put(&vec![9.0; LDA * n * parts]) };
            let target = if in_place { &da } else { &dc };
            let pointers = [&da, &dx, target].map(|slice| blas.address::<_, c_void>(slice));
            assert_eq!(call(&blas, mode, pointers, inc, LDA as c_int), 0);
            let got: Vec<f64> = blas.get(target).into_iter().map(Into::into).collect();
            let mut expected = if in_place { a.clone() } else { vec![9.0; LDA * n * parts] };
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let index = if mode == LEFT { row } else { column };
                let index = if inc < 0 { len - 1 - index } else { index };
                let (factor, old) = (at(&x, index * step), at(&a, column * LDA + row));
                let place = parts * (column * LDA + row);
                expected[place] = factor.0 * old.0 - factor.1 * old.1;
                if is_complex {
                    expected[place + 1] = factor.0 * old.1 + factor.1 * old.0;
                }
            }
            assert_eq!(got, expected, "{mode:?} {inc} {in_place}");
        }
    }
}

macro_rules! dgmm {
    ($test:ident, $function:ident, $part:ty, $is_complex:literal) => {
        #[test]
        fn $test() {
            let call = |blas: &Blas, mode, [a, x, c]: [*mut c_void; 3], inc, ldc| {
                let (m, n) = (SIZES.0 as c_int, SIZES.1 as c_int);
                let (a, x, c) = (a.cast(), x.cast(), c.cast());
                // SAFETY: every operand has its elements.
                unsafe { sys::$function(blas.handle, mode, m, n, a, ldc, x, inc, c, ldc) as u32 }
            };
            check::<$part>($is_complex, |x| x as $part, &call);
        }
    };
}

dgmm!(sdgmm, cublasSdgmm, f32, false);
dgmm!(ddgmm, cublasDdgmm, f64, false);
dgmm!(cdgmm, cublasCdgmm, f32, true);
dgmm!(zdgmm, cublasZdgmm, f64, true);

#[test]
fn what_depends_on_the_order_of_elements_is_refused() {
    let messages = Messages::listen();
    let blas = Blas::new();
    let (a, x) = (blas.put(&[1.0_f32; 9]), blas.put(&[1.0_f32; 9]));
    let [pa, px] = [&a, &x].map(|slice| blas.address::<_, f32>(slice));
    // SAFETY: the library checks what is wrong here before it touches anything.
    let call = |c, ldc| unsafe { sys::cublasSdgmm(blas.handle, LEFT, 2, 2, pa, 2, px, 1, c, ldc) };
    messages.expect(call(px, 2), 7, &["C and x are the same memory"]);
    messages.expect(call(pa, 3), 7, &["lda is 2 and ldc 3"]);
    messages.expect(call(pa, 1), 7, &["ldc is 1"]);
}
