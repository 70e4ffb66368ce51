//! A matrix in memory, as a product reads or writes it.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use crate::{DataType, Matrix, Number, Operation, Order, load, store};

/// A matrix in memory, as a product reads or writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Its first element.
    pub address: u64,
    /// The type of its elements.
    pub ty: DataType,
    /// Elements from a row to the next.
    pub row: isize,
    /// Elements from a column to the next.
    pub column: isize,
    /// Whether each of its complex elements is read with the sign of its imaginary part turned.
    pub is_conjugated: bool,
}

impl View {
    /// Elements as they lie in memory, this many apart from a row, and from a column, to the next.
    #[must_use]
    pub fn new(address: u64, ty: DataType, (row, column): (isize, isize)) -> Self {
        Self { address, ty, row, column, is_conjugated: false }
    }

    /// The matrix of that number in a batch, transposed or not.
    #[must_use]
    pub fn of(matrix: &Matrix, operation: Operation, index: u64) -> Self {
        let offset = (index as i64).wrapping_mul(matrix.batch_stride);
        let bytes = offset.wrapping_mul(matrix.ty.size() as i64);
        let address = matrix.address.wrapping_add_signed(bytes);
        Self::new(address, matrix.ty, matrix.strides()).under(operation)
    }

    /// The same as an operation has it.
    #[must_use]
    pub fn under(self, operation: Operation) -> Self {
        let (row, column) = operation.sizes((self.row, self.column));
        let turns = operation == Operation::ConjugateTranspose && self.ty.is_complex();
        Self { row, column, is_conjugated: self.is_conjugated != turns, ..self }
    }

    /// The same elements, rows for columns.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// The same from a row and a column on.
    pub(crate) fn from(self, row: usize, column: usize) -> Self {
        let elements = row as isize * self.row + column as isize * self.column;
        let bytes = elements as i64 * self.ty.size() as i64;
        Self { address: self.address.wrapping_add_signed(bytes), ..self }
    }

    /// Whether all its lines can be loaded 16 bytes at a time, as tensor cores are fed.
    pub(crate) fn suits_tensor_cores(self) -> bool {
        const WIDTH: u64 = 16;
        let step = self.row.unsigned_abs().max(self.column.unsigned_abs()) as u64 * self.ty.size();
        self.address.is_multiple_of(WIDTH) && step.is_multiple_of(WIDTH)
    }

    /// Which of its elements lie beside each other.
    pub(crate) fn order(self) -> Order {
        if self.row.abs() <= self.column.abs() { Order::Column } else { Order::Row }
    }

    /// The element of a row and a column.
    ///
    /// # Safety
    /// It has to be readable.
    #[must_use]
    pub unsafe fn get<T: Number>(self, row: usize, column: usize) -> T {
        let index = row as isize * self.row + column as isize * self.column;
        // SAFETY: the caller's promise.
        let element: T = unsafe { load(self.address, self.ty, index) };
        if self.is_conjugated { element.conjugate() } else { element }
    }

    /// Sets the element of a row and a column, rounded to its type.
    ///
    /// # Safety
    /// It has to be writable, by nobody else meanwhile.
    pub unsafe fn set<T: Number>(self, row: usize, column: usize, value: T) {
        let index = row as isize * self.row + column as isize * self.column;
        // SAFETY: the caller's promise.
        unsafe { store(self.address, self.ty, index, value) }
    }
}
