//! Products with a matrix of which one triangle is stored, against sums written out: what is not stored is NaN. All
//! values are quarters, and all results are exact in single precision.

use std::ffi::{c_int, c_void};

use cudarc::cublas::sys::{
    self, cublasDiagType_t, cublasFillMode_t, cublasOperation_t, cublasSideMode_t,
};

use crate::support::{Blas, Messages};

type Complex = [f64; 2];

const SIDES: [cublasSideMode_t; 2] =
    [cublasSideMode_t::CUBLAS_SIDE_LEFT, cublasSideMode_t::CUBLAS_SIDE_RIGHT];
const FILLS: [cublasFillMode_t; 2] =
    [cublasFillMode_t::CUBLAS_FILL_MODE_LOWER, cublasFillMode_t::CUBLAS_FILL_MODE_UPPER];
const DIAGONALS: [cublasDiagType_t; 2] =
    [cublasDiagType_t::CUBLAS_DIAG_NON_UNIT, cublasDiagType_t::CUBLAS_DIAG_UNIT];
const OPERATIONS: [cublasOperation_t; 3] = [
    cublasOperation_t::CUBLAS_OP_N,
    cublasOperation_t::CUBLAS_OP_T,
    cublasOperation_t::CUBLAS_OP_C,
];
const ALPHA: Complex = [0.5, -1.0];
const BETA: Complex = [-2.0, 0.25];
const SIZES: (usize, usize) = (5, 3);
const GAP: usize = 2;

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

/// What a type of elements is: its parts in memory, and whether there is an imaginary one.
trait Part: cudarc::driver::DeviceRepr + Copy + Default + Into<f64> {
    fn of(x: f64) -> Self;
}

impl Part for f32 {
    fn of(x: f64) -> Self {
        x as f32
    }
}

impl Part for f64 {
    fn of(x: f64) -> Self {
        x
    }
}

/// One call: addresses of `alpha`, `A`, `B`, `beta` and `C`, leading dimensions, and what the triangle is.
struct Case {
    left: bool,
    lower: bool,
    operation: usize,
    has_unit_diagonal: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        (0..24).map(|bits| Self {
            left: bits % 2 == 0,
            lower: bits / 2 % 2 == 0,
            has_unit_diagonal: bits / 4 % 2 == 1,
            operation: bits / 8,
        })
    }

    fn order(&self) -> usize {
        if self.left { SIZES.0 } else { SIZES.1 }
    }

    /// Columns in one piece and a gap; NaN where nothing is stored.
    fn triangle(&self, is_complex: bool, values: &[Complex]) -> Vec<Complex> {
        let (order, mut stored) = (self.order(), Vec::new());
        for column in 0..order {
            for row in 0..order + GAP {
                let inside = row < order && if self.lower { row >= column } else { row <= column };
                let is_read = inside && !(self.has_unit_diagonal && row == column);
                stored.push(if is_read { values[column * order + row] } else { [f64::NAN; 2] });
            }
        }
        if !is_complex {
            stored.iter_mut().for_each(|value| value[1] = 0.0);
        }
        stored
    }

    /// `op(A) · B` or `B · op(A)` of an `A` in full, in column order.
    fn product(&self, a: &dyn Fn(usize, usize) -> Complex, b: &[Complex]) -> Vec<Complex> {
        let (m, n) = SIZES;
        let a = |row: usize, column: usize| match self.operation {
            0 => a(row, column),
            1 => a(column, row),
            _ => {
                let [real, imaginary] = a(column, row);
                [real, -imaginary]
            }
        };
        let places = (0..n).flat_map(|column| (0..m).map(move |row| (row, column)));
        places
            .map(|(row, column)| {
                (0..self.order()).fold([0.0; 2], |sum, p| {
                    let product = if self.left {
                        times(a(row, p), b[column * m + p])
                    } else {
                        times(b[p * m + row], a(p, column))
                    };
                    plus(sum, product)
                })
            })
            .collect()
    }
}

