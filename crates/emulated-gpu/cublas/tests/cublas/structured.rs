//! Products with a matrix of which only one triangle is stored, compared with a reference
//! implementation. The other triangle contains NaN.

use std::ffi::{c_int, c_void};

use cudarc::cublas::sys::{self, cublasDiagType_t, cublasFillMode_t, cublasSideMode_t};

use crate::numbers::{ALPHA, BETA, Number, OPERATIONS, c64, download, scaled, upload, values};
use crate::support::{Blas, Messages};

const SIDES: [cublasSideMode_t; 2] =
    [cublasSideMode_t::CUBLAS_SIDE_LEFT, cublasSideMode_t::CUBLAS_SIDE_RIGHT];
const FILLS: [cublasFillMode_t; 2] =
    [cublasFillMode_t::CUBLAS_FILL_MODE_LOWER, cublasFillMode_t::CUBLAS_FILL_MODE_UPPER];
const DIAGONALS: [cublasDiagType_t; 2] =
    [cublasDiagType_t::CUBLAS_DIAG_NON_UNIT, cublasDiagType_t::CUBLAS_DIAG_UNIT];
const SIZES: (usize, usize) = (5, 3);
const GAP: usize = 2;

/// A case: the kind of triangle, its side, and its operation.
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

    fn side_and_fill(&self) -> (cublasSideMode_t, cublasFillMode_t) {
        (SIDES[usize::from(!self.left)], FILLS[usize::from(!self.lower)])
    }

    fn order(&self) -> usize {
        if self.left { SIZES.0 } else { SIZES.1 }
    }

    /// Makes the stored matrix: columns with a gap between them, and NaN in the triangle that isn't stored.
    fn triangle(&self, values: &[c64]) -> Vec<c64> {
        let (order, mut stored) = (self.order(), Vec::new());
        for column in 0..order {
            for row in 0..order + GAP {
                let inside = row < order && if self.lower { row >= column } else { row <= column };
                let is_read = inside && !(self.has_unit_diagonal && row == column);
                stored.push(if is_read {
                    values[column * order + row]
                } else {
                    c64::new(f64::NAN, f64::NAN)
                });
            }
        }
        stored
    }

    /// The reference product `op(A) · B` or `B · op(A)` for a full `A`, as column-major elements.
    fn product(&self, a: &dyn Fn(usize, usize) -> c64, b: &[c64]) -> Vec<c64> {
        let (m, n) = SIZES;
        let a = |row: usize, column: usize| match self.operation {
            0 => a(row, column),
            1 => a(column, row),
            _ => a(column, row).conj(),
        };
        let places = (0..n).flat_map(|column| (0..m).map(move |row| (row, column)));
        places
            .map(|(row, column)| {
                let product = |p| match self.left {
                    true => a(row, p) * b[column * m + p],
                    false => b[p * m + row] * a(p, column),
                };
                (0..self.order()).map(product).sum()
            })
            .collect()
    }
}

/// Calls the function under test: `call(blas, case, [alpha, a, b, beta, c], lda)`.
type ProductFunction<'a> = &'a dyn Fn(&Blas, &Case, [*const c_void; 5], c_int) -> u32;

