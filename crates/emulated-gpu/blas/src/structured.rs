//! Square matrices of which one triangle is stored.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use gemm::{c32, c64};

use crate::{Access, DataType, Number, Operation, Rejection, View, filled};

/// What is known of a matrix of which one triangle is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// It is its own transpose.
    Symmetric,
    /// It is its own transpose with every element conjugated; the imaginary parts on the diagonal are taken for
    /// 0, whatever is stored.
    Hermitian,
    /// The other triangle is 0.
    Triangular {
        /// Whether the diagonal is 1, whatever is stored.
        has_unit_diagonal: bool,
    },
}

/// A square matrix of which one triangle is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Where it is stored, as if all of it were.
    pub view: View,
    /// Its rows, and its columns.
    pub order: usize,
    /// Whether the stored triangle is the lower one.
    pub is_lower: bool,
    /// What the other one is.
    pub structure: Structure,
}

/// A matrix in the host's memory, in column order without gaps.
#[derive(Debug)]
pub struct Dense {
    /// Kept for as long as its address is used.
    _elements: Vec<u128>,
    address: u64,
    ty: DataType,
    rows: usize,
}

impl Triangle {
    /// Which rows of a column are stored.
    fn stored(&self, column: usize) -> std::ops::Range<usize> {
        if self.is_lower { column..self.order } else { 0..column + 1 }
    }

    /// What is read of it: of every column what is stored of it.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + use<'_> {
        (0..self.order).map(|column| {
            let rows = self.stored(column);
            let address = self.view.from(rows.start, column).address;
            Access::read_bytes(address, rows.len() as u64 * self.view.ty.size())
        })
    }

    /// All of it.
    ///
    /// # Errors
    /// When the host has not the room.
    ///
    /// # Safety
    /// What is stored has to be readable.
    pub unsafe fn expanded(&self) -> Result<Dense, Rejection> {
        let dense = Dense::new(self.view.ty, self.order, self.order)?;
        // SAFETY: the caller's promise.
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
    /// What is stored has to be readable, and all of `target` be writable.
    unsafe fn expand<T: Number>(&self, target: View) {
        for (column, row) in
            (0..self.order).flat_map(|column| (0..self.order).map(move |row| (column, row)))
        {
            let is_stored = self.stored(column).contains(&row);
            // SAFETY: the caller's promise: of two mirrored elements one is stored.
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
            // SAFETY: as the caller promises.
            unsafe { target.set(row, column, value) };
        }
    }
}

impl Dense {
    fn new(ty: DataType, rows: usize, columns: usize) -> Result<Self, Rejection> {
        let bytes = rows.saturating_mul(columns).saturating_mul(ty.size() as usize);
        let mut elements = filled(0, bytes.div_ceil(size_of::<u128>()))?;
        let address = elements.as_mut_ptr() as u64;
        Ok(Self { _elements: elements, address, ty, rows })
    }

    /// A copy of a matrix.
    ///
    /// # Errors
    /// When the host has not the room.
    ///
    /// # Safety
    /// Its elements have to be readable.
    pub unsafe fn copy_of(source: View, rows: usize, columns: usize) -> Result<Self, Rejection> {
        let dense = Self::new(source.ty, rows, columns)?;
        for (column, row) in (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row)))
        {
            // SAFETY: the caller's promise; a pair of doubles holds every type's elements exactly.
            unsafe { dense.view().set(row, column, source.get::<c64>(row, column)) };
        }
        Ok(dense)
    }

    /// Where it lies, for as long as it lives.
    #[must_use]
    pub fn view(&self) -> View {
        View::new(self.address, self.ty, (1, self.rows as isize))
    }

    /// The same as an operation has it.
    #[must_use]
    pub fn under(&self, operation: Operation) -> View {
        self.view().under(operation)
    }
}