fn values(count: usize, seed: usize, is_complex: bool) -> Vec<Complex> {
    let part = |i: usize| ((i * 37 + seed * 11) % 16) as f64 / 4.0 - 2.0;
    let imaginary = |i: usize| if is_complex { part(2 * i + 1) } else { 0.0 };
    (0..count).map(|i| [part(2 * i), imaginary(i)]).collect()
}

/// Numbers as they lie in memory.
fn flat<T: Part>(values: &[Complex], is_complex: bool) -> Vec<T> {
    let parts = values.iter().flat_map(|value| &value[..if is_complex { 2 } else { 1 }]);
    parts.map(|&part| T::of(part)).collect()
}

/// `call(case, [alpha, a, b, beta, c], lda)`.
type Call<'a> = &'a dyn Fn(&Blas, &Case, [*const c_void; 5], c_int) -> u32;

/// Runs `call(case, alpha, a, lda, b, beta, c)` for all cases, and compares; `beta` is none of `trmm`.
fn check<T: Part>(is_complex: bool, is_hermitian: Option<bool>, in_place: bool, call: Call<'_>) {
    let blas = Blas::new();
    let (m, n) = SIZES;
    let real = |[real, imaginary]: Complex| [real, if is_complex { imaginary } else { 0.0 }];
    let (alpha, beta) = (real(ALPHA), real(BETA));
    let mirrors = is_hermitian.is_some();
    for case in
        Case::all().filter(|case| !mirrors || case.operation == 0 && !case.has_unit_diagonal)
    {
        let order = case.order();
        let full = values(order * order, 1, is_complex);
        let stored = case.triangle(is_complex, &full);
        let (b, c) = (values(m * n, 2, is_complex), values(m * n, 3, is_complex));
        let a = |row: usize, column: usize| {
            let inside = if case.lower { row >= column } else { row <= column };
            match (is_hermitian, inside) {
                (None, _) if row == column && case.has_unit_diagonal => [1.0, 0.0],
                (None, false) => [0.0; 2],
                (Some(true), _) if row == column => [full[column * order + row][0], 0.0],
                (Some(true), false) => {
                    let [real, imaginary] = full[row * order + column];
                    [real, -imaginary]
                }
                (Some(false), false) => full[row * order + column],
                _ => full[column * order + row],
            }
        };
        let added = |value| if mirrors { times(beta, value) } else { [0.0; 2] };
        let products = case.product(&a, &b).into_iter().zip(&c);
        let expected: Vec<Complex> =
            products.map(|(sum, &old)| plus(times(alpha, sum), added(old))).collect();
        let (a, b) =
            (blas.put(&flat::<T>(&stored, is_complex)), blas.put(&flat::<T>(&b, is_complex)));
        let c = if in_place { b.clone() } else { blas.put(&flat::<T>(&c, is_complex)) };
        let target = if in_place { &b } else { &c };
        let (alpha, beta) = (flat::<T>(&[alpha], is_complex), flat::<T>(&[beta], is_complex));
        let pointers = [
            alpha.as_ptr().cast(),
            blas.address::<_, c_void>(&a).cast_const(),
            blas.address::<_, c_void>(&b).cast_const(),
            beta.as_ptr().cast(),
            blas.address::<_, c_void>(target).cast_const(),
        ];
        assert_eq!(call(&blas, &case, pointers, (order + GAP) as c_int), 0);
        let got: Vec<f64> = blas.get(target).into_iter().map(Into::into).collect();
        let expected: Vec<f64> =
            flat::<T>(&expected, is_complex).into_iter().map(Into::into).collect();
        let Case { left, lower, operation, has_unit_diagonal } = case;
        assert_eq!(got, expected, "{left} {lower} {operation} {has_unit_diagonal}");
    }
}

