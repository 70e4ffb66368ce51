//! Square matrices of which only one triangle is stored: symmetric, Hermitian and triangular ones.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use gemm::{c32, c64};

use crate::{Access, DataType, MatrixOperation, Number, Result, View, filled};

/// The relation between the stored triangle and the triangle that isn't stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Symmetric: the matrix is its own transpose.
    Symmetric,
    /// Hermitian: the matrix is its own conjugate transpose; imaginary parts on the diagonal are
    /// treated as 0.
    Hermitian,
    /// Triangular: the triangle that isn't stored is 0.
    Triangular {
        /// Whether the diagonal is treated as 1, whatever value is stored there.
        has_unit_diagonal: bool,
    },
}

/// A square matrix of which only one triangle is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// The memory of the whole matrix.
    pub view: View,
    /// The number of rows and of columns.
    pub order: usize,
    /// Whether the lower triangle is stored.
    pub is_lower: bool,
    /// The rule by which the other triangle follows from the stored one.
    pub structure: Structure,
}

/// A matrix in host memory, stored column by column without gaps.
#[derive(Debug)]
pub struct Dense {
    /// Owns the memory at `address`.
    _elements: Vec<u128>,
    address: u64,
    ty: DataType,
    rows: usize,
}

impl Triangle {
    /// The rows of a column that are stored.
    fn stored_rows(&self, column: usize) -> std::ops::Range<usize> {
        if self.is_lower { column..self.order } else { 0..column + 1 }
    }

    /// The memory that is read: the stored part of every column.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + use<'_> {
        (0..self.order).map(|column| {
            let rows = self.stored_rows(column);
            let address = self.view.from(rows.start, column).address;
            Access::read_bytes(address, rows.len() as u64 * self.view.ty.size())
        })
    }

    /// Expands the matrix to one in which all elements are stored.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// The stored triangle must be readable.
    pub unsafe fn expanded(&self) -> Result<Dense> {
        let dense = Dense::new(self.view.ty, self.order, self.order)?;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.view.ty {
                DataType::F64 => self.expand::<f64>(dense.view()),
                DataType::C32 => self.expand::<c32>(dense.view()),
                DataType::C64 => self.expand::<c64>(dense.view()),
                DataType::F16 | DataType::Bf16 | DataType::F32 => self.expand::<f32>(dense.view()),
            }
        }
        Ok(dense)
    }

    /// # Safety
    /// The stored triangle must be readable, and all of `target` writable.
    unsafe fn expand<T: Number>(&self, target: View) {
        for (column, row) in
            (0..self.order).flat_map(|column| (0..self.order).map(move |row| (column, row)))
        {
            let is_stored = self.stored_rows(column).contains(&row);
            // SAFETY: of two mirrored elements, only the stored one is read, which is readable, as
            // the caller promises.
            let get = |row, column| unsafe { self.view.get::<T>(row, column) };
            let value = match self.structure {
                Structure::Triangular { has_unit_diagonal: true } if row == column => {
                    T::from_f32(1.0)
                }
                Structure::Triangular { .. } if !is_stored => T::default(),
                Structure::Hermitian if row == column => T::from_f64(get(row, column).parts().0),
                Structure::Hermitian if !is_stored => get(column, row).conjugate(),
                Structure::Symmetric if !is_stored => get(column, row),
                _ => get(row, column),
            };
            // SAFETY: guaranteed by the caller.
            unsafe { target.set(row, column, value) };
        }
    }
}

impl Dense {
    fn new(ty: DataType, rows: usize, columns: usize) -> Result<Self> {
        let bytes = rows.saturating_mul(columns).saturating_mul(ty.size() as usize);
        let mut elements = filled(0, bytes.div_ceil(size_of::<u128>()))?;
        let address = elements.as_mut_ptr() as u64;
        Ok(Self { _elements: elements, address, ty, rows })
    }

    /// Copies a matrix.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    ///
    /// # Safety
    /// The elements must be readable.
    pub unsafe fn copy_of(source: View, rows: usize, columns: usize) -> Result<Self> {
        let dense = Self::new(source.ty, rows, columns)?;
        for (column, row) in (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row)))
        {
            // SAFETY: the elements are readable, as the caller promises. A `c64` can represent
            // elements of every type exactly.
            unsafe { dense.view().set(row, column, source.get::<c64>(row, column)) };
        }
        Ok(dense)
    }

    /// The matrix's memory, which is valid as long as `self` lives.
    #[must_use]
    pub fn view(&self) -> View {
        View::new(self.address, self.ty, (1, self.rows as isize))
    }

    /// The matrix with an operation applied.
    #[must_use]
    pub fn with_operation(&self, operation: MatrixOperation) -> View {
        self.view().with_operation(operation)
    }
}
