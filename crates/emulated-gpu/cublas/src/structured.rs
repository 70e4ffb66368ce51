//! `cublas<T>symm`, `cublas<T>hemm` and `cublas<T>trmm`: the product of two matrices, of one of
//! which only a triangle is stored.

use std::ffi::{c_int, c_void};

use c_abi::export;
use emulated_blas::{
    Access, Dense, Matrix, MatrixOperation, Product, Rejection, Result, RunWork, Scalar,
    StreamWork, Structure, Triangle, View,
};

use crate::gemm::{COMPLEX, DOUBLE, DOUBLE_COMPLEX, NamedType, SINGLE};
use crate::handle::{Handle, open};
use crate::level3::check_sizes;
use crate::operand::{BatchLocation, operands};

/// The arguments of `C = alpha · op(A) · B + beta · C`, or of `C = alpha · B · op(A) + beta · C`.
struct StructuredProduct {
    structure: Structure,
    side: c_int,
    uplo: c_int,
    operation: c_int,
    sizes: (i64, i64),
    alpha: *const c_void,
    /// The pointer to `beta`; null if `C` is not read.
    beta: *const c_void,
    a: (u64, i64),
    b: (u64, i64),
    c: (u64, i64),
}

/// Checks an enum with the two values 0 and 1. Returns whether the value is 0.
fn is_first_of_two(value: c_int, what: &str, names: [&str; 2]) -> Result<bool> {
    match value {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(Rejection::invalid(format!(
            "{what} is {value}: it must be {} (0) or {} (1)",
            names[0], names[1]
        ))),
    }
}

/// Whether a `cublasSideMode_t` is the left side; `what` is the argument's name in messages.
pub(crate) fn is_left(side: c_int, what: &str) -> Result<bool> {
    is_first_of_two(side, what, ["CUBLAS_SIDE_LEFT", "CUBLAS_SIDE_RIGHT"])
}

/// Converts a `cublasDiagType_t`.
fn triangular(diag: c_int) -> Result<Structure> {
    let is_stored = is_first_of_two(diag, "diag", ["CUBLAS_DIAG_NON_UNIT", "CUBLAS_DIAG_UNIT"])?;
    Ok(Structure::Triangular { has_unit_diagonal: !is_stored })
}

impl StructuredProduct {
    /// # Safety
    /// In host pointer mode, non-null `alpha` and `beta` must be readable.
    unsafe fn submit(&self, name: &'static str, handle: Handle, typed: NamedType) -> Result {
        let (settings, driver) = open(handle)?;
        let (m, n) = self.sizes;
        let is_left = is_left(self.side, "side")?;
        let fills = ["CUBLAS_FILL_MODE_LOWER", "CUBLAS_FILL_MODE_UPPER"];
        let is_lower = is_first_of_two(self.uplo, "uplo", fills)?;
        let operation = MatrixOperation::from_argument(self.operation, "trans")?;
        check_sizes([(m, "m"), (n, "n")])?;
        let order = if is_left { m } else { n };
        let place = |(address, _): (u64, i64)| BatchLocation::Strided(address, 0);
        let [a, b, c] = operands(
            [typed.ty; 3],
            [self.a, self.b, self.c].map(place),
            [self.a.1, self.b.1, self.c.1],
        );
        let [a, b, c] = [a.matrix(order, order, 1), b.matrix(m, n, 1), c.matrix(m, n, 1)];
        for matrix in [&a, &b, &c] {
            matrix.check_leading_dimension()?;
        }
        let mode = settings.pointer_mode;
        // SAFETY: guaranteed by the caller.
        let alpha = unsafe { Scalar::from_pointer(driver, self.alpha, mode, typed.ty, "alpha")? };
        let beta = if self.beta.is_null() && self.is_triangular() {
            Scalar::Value(0.0)
        } else {
            // SAFETY: as above.
            unsafe { Scalar::from_pointer(driver, self.beta, mode, typed.ty, "beta")? }
        };
        if m == 0 || n == 0 {
            return Ok(());
        }
        let reads = !alpha.is_known_zero();
        let used = [&c, &a, &b];
        for matrix in &used[..if reads { 3 } else { 1 }] {
            matrix.check_memory(driver)?;
        }
        let in_place = reads && self.check_aliases(&a, &b, &c)?;
        let [a_view, b_view, c_view] =
            [&a, &b, &c].map(|one| View::of_matrix(one, MatrixOperation::None, 0));
        let (order, structure) = (order as usize, self.structure);
        let triangle = Triangle { view: a_view, order, is_lower, structure };
        let mut accesses: Vec<Access> =
            [alpha.access(), beta.access()].into_iter().flatten().collect();
        if reads {
            Access::append(&mut accesses, triangle.accesses())?;
            Access::append(&mut accesses, b.accesses(Access::read))?;
        }
        if !beta.is_known_zero() {
            Access::append(&mut accesses, c.accesses(Access::read))?;
        }
        Access::append(&mut accesses, c.accesses(Access::write))?;
        let (m, n) = (m as usize, n as usize);
        let (compute, capability) = ((typed.compute)(&settings), driver.capability);
        let k = if reads { order } else { 0 };
        let product = move |dense: View, other: View| {
            let (a, b) = if is_left { (dense, other) } else { (other, dense) };
            let product = Product::new([m, n, k], [a, b, c_view], compute, capability);
            Product { alpha, beta, ..product }
        };
        product(a_view.with_operation(operation), b_view).check_memory()?;
        let run: RunWork = Box::new(move |_| {
            // SAFETY: the operands are among the accesses, or are copies in host memory.
            unsafe {
                if !reads {
                    return Ok(product(a_view, b_view).run(None)?);
                }
                let dense = triangle.expanded()?;
                let copy = if in_place { Some(Dense::copy_of(b_view, m, n)?) } else { None };
                let other = copy.as_ref().map_or(b_view, Dense::view);
                product(dense.with_operation(operation), other).run(None)?;
            }
            Ok(())
        });
        // SAFETY: as above.
        unsafe { StreamWork { name, accesses, run }.launch(driver, settings.stream) }
    }

