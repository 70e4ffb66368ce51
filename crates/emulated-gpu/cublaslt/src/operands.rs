//! The operands of a call: a problem with addresses, and the checks that depend on the addresses.

use emulated_blas::{Access, Driver, Matrix, Rejection, Result, Scalar, Split, check_range};

use crate::algorithm::Algorithm;
use crate::epilogue::Bias;
use crate::finish::EpilogueMemory;
use crate::problem::Problem;

/// The addresses of a call's matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) d: u64,
}

/// A problem with checked addresses.
#[derive(Clone, Debug)]
pub(crate) struct Operands {
    pub(crate) problem: Problem,
    /// The compute capability of the card; 90 means 9.0.
    pub(crate) capability: u32,
    /// The splitting of the sums (split-K).
    pub(crate) split: Split,
    pub(crate) accesses: Vec<Access>,
}

impl Operands {
    /// Sets the addresses of a problem and checks them. If `algorithm` is `None`, any alignment is
    /// accepted.
    pub(crate) fn check(
        driver: &Driver,
        mut problem: Problem,
        addresses: Addresses,
        scalars: (Scalar, Scalar),
        algorithm: Option<&Algorithm>,
    ) -> Result<Self> {
        let (alpha, beta) = scalars;
        problem.a.address = addresses.a;
        problem.b.address = addresses.b;
        problem.c.address = addresses.c;
        problem.d.address = addresses.d;
        let reads_c = !beta.is_known_zero();
        let mut used = vec![&problem.d];
        if !alpha.is_known_zero() {
            used.extend([&problem.a, &problem.b]);
        }
        if reads_c {
            used.push(&problem.c);
        }
        for matrix in used {
            matrix.check_memory(driver)?;
        }
        check_aliases(&problem, reads_c)?;
        let capability = driver.capability;
        let split = Split::NONE;
        let mut operands = Self { problem, capability, split, accesses: Vec::new() };
        operands.check_bias(driver)?;
        operands.check_aux(driver)?;
        if let Some(algorithm) = algorithm {
            operands.check_alignment(algorithm)?;
        }
        let Self { problem, accesses, .. } = &mut operands;
        accesses.extend([alpha.access(), beta.access()].into_iter().flatten());
        if !alpha.is_known_zero() {
            Access::append(accesses, problem.a.accesses(Access::read))?;
            Access::append(accesses, problem.b.accesses(Access::read))?;
        }
        if reads_c {
            Access::append(accesses, problem.c.accesses(Access::read))?;
        }
        Access::append(accesses, problem.d.accesses(Access::write))?;
        Ok(operands)
    }

    /// Splits the sums as the algorithm does. The partial sums are kept in host memory here, but
    /// the workspace for them is checked and declared as on a card.
    pub(crate) fn split_sums(
        &mut self,
        algorithm: &Algorithm,
        (workspace, size): (u64, u64),
    ) -> Result {
        let needed = algorithm.workspace(&self.problem);
        if needed == 0 {
            return Ok(());
        }
        let alignment = 16;
        if workspace == 0 || size < needed || !workspace.is_multiple_of(alignment) {
            return Err(Rejection::invalid(format!(
                "the workspace has {size} bytes at {workspace:#x}: algo splits its sums into {} parts, for \
                 which it needs {needed} bytes at a multiple of {alignment}",
                algorithm.parts()
            )));
        }
        self.split = Split { parts: algorithm.parts() as usize };
        Access::append(&mut self.accesses, [Access::write_bytes(workspace, needed)])
    }

    fn check_bias(&mut self, driver: &Driver) -> Result {
        let Self { problem, accesses, .. } = self;
        let (bias, len) = (problem.epilogue.bias, problem.bias_len());
        if bias == Bias::None {
            return Ok(());
        }
        let (address, size) = (problem.descriptor.bias.cast_unsigned(), problem.d.ty.size());
        let name = "the vector at CUBLASLT_MATMUL_DESC_BIAS_POINTER";
        if address == 0 {
            return Err(Rejection::invalid(format!(
                "CUBLASLT_MATMUL_DESC_BIAS_POINTER is null: CUBLASLT_EPILOGUE_{} needs it",
                problem.epilogue.name
            )));
        }
        if !address.is_multiple_of(size) {
            return Err(Rejection::invalid(format!(
                "{name} is at {address:#x}, which is not a multiple of the element size, {size} bytes"
            )));
        }
        let stride = i128::from(problem.descriptor.bias_batch_stride) * i128::from(size);
        let batch = (problem.d.batch, stride);
        let make = if bias == Bias::Added { Access::read } else { Access::write };
        Access::append(
            accesses,
            batch_accesses(driver, name, make, address, (len * size, 1, 0), batch)?,
        )
    }

    fn check_aux(&mut self, driver: &Driver) -> Result {
        let Self { problem, accesses, .. } = self;
        let epilogue = problem.epilogue;
        if !epilogue.has_aux() {
            return Ok(());
        }
        let descriptor = &problem.descriptor;
        let address = descriptor.aux.cast_unsigned();
        if address == 0 {
            let message = format!(
                "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER is null: CUBLASLT_EPILOGUE_{} needs it",
                epilogue.name
            );
            // The two cases have different statuses, as in the real library.
            return Err(if epilogue.writes_aux {
                Rejection::unsupported(message)
            } else {
                Rejection::invalid(message)
            });
        }
        let (m, n, _) = problem.sizes;
        let size = problem.d.ty.size();
        let bytes = |elements: u128| {
            if epilogue.has_mask() { elements.div_ceil(8) } else { elements * u128::from(size) }
        };
        let name = "the matrix at CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER";
        if !epilogue.has_mask() && !address.is_multiple_of(size) {
            return Err(Rejection::invalid(format!(
                "{name} is at {address:#x}, which is not a multiple of the element size, {size} bytes"
            )));
        }
        // The problem's own checks ensure that neither columns nor matrices overlap.
        let pitch = bytes(descriptor.aux_ld.unsigned_abs().into());
        let stride = bytes(descriptor.aux_batch_stride.unsigned_abs().into()).cast_signed();
        let shape = (bytes(m.into()) as u64, n, pitch);
        let make = if epilogue.writes_aux { Access::write } else { Access::read };
        let batch = (problem.d.batch, stride);
        Access::append(accesses, batch_accesses(driver, name, make, address, shape, batch)?)
    }

