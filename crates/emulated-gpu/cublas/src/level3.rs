//! The matrix product that all `gemm` functions share: its checks and its work.

use std::ffi::{c_int, c_void};

use emulated_blas::{
    Access, AccessRequester, Compute, DataType, Driver, MatrixOperation, Product, Refused,
    Rejection, Result, RunWork, Scalar, StreamHandle, StreamWork, vec_with_capacity,
};

use crate::handle::{Handle, Settings, open};
use crate::operand::{BatchLocation, CheckedOperand, MakeAccess, Operand};

/// The arguments of `C = alpha · op(A) · op(B) + beta · C`, for each matrix of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm {
    /// `transa`, `transb`
    pub(crate) operations: (c_int, c_int),
    /// `m`, `n`, `k`
    pub(crate) sizes: (i64, i64, i64),
    /// `alpha`, `beta`
    pub(crate) scalars: (*const c_void, *const c_void),
    /// The type of the scalars `alpha` and `beta`.
    pub(crate) scale: DataType,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) c: Operand,
    pub(crate) batch: i64,
    pub(crate) compute: Compute,
}

/// A product whose arguments have been checked.
pub(crate) struct PreparedProduct {
    accesses: Vec<Access>,
    products: RunWork,
}

impl Gemm {
    /// Checks the product and enqueues it.
    ///
    /// # Safety
    /// In host pointer mode, non-null `alpha` and `beta` must be readable.
    pub(crate) unsafe fn submit(&self, name: &'static str, handle: Handle) -> Result {
        let (settings, driver) = open(handle)?;
        // SAFETY: guaranteed by the caller.
        let prepared = unsafe { self.prepare(&settings, driver)? };
        prepared.map_or(Ok(()), |prepared| launch(name, driver, settings.stream, vec![prepared]))
    }

    /// Checks the product. Returns `None` if `C` is empty, so that there is nothing to do.
    ///
    /// # Safety
    /// In host pointer mode, non-null `alpha` and `beta` must be readable.
    pub(crate) unsafe fn prepare(
        &self,
        settings: &Settings,
        driver: &Driver,
    ) -> Result<Option<PreparedProduct>> {
        let (m, n, k) = self.sizes;
        check_sizes([(m, "m"), (n, "n"), (k, "k"), (self.batch, "batchCount")])?;
        let op_a = MatrixOperation::from_argument(self.operations.0, "transa")?;
        let op_b = MatrixOperation::from_argument(self.operations.1, "transb")?;
        let (rows, columns) = op_a.sizes((m, k));
        let a = self.a.matrix(rows, columns, self.batch);
        let (rows, columns) = op_b.sizes((k, n));
        let b = self.b.matrix(rows, columns, self.batch);
        let c = self.c.matrix(m, n, self.batch);
        check_ld(&a, op_a, "transa", (m, n, k))?;
        check_ld(&b, op_b, "transb", (m, n, k))?;
        c.check_leading_dimension()?;
        self.check_types()?;
        let mode = settings.pointer_mode;
        // SAFETY: guaranteed by the caller.
        let (alpha, beta) =
            unsafe { Scalar::alpha_and_beta(driver, self.scalars, mode, self.scale)? };
        if m == 0 || n == 0 || self.batch == 0 {
            return Ok(None);
        }
        if let BatchLocation::Strided(_, stride) = self.c.place
            && self.batch > 1
            && stride.unsigned_abs() < m.unsigned_abs()
        {
            return Err(Rejection::invalid(format!(
                "strideC is {stride}, less than the {m} rows of C: the matrices of C overlap"
            )));
        }
        let c = self.c.check(driver, settings.stream, c)?;
        let no_product = k == 0 || alpha.is_known_zero();
        let read = |operand: &Operand, matrix| -> Result<CheckedOperand> {
            let checked = operand.check(driver, settings.stream, matrix)?;
            if checked.address().is_some() && checked.address() == c.address() {
                return Err(Rejection::invalid(format!(
                    "C and {} are the same memory: the result would depend on the order in which \
                     elements are computed",
                    operand.name
                )));
            }
            Ok(checked)
        };
        let inputs = if no_product { None } else { Some((read(&self.a, a)?, read(&self.b, b)?)) };
        let mut accesses: Vec<Access> =
            [alpha.access(), beta.access()].into_iter().flatten().collect();
        if let Some((a, b)) = &inputs {
            a.accesses(Access::read, &mut accesses)?;
            b.accesses(Access::read, &mut accesses)?;
        }
        if !beta.is_known_zero() {
            c.accesses(Access::read, &mut accesses)?;
        }
        c.accesses(Access::write, &mut accesses)?;
        let (compute, batch) = (self.compute, self.batch as u64);
        let capability = driver.capability;
        let makes: &[MakeAccess] =
            if beta.is_known_zero() { &[Access::write] } else { &[Access::read, Access::write] };
        let product = move |inputs: Option<(&CheckedOperand, &CheckedOperand)>,
                            c: &CheckedOperand,
                            index: u64| {
            let c = c.view(MatrixOperation::None, index)?;
            let (a, b) = match inputs {
                Some((a, b)) => (a.view(op_a, index)?, b.view(op_b, index)?),
                None => (c, c),
            };
            let k = if inputs.is_some() { k as usize } else { 0 };
            let (m, n) = (m as usize, n as usize);
            let product = Product::new([m, n, k], [a, b, c], compute, capability);
            Some(Product { alpha, beta, ..product })
        };
        if let Some(first) = product(inputs.as_ref().map(|(a, b)| (a, b)), &c, 0) {
            first.check_memory()?;
        }
        let products = move |requester: &AccessRequester| -> Result<(), Refused> {
            let inputs = match &inputs {
                Some((a, b)) => Some((
                    a.with_addresses(requester, &[Access::read])?,
                    b.with_addresses(requester, &[Access::read])?,
                )),
                None => None,
            };
            let c = c.with_addresses(requester, makes)?;
            for index in 0..batch {
                let inputs = inputs.as_ref().map(|(a, b)| (&**a, &**b));
                // All addresses are known by now, so the product is never `None`.
                let Some(product) = product(inputs, &c, index) else { continue };
                // SAFETY: the operands are among the accesses, or access was granted by
                // `with_addresses`.
                unsafe { product.run(None)? };
            }
            Ok(())
        };
        Ok(Some(PreparedProduct { accesses, products: Box::new(products) }))
    }

