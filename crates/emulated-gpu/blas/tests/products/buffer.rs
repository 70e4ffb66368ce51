//! Matrices in memory.

use emulated_blas::{DataType, Matrix, MatrixOperation, Number, Order, View, load, store};

/// Test values, positive and negative, which have no exact binary representation.
pub(crate) fn value(index: usize) -> f64 {
    (((index * 7919 + 13) % 2003) as f64 / 1001.0 - 1.0) * 1.7
}

/// Memory for one element of the largest type, aligned to 16 bytes.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Element(#[expect(dead_code, reason = "accessed by its address")] [u8; 16]);

/// Memory for a matrix, and the matrix's description.
pub(crate) struct Buffer {
    elements: Vec<Element>,
    pub(crate) matrix: Matrix,
}

impl Buffer {
    /// A matrix with gaps of `pad` elements between its columns or rows. Its elements, in memory order, are
    /// `element(index)`, rounded to its type.
    pub(crate) fn new<T: Number>(
        ty: DataType,
        (rows, columns): (usize, usize),
        pad: usize,
        order: Order,
        element: impl Fn(usize) -> T,
    ) -> Self {
        let (length, lines) =
            if order == Order::Column { (rows, columns) } else { (columns, rows) };
        let ld = length.max(1) + pad;
        let count = ld * lines.max(1);
        let mut elements = vec![Element([0; 16]); count];
        let address = elements.as_mut_ptr() as u64;
        for index in 0..count {
            // SAFETY: there is space for `count` elements of up to 16 bytes.
            unsafe { store(address, ty, index as isize, element(index)) };
        }
        let matrix = Matrix {
            name: "A",
            ld_name: "lda",
            address,
            ty,
            rows: rows as u64,
            columns: columns as u64,
            ld: ld as i64,
            order,
            batch: 1,
            batch_stride: 0,
        };
        Self { elements, matrix }
    }

    /// The element with this index in memory.
    pub(crate) fn element<T: Number>(&self, index: usize) -> T {
        assert!(index < self.elements.len());
        // SAFETY: the index was just checked.
        unsafe { load(self.matrix.address, self.matrix.ty, index as isize) }
    }

    pub(crate) fn get<T: Number>(&self, row: usize, column: usize) -> T {
        let (row_stride, column_stride) = self.matrix.strides();
        self.element((row as isize * row_stride + column as isize * column_stride) as usize)
    }

    pub(crate) fn view(&self, operation: MatrixOperation) -> View {
        View::of_matrix(&self.matrix, operation, 0)
    }
}
