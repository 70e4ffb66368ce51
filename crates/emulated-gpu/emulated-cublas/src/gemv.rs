//! `cublas<T>gemv` and its strided batches: a matrix times a vector.

use std::ffi::{c_int, c_longlong, c_void};

use emulated_blas::{Access, Operation, Product, Rejection, Scalar, Work};

use crate::border::export;
use crate::gemm::{DOUBLE, SINGLE, Typed};
use crate::handle::{Handle, open};
use crate::level3::check_size;
use crate::operand::{Operand, Place};
use crate::vector::Vector;

/// `y = alpha · op(A) · x + beta · y`
struct Gemv {
    operation: c_int,
    sizes: (i64, i64),
    scalars: (*const c_void, *const c_void),
    a: (u64, i64),
    x: (u64, i64),
    y: (u64, i64),
    strides: (i64, i64, i64),
    batch: i64,
}

impl Gemv {
    fn submit(&self, name: &'static str, handle: Handle, typed: Typed) -> Result<(), Rejection> {
        let (settings, driver) = open(handle)?;
        let (m, n) = self.sizes;
        let operation = Operation::from_code(self.operation, "trans")?;
        for (value, what) in [(m, "m"), (n, "n"), (self.batch, "batchCount")] {
            check_size(value, what)?;
        }
        let ty = typed.ty;
        let compute = (typed.compute)(&settings);
        let operand = Operand {
            name: "A",
            ld_name: "lda",
            place: Place::Strided(self.a.0, 0),
            ty,
            ld: self.a.1,
        };
        operand.matrix(m, n, 1).check_leading_dimension()?;
        let mode = settings.pointer_mode;
        // SAFETY: the caller of the C function vouches for `alpha` and `beta`.
        let (alpha, beta) = unsafe {
            (
                Scalar::take(driver, self.scalars.0, mode, ty, "alpha")?,
                Scalar::take(driver, self.scalars.1, mode, ty, "beta")?,
            )
        };
        let (rows, columns) = match operation {
            Operation::None => (m, n),
            Operation::Transpose => (n, m),
        };
        for (inc, what) in [(self.x.1, "incx"), (self.y.1, "incy")] {
            if inc == 0 {
                return Err(Rejection::invalid(format!("{what} is 0: it has to step")));
            }
        }
        // With nothing to multiply, `y` stays as it is (reference BLAS).
        if m == 0 || n == 0 || self.batch == 0 {
            return Ok(());
        }
        let mut accesses: Vec<Access> =
            [alpha.access(), beta.access()].into_iter().flatten().collect();
        let mut products = Vec::new();
        for index in 0..self.batch {
            let step = |address: u64, stride: i64| {
                let bytes = stride.wrapping_mul(index).wrapping_mul(ty.size() as i64);
                address.wrapping_add_signed(bytes)
            };
            let place = Place::Strided(step(self.a.0, self.strides.0), 0);
            let a = Operand { place, ..operand };
            let a = a.check(driver, settings.stream, a.matrix(m, n, 1))?;
            let x = Vector {
                name: "x",
                inc_name: "incx",
                address: step(self.x.0, self.strides.1),
                ty,
                len: columns,
                inc: self.x.1,
            };
            let y = Vector {
                name: "y",
                inc_name: "incy",
                address: step(self.y.0, self.strides.2),
                ty,
                len: rows,
                inc: self.y.1,
            };
            let (x_memory, y_memory) = (x.check(driver)?, y.check(driver)?);
            if !alpha.is_known_zero() {
                accesses.extend(a.accesses(Access::read));
                accesses.extend(x_memory.accesses(Access::read));
            }
            if !beta.is_known_zero() {
                accesses.extend(y_memory.accesses(Access::read));
            }
            accesses.extend(y_memory.accesses(Access::write));
            // SAFETY: `a` is one matrix at an address, no array of pointers.
            let a = unsafe { a.view(operation, 0) };
            let (x, y) = (x.view(), y.view());
            products.push(Product {
                m: rows as usize,
                n: 1,
                k: columns as usize,
                a,
                b: x,
                c: y,
                d: y,
                alpha,
                beta,
                compute,
            });
        }
        let run = Box::new(move || {
            for product in &products {
                // SAFETY: the operands were checked when the function was called.
                unsafe { product.run(None) };
            }
        });
        // SAFETY: operands were checked against the driver's allocations.
        unsafe { Work { name, accesses, run }.launch(driver, settings.stream) }
    }
}

macro_rules! gemv {
    ($($name:ident, $strided:ident, $typed:ident, $int:ty;)*) => {$(
        export! {
            /// `y = alpha · op(A) · x + beta · y`
            fn $name(
                handle: Handle,
                trans: c_int,
                m: $int,
                n: $int,
                alpha: *const c_void,
                a: *const c_void,
                lda: $int,
                x: *const c_void,
                incx: $int,
                beta: *const c_void,
                y: *mut c_void,
                incy: $int,
            ) {
                let gemv = Gemv {
                    operation: trans,
                    sizes: (m.into(), n.into()),
                    scalars: (alpha, beta),
                    a: (a as u64, lda.into()),
                    x: (x as u64, incx.into()),
                    y: (y as u64, incy.into()),
                    strides: (0, 0, 0),
                    batch: 1,
                };
                gemv.submit(NAME, handle, $typed)
            }

            /// `y[i] = alpha · op(A[i]) · x[i] + beta · y[i]`, each a stride after the last.
            fn $strided(
                handle: Handle,
                trans: c_int,
                m: $int,
                n: $int,
                alpha: *const c_void,
                a: *const c_void,
                lda: $int,
                stride_a: c_longlong,
                x: *const c_void,
                incx: $int,
                stride_x: c_longlong,
                beta: *const c_void,
                y: *mut c_void,
                incy: $int,
                stride_y: c_longlong,
                batch_count: $int,
            ) {
                let gemv = Gemv {
                    operation: trans,
                    sizes: (m.into(), n.into()),
                    scalars: (alpha, beta),
                    a: (a as u64, lda.into()),
                    x: (x as u64, incx.into()),
                    y: (y as u64, incy.into()),
                    strides: (stride_a, stride_x, stride_y),
                    batch: batch_count.into(),
                };
                gemv.submit(NAME, handle, $typed)
            }
        }
    )*};
}

gemv! {
    cublasSgemv_v2, cublasSgemvStridedBatched, SINGLE, c_int;
    cublasDgemv_v2, cublasDgemvStridedBatched, DOUBLE, c_int;
    cublasSgemv_v2_64, cublasSgemvStridedBatched_64, SINGLE, i64;
    cublasDgemv_v2_64, cublasDgemvStridedBatched_64, DOUBLE, i64;
}