    fn is_triangular(&self) -> bool {
        matches!(self.structure, Structure::Triangular { .. })
    }

    /// Whether `C` is `B`, which only `trmm` allows.
    fn check_aliases(&self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<bool> {
        let is_b = c.address == b.address;
        if c.address == a.address || is_b && !self.is_triangular() {
            return Err(Rejection::invalid(format!(
                "C and {} are the same memory: the result would depend on the order in which elements \
                 are computed",
                if is_b { "B" } else { "A" }
            )));
        }
        if is_b && c.ld != b.ld {
            return Err(Rejection::invalid(format!(
                "C and B are the same memory, but ldb is {} and ldc {}",
                b.ld, c.ld
            )));
        }
        Ok(is_b)
    }
}

/// Declares exported functions with a matrix of which only one triangle is stored. A declaration
/// lists the arguments that not all of these functions have, and the fields of
/// [`StructuredProduct`] that depend on them.
macro_rules! export_structured {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($typed:ident, $int:ty $(, $flag:ident)* $(; $beta:ident)?)
            { $($field:ident: $value:expr),* }
    )*) => { export! {$(
        $(#[$meta])*
        fn $name(
            handle: Handle,
            side: c_int,
            uplo: c_int,
            $($flag: c_int,)*
            m: $int,
            n: $int,
            alpha: *const c_void,
            a: *const c_void,
            lda: $int,
            b: *const c_void,
            ldb: $int,
            $($beta: *const c_void,)?
            c: *mut c_void,
            ldc: $int,
        ) {
            let product = StructuredProduct {
                $($field: $value,)*
                side,
                uplo,
                sizes: (m.into(), n.into()),
                alpha,
                a: (a as u64, lda.into()),
                b: (b as u64, ldb.into()),
                c: (c as u64, ldc.into()),
            };
            product.submit(NAME, handle, $typed)
        }
    )*} };
}

macro_rules! mirrored {
    ($($name:ident, $structure:ident, $typed:ident, $int:ty;)*) => {$(
        export_structured! {
            /// Computes `C = alpha · A · B + beta · C`, or the same with `B · A`, for a symmetric
            /// or Hermitian `A`.
            fn $name($typed, $int; beta) {
                structure: Structure::$structure, operation: 0, beta: beta
            }
        }
    )*};
}

mirrored! {
    cublasSsymm_v2, Symmetric, SINGLE, c_int;
    cublasDsymm_v2, Symmetric, DOUBLE, c_int;
    cublasCsymm_v2, Symmetric, COMPLEX, c_int;
    cublasZsymm_v2, Symmetric, DOUBLE_COMPLEX, c_int;
    cublasChemm_v2, Hermitian, COMPLEX, c_int;
    cublasZhemm_v2, Hermitian, DOUBLE_COMPLEX, c_int;
    cublasSsymm_v2_64, Symmetric, SINGLE, i64;
    cublasDsymm_v2_64, Symmetric, DOUBLE, i64;
    cublasCsymm_v2_64, Symmetric, COMPLEX, i64;
    cublasZsymm_v2_64, Symmetric, DOUBLE_COMPLEX, i64;
    cublasChemm_v2_64, Hermitian, COMPLEX, i64;
    cublasZhemm_v2_64, Hermitian, DOUBLE_COMPLEX, i64;
}

macro_rules! trmm {
    ($($name:ident, $typed:ident, $int:ty;)*) => {$(
        export_structured! {
            /// Computes `C = alpha · op(A) · B`, or the same with `B · op(A)`, for a triangular
            /// `A`; `C` may be `B`.
            fn $name($typed, $int, trans, diag) {
                structure: triangular(diag)?, operation: trans, beta: std::ptr::null()
            }
        }
    )*};
}

trmm! {
    cublasStrmm_v2, SINGLE, c_int;
    cublasDtrmm_v2, DOUBLE, c_int;
    cublasCtrmm_v2, COMPLEX, c_int;
    cublasZtrmm_v2, DOUBLE_COMPLEX, c_int;
    cublasStrmm_v2_64, SINGLE, i64;
    cublasDtrmm_v2_64, DOUBLE, i64;
    cublasCtrmm_v2_64, COMPLEX, i64;
    cublasZtrmm_v2_64, DOUBLE_COMPLEX, i64;
}