    fn check_types(&self) -> Result {
        if self.a.ty == self.b.ty && self.compute.supports(self.a.ty, self.c.ty) {
            return Ok(());
        }
        Err(Rejection::unsupported(format!(
            "Atype {}, Btype {} and Ctype {} are not supported with {}",
            self.a.ty.name(),
            self.b.ty.name(),
            self.c.ty.name(),
            self.compute.name()
        )))
    }
}

/// Enqueues products as a single piece of work.
pub(crate) fn launch(
    name: &'static str,
    driver: &Driver,
    stream: StreamHandle,
    mut products: Vec<PreparedProduct>,
) -> Result {
    let count = products.iter().map(|prepared| prepared.accesses.len()).sum();
    let mut accesses = vec_with_capacity(count)?;
    for prepared in &mut products {
        accesses.append(&mut prepared.accesses);
    }
    let run = Box::new(move |requester: &AccessRequester| {
        products.iter().try_for_each(|prepared| (prepared.products)(requester))
    });
    // SAFETY: each operand is among the accesses, or the work requests access to it when it runs
    // (`with_addresses`).
    unsafe { StreamWork { name, accesses, run }.launch(driver, stream) }
}

/// Checks sizes and counts, given with the names of the arguments.
pub(crate) fn check_sizes<const N: usize>(values: [(i64, &str); N]) -> Result {
    match values.into_iter().find(|(value, _)| !(0..=i64::from(i32::MAX)).contains(value)) {
        Some((value, name)) => {
            Err(Rejection::invalid(format!("{name} is {value}: it must be from 0 to 2147483647")))
        }
        None => Ok(()),
    }
}

/// Checks a leading dimension; the message includes the operation and the sizes.
fn check_ld(
    matrix: &emulated_blas::Matrix,
    operation: MatrixOperation,
    argument: &str,
    (m, n, k): (i64, i64, i64),
) -> Result {
    matrix.check_leading_dimension().map_err(|rejection| {
        let operation = operation.name();
        rejection.map_message(|message| {
            format!("{message} ({argument} is {operation}, m = {m}, n = {n}, k = {k})")
        })
    })
}
