//! A problem: a descriptor and four layouts, checked before any address is known.

use emulated_blas::{
    Compute, DataType, Matrix, MatrixOperation, Order, Rejection, Result, scale_type,
};

use crate::descriptor::{Descriptor, SCALES};
use crate::epilogue::{Bias, Epilogue};
use crate::layout::Layout;

/// The column padding of a bit mask, in elements.
const MASK_PADDING: i64 = 128;
/// The column padding of an auxiliary matrix, in elements.
const AUX_PADDING: i64 = 8;

/// The product `D = epilogue(alpha · op(A) · op(B) + beta · C)`, with checked parameters.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) descriptor: Descriptor,
    pub(crate) operations: (MatrixOperation, MatrixOperation),
    pub(crate) epilogue: Epilogue,
    pub(crate) compute: Compute,
    /// The rows and columns of the result, and the number of terms in its sums.
    pub(crate) sizes: (u64, u64, u64),
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) d: Matrix,
}

impl Problem {
    /// Checks a descriptor and layouts.
    ///
    /// # Errors
    /// `INVALID_VALUE` if they contradict each other, `NOT_SUPPORTED` if the library does not
    /// support them.
    pub(crate) fn new(
        descriptor: Descriptor,
        layouts: (&Layout, &Layout, &Layout, &Layout),
    ) -> Result<Self> {
        let (a, b, c, d) = layouts;
        let problem = Self {
            operations: (
                MatrixOperation::from_argument(descriptor.transa, "CUBLASLT_MATMUL_DESC_TRANSA")?,
                MatrixOperation::from_argument(descriptor.transb, "CUBLASLT_MATMUL_DESC_TRANSB")?,
            ),
            epilogue: Epilogue::from_code(descriptor.epilogue)?,
            compute: Compute::from_code(descriptor.compute_type)?,
            sizes: (0, 0, 0),
            a: a.matrix(0, ("A", "the leading dimension of Adesc"))?,
            b: b.matrix(0, ("B", "the leading dimension of Bdesc"))?,
            c: c.matrix(0, ("C", "the leading dimension of Cdesc"))?,
            d: d.matrix(0, ("D", "the leading dimension of Ddesc"))?,
            descriptor,
        };
        problem.check_leading_dimensions()?;
        problem.check_descriptor()?;
        let problem = problem.with_sizes()?;
        problem.check_types()?;
        problem.check_batches()?;
        problem.check_epilogue()?;
        problem.check_aux()?;
        Ok(problem)
    }

    fn check_leading_dimensions(&self) -> Result {
        // C is left out if its leading dimension is 0: because C is only read, that may repeat one
        // column (or row).
        let c = Some(&self.c).filter(|c| !c.is_repeated());
        [&self.a, &self.b]
            .into_iter()
            .chain(c)
            .chain([&self.d])
            .try_for_each(Matrix::check_leading_dimension)
    }

    fn check_descriptor(&self) -> Result {
        let descriptor = &self.descriptor;
        let scale = DataType::from_argument(descriptor.scale_type, "the scale type")?;
        let wanted = scale_type(self.compute, self.a.ty);
        if scale != wanted {
            return Err(Rejection::unsupported(format!(
                "the scale type is {}: with {} and A of {} it must be {}",
                scale.name(),
                self.compute.name(),
                self.a.ty.name(),
                wanted.name()
            )));
        }
        if !matches!(descriptor.pointer_mode, 0 | 1) {
            return Err(Rejection::unsupported(format!(
                "CUBLASLT_MATMUL_DESC_POINTER_MODE is {}: the emulated library supports \
                 CUBLASLT_POINTER_MODE_HOST (0) and CUBLASLT_POINTER_MODE_DEVICE (1)",
                descriptor.pointer_mode
            )));
        }
        if descriptor.transc != 0 {
            return Err(Rejection::unsupported(
                "CUBLASLT_MATMUL_DESC_TRANSC must be CUBLAS_OP_N, the only one that cuBLASLt supports",
            ));
        }
        if descriptor.fill_mode != 2 {
            let message = "CUBLASLT_MATMUL_DESC_FILL_MODE must be CUBLAS_FILL_MODE_FULL";
            return Err(Rejection::unsupported(message));
        }
        for ((_, name), value) in SCALES.iter().zip(descriptor.scales) {
            if value != 0 {
                return Err(Rejection::invalid(format!(
                    "CUBLASLT_MATMUL_DESC_{name} is set, but it is for 8-bit types, and A is {}",
                    self.a.ty.name()
                )));
            }
        }
        Ok(())
    }

    fn with_sizes(self) -> Result<Self> {
        let stored = |matrix: &Matrix, operation: MatrixOperation| {
            operation.sizes((matrix.rows, matrix.columns))
        };
        let (m, k) = stored(&self.a, self.operations.0);
        let (k_of_b, n) = stored(&self.b, self.operations.1);
        let transposed = |operation| match operation {
            MatrixOperation::None => "",
            MatrixOperation::Transpose => "ᵀ",
            MatrixOperation::ConjugateTranspose => "ᴴ",
        };
        let (ta, tb) = (transposed(self.operations.0), transposed(self.operations.1));
        if k != k_of_b {
            return Err(Rejection::invalid(format!(
                "A{ta} is {m} x {k} and B{tb} is {k_of_b} x {n}: the columns of op(A) must \
                 match the rows of op(B)"
            )));
        }
        for matrix in [&self.c, &self.d] {
            let (rows, columns) = (matrix.rows, matrix.columns);
            if (rows, columns) != (m, n) {
                return Err(Rejection::invalid(format!(
                    "{} is {rows} x {columns}, but A{ta} · B{tb} is {m} x {n}",
                    matrix.name
                )));
            }
        }
        Ok(Self { sizes: (m, n, k), ..self })
    }

