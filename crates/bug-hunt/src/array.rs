//! Matrices of `f32` with NumPy's broadcasting.

/// A matrix, row-major. A vector is a matrix of one row, and a number has one row and one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) data: Vec<f32>,
}

impl Array {
    pub(crate) fn number(value: f32) -> Self {
        Self { rows: 1, columns: 1, data: vec![value] }
    }

    /// The matrix `[rows, columns]` whose element in row `i` and column `j` is `at(i, j)`.
    fn from_fn(rows: usize, columns: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let data = (0..rows * columns).map(|i| at(i / columns, i % columns)).collect();
        Self { rows, columns, data }
    }

    /// The element in this row and column. An axis of length 1 is broadcast: its only index serves
    /// for all.
    fn at(&self, row: usize, column: usize) -> f32 {
        let row = if self.rows == 1 { 0 } else { row };
        let column = if self.columns == 1 { 0 } else { column };
        self.data[row * self.columns + column]
    }

    pub(crate) fn shape(&self) -> String {
        format!("[{}, {}]", self.rows, self.columns)
    }

    pub(crate) fn map(&self, f: impl Fn(f32) -> f32) -> Self {
        Self { data: self.data.iter().map(|&value| f(value)).collect(), ..*self }
    }

    pub(crate) fn transposed(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self.at(j, i))
    }

    /// Applies `f` to each pair of elements.
    ///
    /// # Errors
    /// If the shapes can't be broadcast.
    pub(crate) fn zip(&self, other: &Self, f: impl Fn(f32, f32) -> f32) -> Result<Self, String> {
        let fits = |a: usize, b: usize| a == b || a == 1 || b == 1;
        if !fits(self.rows, other.rows) || !fits(self.columns, other.columns) {
            let (a, b) = (self.shape(), other.shape());
            return Err(format!("the shapes {a} and {b} don't fit each other"));
        }
        let (rows, columns) = (self.rows.max(other.rows), self.columns.max(other.columns));
        Ok(Self::from_fn(rows, columns, |i, j| f(self.at(i, j), other.at(i, j))))
    }

    /// The matrix product `[m, k] · [k, n] -> [m, n]`, summed in `f64`.
    ///
    /// # Errors
    /// If the inner lengths differ.
    pub(crate) fn product(&self, other: &Self) -> Result<Self, String> {
        if self.columns != other.rows {
            let (a, b) = (self.shape(), other.shape());
            return Err(format!("{a} @ {b} is no product: the inner lengths differ"));
        }
        let term = |i, j, k| f64::from(self.at(i, k)) * f64::from(other.at(k, j));
        let sum = |i, j| (0..self.columns).map(|k| term(i, j, k)).sum::<f64>() as f32;
        Ok(Self::from_fn(self.rows, other.columns, sum))
    }

    /// Applies `f` to each column (axis 0; the result has one row) or to each row (axis 1; the
    /// result has one column).
    pub(crate) fn reduce(&self, axis: usize, f: impl Fn(Vec<f32>) -> f32) -> Self {
        if axis == 0 {
            let column = |j| (0..self.rows).map(|i| self.at(i, j)).collect();
            return Self::from_fn(1, self.columns, |_, j| f(column(j)));
        }
        let row = |i| (0..self.columns).map(|j| self.at(i, j)).collect();
        Self::from_fn(self.rows, 1, |i, _| f(row(i)))
    }

    /// The sums along an axis, in `f64`.
    pub(crate) fn sum(&self, axis: usize) -> Self {
        self.reduce(axis, |values| values.into_iter().map(f64::from).sum::<f64>() as f32)
    }

    /// The largest values along an axis.
    pub(crate) fn max(&self, axis: usize) -> Self {
        self.reduce(axis, |values| values.into_iter().fold(f32::NEG_INFINITY, f32::max))
    }
}