    /// Checks that the operands have the alignments for which the algorithm was chosen.
    fn check_alignment(&self, algorithm: &Algorithm) -> Result {
        let problem = &self.problem;
        let descriptor = &problem.descriptor;
        let promised = |name| format!("CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{name}_BYTES");
        let places = [
            ("A", problem.a.address, promised("A")),
            ("B", problem.b.address, promised("B")),
            ("C", problem.c.address, promised("C")),
            ("D", problem.d.address, promised("D")),
            (
                "the bias",
                descriptor.bias.cast_unsigned(),
                "CUBLASLT_MATMUL_DESC_BIAS_POINTER".into(),
            ),
            (
                "the auxiliary matrix",
                descriptor.aux.cast_unsigned(),
                "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER".into(),
            ),
        ];
        let used = [
            true,
            true,
            true,
            true,
            problem.epilogue.bias != Bias::None,
            problem.epilogue.has_aux(),
        ];
        for (((name, address, argument), least), used) in
            places.into_iter().zip(algorithm.alignments).zip(used)
        {
            if used && !address.is_multiple_of(u64::from(least).max(1)) {
                return Err(Rejection::invalid(format!(
                    "{name} is at {address:#x}, but algo was chosen for multiples of {least} bytes: \
                     set {argument} before calling the heuristic"
                )));
            }
        }
        Ok(())
    }

    /// The memory of the epilogue for matrix `index`.
    pub(crate) fn epilogue_memory(&self, index: u64) -> EpilogueMemory {
        let problem = &self.problem;
        let descriptor = &problem.descriptor;
        let size = problem.d.ty.size();
        let bias = matrix_address(
            descriptor.bias.cast_unsigned(),
            descriptor.bias_batch_stride,
            index,
            size,
        );
        let stride = descriptor.aux_batch_stride;
        let aux = descriptor.aux.cast_unsigned();
        let aux = if problem.epilogue.has_mask() {
            matrix_address(aux, stride / 8, index, 1)
        } else {
            matrix_address(aux, stride, index, size)
        };
        EpilogueMemory {
            epilogue: problem.epilogue,
            ty: problem.d.ty,
            bias,
            aux,
            aux_ld: descriptor.aux_ld.cast_unsigned(),
        }
    }
}

/// The address of matrix `index`, for a stride in elements of `size` bytes.
fn matrix_address(address: u64, stride: i64, index: u64, size: u64) -> u64 {
    let bytes = stride.wrapping_mul(index.cast_signed()).wrapping_mul(size.cast_signed());
    address.wrapping_add_signed(bytes)
}

/// Checks that `D` is neither `A` nor `B`, and has the same layout as `C` if it is `C`.
fn check_aliases(problem: &Problem, reads_c: bool) -> Result {
    let d = &problem.d;
    for matrix in [&problem.a, &problem.b] {
        if matrix.address == d.address {
            return Err(Rejection::invalid(format!(
                "D and {} are the same memory: the result would depend on the order in which \
                 elements are computed",
                matrix.name
            )));
        }
    }
    let same = |c: &Matrix| {
        (c.ld, c.order, c.batch_stride) == (d.ld, d.order, d.batch_stride)
            || c.batch == 1 && (c.ld, c.order) == (d.ld, d.order)
    };
    if reads_c && problem.c.address == d.address && !same(&problem.c) {
        return Err(Rejection::invalid(
            "C and D are the same memory with different layouts: use the same layout, or two buffers",
        ));
    }
    Ok(())
}

/// The accesses of a batch of matrices. The arguments are, for each matrix, the bytes in a column,
/// and the number of columns and their distance in bytes; then the number of matrices and their
/// distance in bytes.
///
/// # Errors
/// `INVALID_VALUE` if the batch is not inside a single allocation.
fn batch_accesses(
    driver: &Driver,
    name: &str,
    make: fn(u64, u64, u64, u64) -> Access,
    address: u64,
    (bytes, columns, pitch): (u64, u64, u128),
    (batch, stride): (u64, i128),
) -> Result<impl Iterator<Item = Access>> {
    // A stride of 0 repeats the same matrix.
    let batch = if stride == 0 { batch.min(1) } else { batch };
    let reach = stride.unsigned_abs() * u128::from(batch.saturating_sub(1));
    let before = if stride < 0 { reach } else { 0 };
    let all = reach + pitch * u128::from(columns - 1) + u128::from(bytes);
    let first = u128::from(address).checked_sub(before).map(|first| first as u64);
    let (Some(first), Ok(all)) = (first, u64::try_from(all)) else {
        return Err(Rejection::invalid(format!("{name} is larger than the address space")));
    };
    check_range(driver, name, first, all)?;
    // This can't overflow, because the batch is inside an allocation, whose size fits into 64 bits.
    let stride = stride.unsigned_abs() as u64;
    Ok(Access::batch_ranges(make, (first, bytes), (columns, pitch as u64), (batch, stride)))
}