    fn check_types(&self) -> Result {
        let (a, b, c, d) = (self.a.ty, self.b.ty, self.c.ty, self.d.ty);
        if a == b && c == d && self.compute.supports(a, c) {
            return Ok(());
        }
        Err(Rejection::unsupported(format!(
            "A is {}, B {}, C {} and D {}, which are not supported with {}",
            a.name(),
            b.name(),
            c.name(),
            d.name(),
            self.compute.name()
        )))
    }

    fn check_batches(&self) -> Result {
        let batch = self.d.batch;
        for matrix in [&self.a, &self.b, &self.c] {
            if matrix.batch != batch {
                return Err(Rejection::invalid(format!(
                    "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT is {} for {} and {batch} for D: they must \
                     be equal; a stride of 0 repeats a matrix",
                    matrix.batch, matrix.name
                )));
            }
        }
        let beside = if self.d.order == Order::Column { self.d.rows } else { self.d.columns };
        if batch > 1 && self.d.batch_stride.unsigned_abs() < beside {
            return Err(Rejection::invalid(format!(
                "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET of D is {}: the matrices overlap",
                self.d.batch_stride
            )));
        }
        Ok(())
    }

    /// Refuses combinations for which cuBLASLt has no algorithm.
    fn check_epilogue(&self) -> Result {
        let epilogue = self.epilogue;
        let (name, (m, n, k)) = (epilogue.name, self.sizes);
        let refuse = |why: &str| {
            Err(Rejection::unsupported(format!("CUBLASLT_EPILOGUE_{name} {why}: no algorithm")))
        };
        if epilogue.is_missing()? {
            return refuse("is disabled by EMULATED_GPU_CUBLASLT_WITHOUT");
        }
        if self.d.ty.is_complex() && !epilogue.is_default() {
            return refuse("does not support complex numbers");
        }
        if epilogue.needs_column_order() && self.d.order == Order::Row {
            return refuse("needs D in CUBLASLT_ORDER_COL, as bias and mask follow its columns");
        }
        if epilogue.reads_aux() && k == 1 {
            return refuse("does not support sums of one product, and K is 1");
        }
        // The sums run along K; cuBLASLt requires that elements with the same index along K are
        // contiguous.
        let beside = |matrix: &Matrix, operation| {
            (matrix.order == Order::Column) == (operation == MatrixOperation::None)
        };
        match epilogue.bias {
            Bias::GradientOfA if !beside(&self.a, self.operations.0) => {
                refuse("needs contiguous columns of op(A): TRANSA of CUBLAS_OP_N in column order")
            }
            Bias::GradientOfB if beside(&self.b, self.operations.1) => {
                refuse("needs contiguous rows of op(B): TRANSB of CUBLAS_OP_T in column order")
            }
            Bias::GradientOfA if m == 1 => refuse("does not support an A with one row"),
            Bias::GradientOfB if n == 1 => refuse("does not support a B with one column"),
            _ => Ok(()),
        }
    }

    /// Checks the auxiliary matrix and the type of the bias. A null pointer is only refused by the
    /// product.
    fn check_aux(&self) -> Result {
        let Self { descriptor, epilogue, .. } = self;
        let (m, n, _) = self.sizes;
        if epilogue.bias != Bias::None {
            check_type(descriptor.bias_type, self.d.ty, "CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE")?;
        }
        if !epilogue.has_aux() || descriptor.aux == 0 {
            return Ok(());
        }
        let (padding, what) = if epilogue.has_mask() {
            (MASK_PADDING, "bit mask")
        } else {
            let name = "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE";
            check_type(descriptor.aux_type, self.d.ty, name)?;
            (AUX_PADDING, "matrix")
        };
        let (ld, stride) = (descriptor.aux_ld, descriptor.aux_batch_stride);
        let rows = m.cast_signed();
        if ld < rows || ld % padding != 0 {
            let least = m.next_multiple_of(padding.unsigned_abs());
            return Err(Rejection::invalid(format!(
                "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD is {ld}: the auxiliary {what} has {m} rows, and \
                 its columns are padded to a multiple of {padding} elements: {least} or more"
            )));
        }
        let least = i128::from(ld) * i128::from(n);
        if self.d.batch > 1 && (stride % padding != 0 || i128::from(stride) < least) {
            return Err(Rejection::invalid(format!(
                "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE is {stride}: it must be a multiple \
                 of {padding}, and at least {ld} · {n} elements"
            )));
        }
        Ok(())
    }

    /// The number of elements of the bias or its gradient.
    pub(crate) fn bias_len(&self) -> u64 {
        let (m, n, _) = self.sizes;
        match self.epilogue.bias {
            Bias::None => 0,
            Bias::GradientOfB => n,
            _ => m,
        }
    }
}

/// Checks that an attribute's type equals the type of `D`, unless the attribute is unset (-1).
fn check_type(code: i32, d: DataType, name: &str) -> Result {
    if code == -1 || code == d.code() {
        return Ok(());
    }
    Err(Rejection::invalid(format!(
        "{name} is {code}: it must be {} ({}), the type of D",
        d.code(),
        d.name()
    )))
}
