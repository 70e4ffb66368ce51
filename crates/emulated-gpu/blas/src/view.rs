//! The memory layout of a matrix that a product reads or writes.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use crate::number::{as_words, as_words_mut};
use crate::words::{read_words, write_words};
use crate::{DataType, Matrix, MatrixOperation, Number, Order, load, store};

/// The length of the chunks in which a matrix without gaps is copied.
const CHUNK: usize = 1 << 14;

/// The memory layout of a matrix that a product reads or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The address of the first element.
    pub address: u64,
    /// The element type.
    pub ty: DataType,
    /// The distance in elements between adjacent rows.
    pub row: isize,
    /// The distance in elements between adjacent columns.
    pub column: isize,
    /// Whether complex elements are conjugated when they are read.
    pub is_conjugated: bool,
}

impl View {
    /// A matrix with these distances in elements between adjacent rows and columns.
    #[must_use]
    pub fn new(address: u64, ty: DataType, (row, column): (isize, isize)) -> Self {
        Self { address, ty, row, column, is_conjugated: false }
    }

    /// The view of matrix `index` of a batch, with an operation applied.
    #[must_use]
    pub fn of_matrix(matrix: &Matrix, operation: MatrixOperation, index: u64) -> Self {
        let offset = (index as i64).wrapping_mul(matrix.batch_stride);
        let bytes = offset.wrapping_mul(matrix.ty.size() as i64);
        let address = matrix.address.wrapping_add_signed(bytes);
        Self::new(address, matrix.ty, matrix.strides()).with_operation(operation)
    }

    /// The view with an operation applied.
    #[must_use]
    pub fn with_operation(self, operation: MatrixOperation) -> Self {
        let (row, column) = operation.sizes((self.row, self.column));
        let turns = operation == MatrixOperation::ConjugateTranspose && self.ty.is_complex();
        Self { row, column, is_conjugated: self.is_conjugated != turns, ..self }
    }

    /// The transposed view.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// The view of the part of the matrix from this row and column on.
    pub(crate) fn from(self, row: usize, column: usize) -> Self {
        // The multiplication wraps, because bounds aren't checked for an operand that is never
        // read.
        let rows = (row as i64).wrapping_mul(self.row as i64);
        let columns = (column as i64).wrapping_mul(self.column as i64);
        let bytes = rows.wrapping_add(columns).wrapping_mul(self.ty.size() as i64);
        Self { address: self.address.wrapping_add_signed(bytes), ..self }
    }

    /// Whether all lines can be loaded 16 bytes at a time, as tensor cores require.
    pub(crate) fn suits_tensor_cores(self) -> bool {
        const WIDTH: u64 = 16;
        let step = self.row.unsigned_abs().max(self.column.unsigned_abs()) as u64;
        // The multiplication wraps, because bounds aren't checked for an operand that is never
        // read. If the product overflows, its lower 64 bits are a multiple of 16 exactly if the
        // whole product is.
        let step = step.wrapping_mul(self.ty.size());
        self.address.is_multiple_of(WIDTH) && step.is_multiple_of(WIDTH)
    }

    /// The order in memory: whether neighbouring elements of a column or of a row are closer
    /// together.
    pub(crate) fn order(self) -> Order {
        if self.row.abs() <= self.column.abs() { Order::Column } else { Order::Row }
    }

    /// Reads an element.
    ///
    /// # Safety
    /// The element must be readable.
    #[must_use]
    pub unsafe fn get<T: Number>(self, row: usize, column: usize) -> T {
        let index = row as isize * self.row + column as isize * self.column;
        // SAFETY: guaranteed by the caller.
        let element: T = unsafe { load(self.address, self.ty, index) };
        if self.is_conjugated { element.conjugate() } else { element }
    }

    /// If the view's columns, of `rows` elements each, follow each other without gaps, divides the
    /// elements into columns of [`CHUNK`] elements instead. Returns the new view (unchanged if
    /// there are gaps) and the length of its columns.
    pub(crate) fn without_gaps(self, rows: usize) -> (Self, usize) {
        if self.row == 1 && self.column == rows as isize {
            return (Self { column: CHUNK as isize, ..self }, CHUNK);
        }
        (self, rows)
    }

    /// Copies the beginning of a column: as many elements as `into` has.
    ///
    /// # Safety
    /// These elements must be readable.
    pub(crate) unsafe fn read_column<T: Number>(self, column: usize, into: &mut [T]) {
        if self.ty == T::TYPE && self.row == 1 && !self.is_conjugated {
            let at = self.from(0, column).address as *const u8;
            // SAFETY: the elements are readable, as the caller promises, and contiguous.
            return unsafe { read_words(at, as_words_mut(into)) };
        }
        for (row, value) in into.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *value = unsafe { self.get(row, column) };
        }
    }

    /// Writes the beginning of a column, rounded to the element type.
    ///
    /// # Safety
    /// These elements must be writable.
    pub(crate) unsafe fn write_column<T: Number>(self, column: usize, values: &[T]) {
        if self.ty == T::TYPE && self.row == 1 {
            let at = self.from(0, column).address as *mut u8;
            // SAFETY: the elements are writable, as the caller promises, and contiguous.
            return unsafe { write_words(at, as_words(values)) };
        }
        for (row, &value) in values.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.set(row, column, value) };
        }
    }

    /// Writes an element, rounded to the element type.
    ///
    /// # Safety
    /// The element must be writable.
    pub unsafe fn set<T: Number>(self, row: usize, column: usize, value: T) {
        let index = row as isize * self.row + column as isize * self.column;
        // SAFETY: guaranteed by the caller.
        unsafe { store(self.address, self.ty, index, value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under Miri or ThreadSanitizer, this fails if an element is read or written by a plain
    /// access.
    #[test]
    fn columns_may_be_accessed_while_a_kernel_accesses_them() {
        let mut memory = [0_u64; 8];
        let address = memory.as_mut_ptr() as u64;
        let view = |ty| View::new(address, ty, (1, 4));
        let strided = |ty| View::new(address, ty, (2, 1));
        std::thread::scope(|threads| {
            let kernel = threads.spawn(|| {
                for round in 0..20 {
                    let values = [f64::from(round); 4];
                    // SAFETY: the four numbers of 8 bytes are inside the array.
                    unsafe { view(DataType::F64).write_column(0, &values) };
                }
            });
            for _ in 0..20 {
                let (mut whole, mut every_other) = ([0.0_f64; 4], [0.0_f64; 2]);
                // SAFETY: as above; the strided view reads the first and the third number.
                unsafe {
                    view(DataType::F64).read_column(0, &mut whole);
                    strided(DataType::F64).read_column(0, &mut every_other);
                }
                let all = whole.iter().chain(&every_other);
                assert!(
                    all.clone().all(|x| x.fract() == 0.0 && (0.0..20.0).contains(x)),
                    "{whole:?}"
                );
            }
            kernel.join().unwrap();
        });
        assert_eq!(memory[..5], [19.0, 19.0, 19.0, 19.0, 0.0].map(f64::to_bits));
    }
}
