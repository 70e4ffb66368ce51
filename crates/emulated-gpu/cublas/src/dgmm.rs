//! `cublas<T>dgmm`: the product of a matrix and a diagonal matrix, whose diagonal is passed as a
//! vector.

use std::ffi::{c_int, c_void};

use c_abi::export;
use emulated_blas::{
    Access, MatrixOperation, Number, Rejection, Result, RunWork, StreamWork, View, c32, c64,
};

use crate::handle::{Handle, open};
use crate::level3::check_sizes;
use crate::operand::{BatchLocation, operands};
use crate::structured::is_left;
use crate::vector::Vector;

/// The arguments of `C = diag(x) · A`, or of `C = A · diag(x)`.
struct Dgmm {
    mode: c_int,
    sizes: (i64, i64),
    a: (u64, i64),
    x: (u64, i64),
    c: (u64, i64),
}

impl Dgmm {
    fn submit<T: Number>(&self, name: &'static str, handle: Handle) -> Result {
        let (settings, driver) = open(handle)?;
        let (m, n) = self.sizes;
        let is_left = is_left(self.mode, "mode")?;
        check_sizes([(m, "m"), (n, "n")])?;
        let place = |(address, _): (u64, i64)| BatchLocation::Strided(address, 0);
        let [a, _, c] = operands(
            [T::TYPE; 3],
            [self.a, self.a, self.c].map(place),
            [self.a.1, self.a.1, self.c.1],
        );
        let [a, c] = [a.matrix(m, n, 1), c.matrix(m, n, 1)];
        for matrix in [&a, &c] {
            matrix.check_leading_dimension()?;
        }
        if m == 0 || n == 0 {
            return Ok(());
        }
        for matrix in [&a, &c] {
            matrix.check_memory(driver)?;
        }
        if a.address == c.address && a.ld != c.ld {
            return Err(Rejection::invalid(format!(
                "C and A are the same memory, but lda is {} and ldc {}",
                a.ld, c.ld
            )));
        }
        // With an increment of 0, the first element is used for all rows or columns.
        let (len, inc) = match self.x.1 {
            0 => (1, 1),
            inc => (if is_left { m } else { n }, inc),
        };
        let vector =
            Vector { name: "x", inc_name: "incx", address: self.x.0, ty: T::TYPE, len, inc };
        let memory = vector.check(driver)?;
        if memory.address == c.address {
            return Err(Rejection::invalid(
                "C and x are the same memory: the result would depend on the order in which elements are \
                 computed",
            ));
        }
        let mut accesses = Vec::new();
        Access::append(&mut accesses, a.accesses(Access::read))?;
        Access::append(&mut accesses, memory.accesses(Access::read))?;
        Access::append(&mut accesses, c.accesses(Access::write))?;
        let [a, c] = [&a, &c].map(|matrix| View::of_matrix(matrix, MatrixOperation::None, 0));
        let (x, is_one) = (vector.view(), len == 1);
        let (m, n) = (m as usize, n as usize);
        let run: RunWork = Box::new(move |_| {
            for (column, row) in (0..n).flat_map(|column| (0..m).map(move |row| (column, row))) {
                let index = if is_left { row } else { column };
                // SAFETY: all operands are among the accesses.
                unsafe {
                    let factor: T = x.get(if is_one { 0 } else { index }, 0);
                    c.set(row, column, factor * a.get(row, column));
                }
            }
            Ok(())
        });
        // SAFETY: as above.
        unsafe { StreamWork { name, accesses, run }.launch(driver, settings.stream) }
    }
}

macro_rules! dgmm {
    ($($name:ident, $ty:ty, $int:ty;)*) => {$(
        export! {
            /// Computes `C = diag(x) · A`, or `A · diag(x)`; `C` may be `A`.
            fn $name(
                handle: Handle,
                mode: c_int,
                m: $int,
                n: $int,
                a: *const c_void,
                lda: $int,
                x: *const c_void,
                incx: $int,
                c: *mut c_void,
                ldc: $int,
            ) {
                let product = Dgmm {
                    mode,
                    sizes: (m.into(), n.into()),
                    a: (a as u64, lda.into()),
                    x: (x as u64, incx.into()),
                    c: (c as u64, ldc.into()),
                };
                product.submit::<$ty>(NAME, handle)
            }
        }
    )*};
}

dgmm! {
    cublasSdgmm, f32, c_int;
    cublasDdgmm, f64, c_int;
    cublasCdgmm, c32, c_int;
    cublasZdgmm, c64, c_int;
    cublasSdgmm_64, f32, i64;
    cublasDdgmm_64, f64, i64;
    cublasCdgmm_64, c32, i64;
    cublasZdgmm_64, c64, i64;
}
