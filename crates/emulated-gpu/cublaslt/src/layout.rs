//! `cublasLtMatrixLayout_t`: how a matrix lies in memory.

use std::ffi::c_int;

use emulated_blas::{DataType, Matrix, Order, Rejection};

use crate::attribute::{Field, Opaque, export_structure};

/// A layout. The defaults are those of NVIDIA's `cublasLtMatrixLayoutAttribute_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Layout {
    mark: u32,
    pub(crate) ty: i32,
    pub(crate) order: i32,
    pub(crate) batch: i32,
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    pub(crate) ld: i64,
    pub(crate) batch_stride: i64,
    pub(crate) plane_offset: i64,
}

// SAFETY: the mark is the first of its fields, which are all numbers.
unsafe impl Opaque for Layout {
    const WHAT: &'static str = "matrix layout";
    const PREFIX: &'static str = "CUBLASLT_MATRIX_LAYOUT_…";
    const MARK: u32 = u32::from_be_bytes(*b"LtLa");
    const SIZE: usize = 64;

    fn field(&mut self, attribute: c_int) -> Option<Field<'_>> {
        Some(match attribute {
            0 => Field::I32(&mut self.ty),
            1 => Field::I32(&mut self.order),
            2 => Field::I64(&mut self.rows),
            3 => Field::I64(&mut self.columns),
            4 => Field::I64(&mut self.ld),
            5 => Field::I32(&mut self.batch),
            6 => Field::I64(&mut self.batch_stride),
            7 => Field::I64(&mut self.plane_offset),
            _ => return None,
        })
    }
}

impl Layout {
    /// Column order, one matrix.
    pub(crate) fn new(ty: i32, rows: u64, columns: u64, ld: i64) -> Self {
        Self {
            mark: Self::MARK,
            ty,
            order: 0,
            batch: 1,
            rows: rows as i64,
            columns: columns as i64,
            ld,
            batch_stride: 0,
            plane_offset: 0,
        }
    }

    /// The layout as a matrix at an address; `names` are those of the matrix and of its leading
    /// dimension in messages.
    pub(crate) fn matrix(
        &self,
        address: u64,
        names: (&'static str, &'static str),
    ) -> Result<Matrix, Rejection> {
        let (name, ld_name) = names;
        let size = |value: i64, what: &str| -> Result<u64, Rejection> {
            if (1..=i64::from(i32::MAX)).contains(&value) {
                return Ok(value.unsigned_abs());
            }
            Err(Rejection::invalid(format!(
                "{name} has {value} {what}: it has to be from 1 to 2147483647"
            )))
        };
        let order = match self.order {
            0 => Order::Column,
            1 => Order::Row,
            order => {
                return Err(Rejection::unsupported(format!(
                    "{name} has CUBLASLT_MATRIX_LAYOUT_ORDER {order}: the emulated library has \
                     CUBLASLT_ORDER_COL (0) and CUBLASLT_ORDER_ROW (1)"
                )));
            }
        };
        if self.plane_offset != 0 {
            return Err(Rejection::unsupported(format!(
                "{name} has a CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET: the parts of complex numbers lie beside \
                 each other here"
            )));
        }
        if self.batch < 1 {
            return Err(Rejection::invalid(format!(
                "{name} has CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT {}: it has to be at least 1",
                self.batch
            )));
        }
        let matrix = Matrix {
            name,
            ld_name,
            address,
            ty: DataType::from_code(self.ty, &format!("the type of {name}"))?,
            rows: size(self.rows, "rows")?,
            columns: size(self.columns, "columns")?,
            ld: self.ld,
            order,
            batch: u64::from(self.batch.unsigned_abs()),
            batch_stride: self.batch_stride,
        };
        Ok(matrix)
    }
}

export_structure! {
    Layout, "matLayout", new(ty: c_int, rows: u64, columns: u64, ld: i64);
    cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutInit_internal, cublasLtMatrixLayoutDestroy,
    cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutGetAttribute
}
