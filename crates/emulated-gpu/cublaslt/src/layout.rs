//! `cublasLtMatrixLayout_t`: the memory layout of a matrix.

use std::ffi::c_int;

use emulated_blas::{DataType, Matrix, Order, Rejection, Result};

use crate::attribute::{export_structure, opaque};

opaque! {
    /// The structure of a layout. The defaults are those of `cublasLtMatrixLayoutAttribute_t` in
    /// NVIDIA's header.
    Layout: "matrix layout", "CUBLASLT_MATRIX_LAYOUT_…", b"LtLa", 64;
    /// The layout of a single column-major matrix.
    new(ty: i32, rows: u64, columns: u64, ld: i64);
    others: |_, _| None;
    pub(crate) ty: i32 = ty, 0;
    pub(crate) order: i32 = 0, 1;
    pub(crate) batch: i32 = 1, 5;
    pub(crate) rows: i64 = rows as i64, 2;
    pub(crate) columns: i64 = columns as i64, 3;
    pub(crate) ld: i64 = ld, 4;
    pub(crate) batch_stride: i64 = 0, 6;
    pub(crate) plane_offset: i64 = 0, 7;
}

impl Layout {
    /// Describes the matrix that has this layout at an address. `names` are the names of the matrix
    /// and of its leading dimension in messages.
    pub(crate) fn matrix(
        &self,
        address: u64,
        names: (&'static str, &'static str),
    ) -> Result<Matrix> {
        let (name, ld_name) = names;
        let size = |value: i64, what: &str| -> Result<u64> {
            if (1..=i64::from(i32::MAX)).contains(&value) {
                return Ok(value.unsigned_abs());
            }
            Err(Rejection::invalid(format!(
                "{name} has {value} {what}: it must be from 1 to 2147483647"
            )))
        };
        let order = match self.order {
            0 => Order::Column,
            1 => Order::Row,
            order => {
                return Err(Rejection::unsupported(format!(
                    "{name} has CUBLASLT_MATRIX_LAYOUT_ORDER {order}: the emulated library supports \
                     CUBLASLT_ORDER_COL (0) and CUBLASLT_ORDER_ROW (1)"
                )));
            }
        };
        if self.plane_offset != 0 {
            return Err(Rejection::unsupported(format!(
                "{name} has a CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET: the emulated library only supports \
                 interleaved complex numbers"
            )));
        }
        if self.batch < 1 {
            return Err(Rejection::invalid(format!(
                "{name} has CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT {}: it must be at least 1",
                self.batch
            )));
        }
        let matrix = Matrix {
            name,
            ld_name,
            address,
            ty: DataType::from_argument(self.ty, &format!("the type of {name}"))?,
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
