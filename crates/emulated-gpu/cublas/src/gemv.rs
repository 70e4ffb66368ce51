//! `cublas<T>gemv` and its strided batches: matrix-vector products.

use std::ffi::{c_int, c_longlong, c_void};

use c_abi::export;
use emulated_blas::{
    Access, MatrixOperation, Product, Result, RunWork, Scalar, StreamWork, View, reject_if,
};

use crate::gemm::{COMPLEX, DOUBLE, DOUBLE_COMPLEX, NamedType, SINGLE};
use crate::handle::{Handle, open};
use crate::level3::check_sizes;
use crate::operand::{BatchLocation, Operand};
use crate::vector::Vector;

/// The arguments of `y = alpha · op(A) · x + beta · y`.
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
    /// # Safety
    /// In host pointer mode, non-null `alpha` and `beta` must be readable.
    unsafe fn submit(&self, name: &'static str, handle: Handle, typed: NamedType) -> Result {
        let (settings, driver) = open(handle)?;
        let (m, n) = self.sizes;
        let operation = MatrixOperation::from_argument(self.operation, "trans")?;
        check_sizes([(m, "m"), (n, "n"), (self.batch, "batchCount")])?;
        let ty = typed.ty;
        let compute = (typed.compute)(&settings);
        let operand = Operand {
            name: "A",
            ld_name: "lda",
            place: BatchLocation::Strided(self.a.0, 0),
            ty,
            ld: self.a.1,
        };
        operand.matrix(m, n, 1).check_leading_dimension()?;
        let mode = settings.pointer_mode;
        // SAFETY: guaranteed by the caller.
        let (alpha, beta) = unsafe { Scalar::alpha_and_beta(driver, self.scalars, mode, ty)? };
        let (rows, columns) = operation.sizes((m, n));
        for (inc, what) in [(self.x.1, "incx"), (self.y.1, "incy")] {
            reject_if!(inc == 0, invalid, "{what} is 0: it must not be 0");
        }
        // As in the reference BLAS, `y` stays unchanged if a size is 0.
        if m == 0 || n == 0 || self.batch == 0 {
            return Ok(());
        }
        let mut accesses: Vec<Access> =
            [alpha.access(), beta.access()].into_iter().flatten().collect();
        let (size, batch) = (ty.size() as i64, self.batch);
        let a = Operand { place: BatchLocation::Strided(self.a.0, self.strides.0), ..operand };
        let matrix = a.matrix(m, n, batch);
        let a = a.check(driver, settings.stream, matrix.clone())?;
        let x = Vector {
            name: "x",
            inc_name: "incx",
            address: self.x.0,
            ty,
            len: columns,
            inc: self.x.1,
        };
        let y =
            Vector { name: "y", inc_name: "incy", address: self.y.0, ty, len: rows, inc: self.y.1 };
        let x_memory = x.check_batch(driver, batch, self.strides.1)?;
        let y_memory = y.check_batch(driver, batch, self.strides.2)?;
        if !alpha.is_known_zero() {
            a.accesses(Access::read, &mut accesses)?;
            Access::append(&mut accesses, x_memory.accesses(Access::read))?;
        }
        if !beta.is_known_zero() {
            Access::append(&mut accesses, y_memory.accesses(Access::read))?;
        }
        Access::append(&mut accesses, y_memory.accesses(Access::write))?;
        let (x, y, strides) = (x.view(), y.view(), self.strides);
        let capability = driver.capability;
        let product = move |index: i64| {
            let step = |view: View, stride: i64| {
                let bytes = stride.wrapping_mul(index).wrapping_mul(size);
                View { address: view.address.wrapping_add_signed(bytes), ..view }
            };
            let (m, k) = (rows as usize, columns as usize);
            let a = View::of_matrix(&matrix, operation, index as u64);
            let (b, c) = (step(x, strides.1), step(y, strides.2));
            let product = Product::new([m, 1, k], [a, b, c], compute, capability);
            Product { alpha, beta, ..product }
        };
        product(0).check_memory()?;
        let run: RunWork = Box::new(move |_| {
            for index in 0..batch {
                // SAFETY: the operands are among the accesses.
                unsafe { product(index).run(None)? };
            }
            Ok(())
        });
        // SAFETY: as above.
        unsafe { StreamWork { name, accesses, run }.launch(driver, settings.stream) }
    }
}

/// Declares exported `gemv` functions. A declaration lists the strides and the batch count, if the
/// function has them, and the corresponding fields of [`Gemv`].
macro_rules! export_gemv {
    ($(
        $(#[$meta:meta])*
        fn $name:ident(
            $typed:ident, $int:ty
            $(, strides $stride_a:ident $stride_x:ident $stride_y:ident, $batch_count:ident)?
        ) { strides: $strides:expr, batch: $batch:expr }
    )*) => { export! {$(
        $(#[$meta])*
        fn $name(
            handle: Handle,
            trans: c_int,
            m: $int,
            n: $int,
            alpha: *const c_void,
            a: *const c_void,
            lda: $int,
            $($stride_a: c_longlong,)?
            x: *const c_void,
            incx: $int,
            $($stride_x: c_longlong,)?
            beta: *const c_void,
            y: *mut c_void,
            incy: $int,
            $($stride_y: c_longlong, $batch_count: $int,)?
        ) {
            let gemv = Gemv {
                operation: trans,
                sizes: (m.into(), n.into()),
                scalars: (alpha, beta),
                a: (a as u64, lda.into()),
                x: (x as u64, incx.into()),
                y: (y as u64, incy.into()),
                strides: $strides,
                batch: $batch,
            };
            gemv.submit(NAME, handle, $typed)
        }
    )*} };
}

macro_rules! gemv {
    ($($name:ident, $strided:ident, $typed:ident, $int:ty;)*) => {$(
        export_gemv! {
            /// Computes `y = alpha · op(A) · x + beta · y`.
            fn $name($typed, $int) { strides: (0, 0, 0), batch: 1 }

            /// Computes `y[i] = alpha · op(A[i]) · x[i] + beta · y[i]` for a strided batch.
            fn $strided($typed, $int, strides stride_a stride_x stride_y, batch_count) {
                strides: (stride_a, stride_x, stride_y), batch: batch_count.into()
            }
        }
    )*};
}

gemv! {
    cublasSgemv_v2, cublasSgemvStridedBatched, SINGLE, c_int;
    cublasDgemv_v2, cublasDgemvStridedBatched, DOUBLE, c_int;
    cublasSgemv_v2_64, cublasSgemvStridedBatched_64, SINGLE, i64;
    cublasDgemv_v2_64, cublasDgemvStridedBatched_64, DOUBLE, i64;
    cublasCgemv_v2, cublasCgemvStridedBatched, COMPLEX, c_int;
    cublasZgemv_v2, cublasZgemvStridedBatched, DOUBLE_COMPLEX, c_int;
    cublasCgemv_v2_64, cublasCgemvStridedBatched_64, COMPLEX, i64;
    cublasZgemv_v2_64, cublasZgemvStridedBatched_64, DOUBLE_COMPLEX, i64;
}
