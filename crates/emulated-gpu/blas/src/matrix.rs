//! The descriptions of matrices that callers pass: rows, columns, leading dimension, order and
//! batch.

use c_abi::c_enum;

use crate::reject_if;
use crate::{Access, DataType, Rejection, Result};

c_enum! {
    /// The operation that is applied to a matrix before a product (`cublasOperation_t`).
    pub enum MatrixOperation: str {
        /// As stored.
        None 0 "CUBLAS_OP_N";
        /// Transposed.
        Transpose 1 "CUBLAS_OP_T";
        /// The transposed matrix, with the complex conjugate of every element.
        ConjugateTranspose 2 "CUBLAS_OP_C";
    }
}

impl MatrixOperation {
    /// The operation with this number, which is the argument `name`.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the number is not an operation.
    pub fn from_argument(code: i32, name: &str) -> Result<Self> {
        Self::from_code(code).ok_or_else(|| {
            Rejection::invalid(format!(
                "{name} is {code}: it must be CUBLAS_OP_N (0), CUBLAS_OP_T (1) or CUBLAS_OP_C (2)"
            ))
        })
    }

    /// The operation's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// Swaps rows and columns if the operation transposes.
    #[must_use]
    pub fn sizes<T>(self, (rows, columns): (T, T)) -> (T, T) {
        match self {
            Self::None => (rows, columns),
            Self::Transpose | Self::ConjugateTranspose => (columns, rows),
        }
    }
}

/// The order of a matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Column-major: the elements of a column are contiguous.
    Column,
    /// Row-major: the elements of a row are contiguous.
    Row,
}

/// A matrix, or a batch of matrices, in device memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The matrix's name in messages.
    pub name: &'static str,
    /// The name of the argument with the leading dimension, in messages.
    pub ld_name: &'static str,
    /// The address of the first element.
    pub address: u64,
    /// The element type.
    pub ty: DataType,
    /// The number of rows of the stored matrix, before any operation.
    pub rows: u64,
    /// The number of columns of the stored matrix, before any operation.
    pub columns: u64,
    /// The distance in elements between adjacent columns (or rows, if row-major).
    pub ld: i64,
    /// Whether columns or rows are contiguous.
    pub order: Order,
    /// The number of matrices in the batch.
    pub batch: u64,
    /// The distance in elements between adjacent matrices of the batch.
    pub batch_stride: i64,
}

impl Matrix {
    /// The number of rows and columns of the column-major matrix with the same memory layout.
    fn column_order(&self) -> (u64, u64) {
        match self.order {
            Order::Column => (self.rows, self.columns),
            Order::Row => (self.columns, self.rows),
        }
    }

    /// The distance in elements between adjacent rows, and between adjacent columns.
    #[must_use]
    pub fn strides(&self) -> (isize, isize) {
        match self.order {
            Order::Column => (1, self.ld as isize),
            Order::Row => (self.ld as isize, 1),
        }
    }