macro_rules! mirrored {
    ($test:ident, $function:ident, $part:ty, $is_complex:literal, $is_hermitian:literal) => {
        #[test]
        fn $test() {
            let call =
                |blas: &Blas, case: &Case, [alpha, a, b, beta, c]: [*const c_void; 5], lda| {
                    let (side, fill) =
                        (SIDES[usize::from(!case.left)], FILLS[usize::from(!case.lower)]);
                    let (m, n) = (SIZES.0 as c_int, SIZES.1 as c_int);
                    // SAFETY: every operand has its elements.
                    let status = unsafe {
                        sys::$function(
                            blas.handle,
                            side,
                            fill,
                            m,
                            n,
                            alpha.cast(),
                            a.cast(),
                            lda,
                            b.cast(),
                            m,
                            beta.cast(),
                            c.cast_mut().cast(),
                            m,
                        )
                    };
                    status as u32
                };
            check::<$part>($is_complex, Some($is_hermitian), false, &call);
        }
    };
}

mirrored!(ssymm, cublasSsymm_v2, f32, false, false);
mirrored!(dsymm, cublasDsymm_v2, f64, false, false);
mirrored!(csymm, cublasCsymm_v2, f32, true, false);
mirrored!(zsymm, cublasZsymm_v2, f64, true, false);
mirrored!(chemm, cublasChemm_v2, f32, true, true);
mirrored!(zhemm, cublasZhemm_v2, f64, true, true);

macro_rules! trmm {
    ($test:ident, $function:ident, $part:ty, $is_complex:literal) => {
        #[test]
        fn $test() {
            let call = |blas: &Blas, case: &Case, [alpha, a, b, _, c]: [*const c_void; 5], lda| {
                let (side, fill) =
                    (SIDES[usize::from(!case.left)], FILLS[usize::from(!case.lower)]);
                let (m, n) = (SIZES.0 as c_int, SIZES.1 as c_int);
                // SAFETY: every operand has its elements.
                let status = unsafe {
                    sys::$function(
                        blas.handle,
                        side,
                        fill,
                        OPERATIONS[case.operation],
                        DIAGONALS[usize::from(case.has_unit_diagonal)],
                        m,
                        n,
                        alpha.cast(),
                        a.cast(),
                        lda,
                        b.cast(),
                        m,
                        c.cast_mut().cast(),
                        m,
                    )
                };
                status as u32
            };
            for in_place in [false, true] {
                check::<$part>($is_complex, None, in_place, &call);
            }
        }
    };
}

trmm!(strmm, cublasStrmm_v2, f32, false);
trmm!(dtrmm, cublasDtrmm_v2, f64, false);
trmm!(ctrmm, cublasCtrmm_v2, f32, true);
trmm!(ztrmm, cublasZtrmm_v2, f64, true);

#[test]
fn what_depends_on_the_order_of_elements_is_refused() {
    let messages = Messages::listen();
    let blas = Blas::new();
    let (a, b) = (blas.put(&[1.0_f32; 4]), blas.put(&[1.0_f32; 4]));
    let (one, [pa, pb]) = (1.0_f32, [&a, &b].map(|slice| blas.address::<_, f32>(slice)));
    let call = |fill, c: *mut f32, lda| {
        // SAFETY: the library checks what is wrong here before it touches anything.
        unsafe {
            let (side, one) = (SIDES[0], &raw const one);
            sys::cublasSsymm_v2(blas.handle, side, fill, 2, 2, one, pa, lda, pb, 2, one, c, 2)
        }
    };
    messages.expect(call(FILLS[0], pb, 2), 7, &["C and B are the same memory"]);
    messages.expect(call(FILLS[0], pa, 2), 7, &["C and A are the same memory"]);
    messages.expect(call(FILLS[0], pb, 1), 7, &["lda is 1"]);
    let full = cublasFillMode_t::CUBLAS_FILL_MODE_FULL;
    messages.expect(call(full, pb, 2), 7, &["uplo is 2", "CUBLAS_FILL_MODE_UPPER"]);
}