/// Runs all cases and compares the results. `is_hermitian` is false for `symm` and true for `hemm`,
/// which add `beta · c`. It is `None` for `trmm`, whose matrix is triangular and which adds nothing.
fn check<T: Number>(is_hermitian: Option<bool>, in_place: bool, call: ProductFunction<'_>) {
    let blas = Blas::new();
    let (m, n) = SIZES;
    let mirrors = is_hermitian.is_some();
    for case in
        Case::all().filter(|case| !mirrors || case.operation == 0 && !case.has_unit_diagonal)
    {
        let order = case.order();
        let full = values::<T>(order * order, 1);
        let stored = case.triangle(&full);
        let (b, c) = (values::<T>(m * n, 2), values::<T>(m * n, 3));
        let a = |row: usize, column: usize| {
            let inside = if case.lower { row >= column } else { row <= column };
            match (is_hermitian, inside) {
                (None, _) if row == column && case.has_unit_diagonal => c64::new(1.0, 0.0),
                (None, false) => c64::default(),
                (Some(true), _) if row == column => c64::new(full[column * order + row].re, 0.0),
                (Some(true), false) => full[row * order + column].conj(),
                (Some(false), false) => full[row * order + column],
                _ => full[column * order + row],
            }
        };
        let products = case.product(&a, &b).into_iter().zip(&c);
        let expected: Vec<c64> = products
            .map(|(sum, &old)| scaled::<T>(sum, if mirrors { old } else { c64::default() }))
            .collect();
        let (a, b) = (upload::<T>(&blas, &stored), upload::<T>(&blas, &b));
        let c = if in_place { b.clone() } else { upload(&blas, &c) };
        let target = if in_place { &b } else { &c };
        let (alpha, beta) = (T::from_complex(ALPHA), T::from_complex(BETA));
        let pointers = [
            (&raw const alpha).cast(),
            blas.address::<_, c_void>(&a).cast_const(),
            blas.address::<_, c_void>(&b).cast_const(),
            (&raw const beta).cast(),
            blas.address::<_, c_void>(target).cast_const(),
        ];
        assert_eq!(call(&blas, &case, pointers, (order + GAP) as c_int), 0);
        let Case { left, lower, operation, has_unit_diagonal } = case;
        let actual = download(&blas, target);
        assert_eq!(actual, expected, "{left} {lower} {operation} {has_unit_diagonal}");
    }
}

macro_rules! mirrored {
    ($($test:ident, $function:ident, $number:ty, $is_hermitian:literal;)*) => {$(
        #[test]
        fn $test() {
            check::<$number>(Some($is_hermitian), false, &|blas, case, [alpha, a, b, beta, c], lda| {
                let ((side, fill), (m, n)) = (case.side_and_fill(), (SIZES.0 as c_int, SIZES.1 as c_int));
                let (alpha, a, b, beta) = (alpha.cast(), a.cast(), b.cast(), beta.cast());
                let (h, c) = (blas.handle, c.cast_mut().cast());
                // SAFETY: every operand is large enough.
                unsafe { sys::$function(h, side, fill, m, n, alpha, a, lda, b, m, beta, c, m) as u32 }
            });
        }
    )*};
}

mirrored! {
    ssymm, cublasSsymm_v2, f32, false;
    dsymm, cublasDsymm_v2, f64, false;
    csymm, cublasCsymm_v2, [f32; 2], false;
    zsymm, cublasZsymm_v2, [f64; 2], false;
    chemm, cublasChemm_v2, [f32; 2], true;
    zhemm, cublasZhemm_v2, [f64; 2], true;
}

macro_rules! trmm {
    ($($test:ident, $function:ident, $number:ty;)*) => {$(
        #[test]
        fn $test() {
            let call: ProductFunction<'_> = &|blas, case, [alpha, a, b, _, c], lda| {
                let ((side, fill), (m, n)) = (case.side_and_fill(), (SIZES.0 as c_int, SIZES.1 as c_int));
                let diagonal = DIAGONALS[usize::from(case.has_unit_diagonal)];
                let (alpha, a, b, operation) = (alpha.cast(), a.cast(), b.cast(), OPERATIONS[case.operation]);
                let (h, c) = (blas.handle, c.cast_mut().cast());
                // SAFETY: every operand is large enough.
                unsafe {
                    sys::$function(h, side, fill, operation, diagonal, m, n, alpha, a, lda, b, m, c, m) as u32
                }
            };
            for in_place in [false, true] {
                check::<$number>(None, in_place, call);
            }
        }
    )*};
}

trmm! {
    strmm, cublasStrmm_v2, f32;
    dtrmm, cublasDtrmm_v2, f64;
    ctrmm, cublasCtrmm_v2, [f32; 2];
    ztrmm, cublasZtrmm_v2, [f64; 2];
}

#[test]
fn aliases_whose_result_depends_on_the_order_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    let (a, b) = (blas.put(&[1.0_f32; 4]), blas.put(&[1.0_f32; 4]));
    let (one, [pa, pb]) = (1.0_f32, [&a, &b].map(|slice| blas.address::<_, f32>(slice)));
    let call = |fill, c: *mut f32, lda| {
        // SAFETY: the library rejects invalid arguments before it touches the memory.
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