    /// Whether the leading dimension is 0, so that all columns (or rows, if row-major) share the
    /// same memory.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.ld == 0
    }

    /// Checks that the leading dimension keeps columns (or rows) from overlapping.
    ///
    /// # Errors
    /// `INVALID_VALUE` if they overlap.
    pub fn check_leading_dimension(&self) -> Result {
        let (beside, _) = self.column_order();
        let least = beside.max(1);
        if self.ld >= 0 && self.ld as u64 >= least {
            return Ok(());
        }
        let (name, ld_name, rows, columns, ld) =
            (self.name, self.ld_name, self.rows, self.columns, self.ld);
        let (what, order) = match self.order {
            Order::Column => ("rows", "column"),
            Order::Row => ("columns", "row"),
        };
        Err(Rejection::invalid(format!(
            "{ld_name} is {ld}: {name} is stored as {rows} x {columns} in {order}-major order, \
             so it must be at least its number of {what}, {least}"
        )))
    }

    /// The number of elements in memory from the first to the last element of a matrix, inclusive;
    /// 0 if it is empty. `None` if it overflows.
    fn length(&self) -> Option<u64> {
        let (beside, apart) = self.column_order();
        if beside == 0 || apart == 0 {
            return Some(0);
        }
        u64::try_from(self.ld).ok()?.checked_mul(apart - 1)?.checked_add(beside)
    }

    /// The address of the first byte of the whole batch, and its length in bytes, including gaps.
    /// `None` if they overflow.
    pub(crate) fn byte_range(&self) -> Option<(u64, u64)> {
        let steps = self.batch.saturating_sub(1);
        let length = self.length()?;
        if length == 0 || self.batch == 0 {
            return Some((self.address, 0));
        }
        let size = self.ty.size();
        let reach = self.batch_stride.unsigned_abs().checked_mul(steps)?;
        let before = if self.batch_stride < 0 { reach } else { 0 };
        let first = self.address.checked_sub(before.checked_mul(size)?)?;
        Some((first, reach.checked_add(length)?.checked_mul(size)?))
    }

    /// The ranges of memory that the batch occupies; `access` is [`Access::read`] or
    /// [`Access::write`].
    pub fn accesses(
        &self,
        access: fn(u64, u64, u64, u64) -> Access,
    ) -> impl Iterator<Item = Access> + use<'_> {
        let (beside, apart) = self.column_order();
        let apart = if self.is_repeated() { apart.min(1) } else { apart };
        let size = self.ty.size();
        // A batch stride of 0 repeats the same matrix.
        let batch = if self.batch_stride == 0 { self.batch.min(1) } else { self.batch };
        let column = self.ld.unsigned_abs().wrapping_mul(size);
        let matrix = self.batch_stride.unsigned_abs().wrapping_mul(size);
        // With a negative stride, the last matrix has the lowest address.
        let back = if self.batch_stride < 0 { batch.saturating_sub(1) } else { 0 };
        let first = self.address.wrapping_sub(back.wrapping_mul(matrix));
        Access::batch_ranges(access, (first, beside * size), (apart, column), (batch, matrix))
    }

    /// Checks the address of a matrix, unless it is empty.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the address is null or not a multiple of the element size.
    pub fn check_address(&self) -> Result {
        let (name, address, size) = (self.name, self.address, self.ty.size());
        if self.length() == Some(0) || self.batch == 0 {
            return Ok(());
        }
        reject_if!(address == 0, invalid, "{name} is a null pointer");
        if !address.is_multiple_of(size) {
            return Err(Rejection::invalid(format!(
                "{name} is at {address:#x}, which is not a multiple of {size}, the size of a {}",
                self.ty.name()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    fn matrix() -> Matrix {
        Matrix {
            name: "A",
            ld_name: "lda",
            address: 4096,
            ty: DataType::F32,
            rows: 3,
            columns: 2,
            ld: 5,
            order: Order::Column,
            batch: 1,
            batch_stride: 0,
        }
    }

    #[test]
    fn a_span_ends_with_the_last_element() {
        assert_eq!(matrix().byte_range(), Some((4096, (5 + 3) * 4)));
        let rows = Matrix { order: Order::Row, ..matrix() };
        assert_eq!(rows.byte_range(), Some((4096, (2 * 5 + 2) * 4)));
        let batch = Matrix { batch: 4, batch_stride: 10, ..matrix() };
        assert_eq!(batch.byte_range(), Some((4096, (3 * 10 + 8) * 4)));
        let backwards = Matrix { batch: 2, batch_stride: -10, ..matrix() };
        assert_eq!(backwards.byte_range(), Some((4096 - 40, (10 + 8) * 4)));
        assert_eq!(Matrix { columns: 0, ..matrix() }.byte_range(), Some((4096, 0)));
        assert_eq!(Matrix { columns: u64::MAX, ..matrix() }.byte_range(), None);
    }

    #[test]
    fn batches_with_few_columns_are_declared_by_column() {
        let list = |matrix: Matrix| {
            let all = matrix.accesses(Access::read);
            all.map(|one| (one.address, one.width, one.height, one.pitch)).collect::<Vec<_>>()
        };
        assert_eq!(list(matrix()), [(4096, 12, 2, 20)]);
        let two = Matrix { batch: 2, batch_stride: 100, ..matrix() };
        assert_eq!(list(two), [(4096, 12, 2, 20), (4496, 12, 2, 20)]);
        let many = Matrix { batch: 100_000_000, batch_stride: 100, ..matrix() };
        let expected = [(4096, 12, 100_000_000, 400), (4116, 12, 100_000_000, 400)];
        assert_eq!(list(many.clone()), expected);
        let column = Matrix { ld: 0, ..many.clone() };
        assert_eq!(list(column), [(4096, 12, 100_000_000, 400)]);
        assert_eq!(list(Matrix { ld: 0, ..matrix() }), [(4096, 12, 1, 0)]);
        let same = Matrix { batch_stride: 0, ..many.clone() };
        assert_eq!(list(same), [(4096, 12, 2, 20)]);
        let backwards = Matrix { batch: 3, batch_stride: -100, ..matrix() };
        assert_eq!(list(backwards), [(3296, 12, 3, 400), (3316, 12, 3, 400)]);
        assert_eq!(list(Matrix { batch: 0, ..many }), []);
    }

    #[test]
    fn leading_dimensions_that_overlap_columns_are_refused() {
        assert_eq!(matrix().check_leading_dimension(), Ok(()));
        let refused = Matrix { ld: 2, ..matrix() }.check_leading_dimension().unwrap_err();
        assert_eq!(refused.status, Status::InvalidValue);
        assert!(refused.message.contains("lda is 2"), "{refused}");
        assert!(refused.message.contains("at least its number of rows, 3"), "{refused}");
        let row = Matrix { ld: 2, order: Order::Row, ..matrix() };
        assert_eq!(row.check_leading_dimension(), Ok(()));
        assert!(Matrix { ld: -5, ..matrix() }.check_leading_dimension().is_err());
        assert!(Matrix { ld: 0, rows: 0, ..matrix() }.check_leading_dimension().is_err());
    }

    #[test]
    fn null_and_misaligned_addresses_are_refused() {
        assert_eq!(matrix().check_address(), Ok(()));
        let null = Matrix { address: 0, ..matrix() }.check_address().unwrap_err();
        assert!(null.message.contains("A is a null pointer"), "{null}");
        let odd = Matrix { address: 4098, ..matrix() }.check_address().unwrap_err();
        assert!(odd.message.contains("not a multiple of 4"), "{odd}");
        assert_eq!(Matrix { address: 0, rows: 0, ..matrix() }.check_address(), Ok(()));
    }
}
