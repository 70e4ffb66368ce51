//! A network with one hidden layer, small enough to follow with a pencil: `f64`, squared error,
//! and one line for each operation.

/// Rows and columns, row-major: element `[i, j]` is at `i * cols + j`.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub rows: usize,
    pub cols: usize,
    pub data: Vec<f64>,
}

impl Matrix {
    pub fn new<const R: usize, const C: usize>(rows: [[f64; C]; R]) -> Self {
        Self { rows: R, cols: C, data: rows.concat() }
    }

    /// The matrix whose element `[i, j]` is `f(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let data = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Self { rows, cols, data }
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.cols + j]
    }

    /// Combines the elements of two matrices of the same shape, pair by pair.
    pub fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Self::from_fn(self.rows, self.cols, |i, j| f(self.at(i, j), other.at(i, j)))
    }
}

// ANCHOR: products
/// `a · bᵀ`: rows of `a` against rows of `b`.
pub fn matmul_a_bt(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.cols, b.cols);
    Matrix::from_fn(a.rows, b.rows, |i, j| (0..a.cols).map(|k| a.at(i, k) * b.at(j, k)).sum())
}

/// `aᵀ · b`: columns of `a` against columns of `b`.
pub fn matmul_at_b(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.rows, b.rows);
    Matrix::from_fn(a.cols, b.cols, |i, j| (0..a.rows).map(|k| a.at(k, i) * b.at(k, j)).sum())
}

/// `a · b`: rows of `a` against columns of `b`.
pub fn matmul_a_b(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.cols, b.rows);
    Matrix::from_fn(a.rows, b.cols, |i, j| (0..a.cols).map(|k| a.at(i, k) * b.at(k, j)).sum())
}
// ANCHOR_END: products

/// The sum of each column: `[B, n]` becomes `[1, n]`.
pub fn sum_batch(a: &Matrix) -> Matrix {
    Matrix::from_fn(1, a.cols, |_, j| (0..a.rows).map(|i| a.at(i, j)).sum())
}

/// `b` (`[1, n]`) is added to every row.
pub fn add_bias(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows, a.cols, |i, j| a.at(i, j) + b.at(0, j))
}

/// A batch, and the parameters of the two layers.
#[derive(Clone, Debug)]
pub struct Network {
    pub x: Matrix,
    pub y: Matrix,
    pub w1: Matrix,
    pub b1: Matrix,
    pub w2: Matrix,
    pub b2: Matrix,
}

/// Results of the forward pass that the backward pass needs.
pub struct Forward {
    pub z1: Matrix,
    pub a1: Matrix,
    pub p: Matrix,
    pub loss: f64,
}

/// Results of the backward pass.
pub struct Backward {
    pub dz2: Matrix,
    pub dw2: Matrix,
    pub db2: Matrix,
    pub da1: Matrix,
    pub dz1: Matrix,
    pub dw1: Matrix,
    pub db1: Matrix,
}

impl Network {
    // ANCHOR: forward
    pub fn forward(&self) -> Forward {
        let z1 = add_bias(&matmul_a_bt(&self.x, &self.w1), &self.b1);
        let a1 = Matrix::from_fn(z1.rows, z1.cols, |i, j| z1.at(i, j).max(0.0));
        let p = add_bias(&matmul_a_bt(&a1, &self.w2), &self.b2);
        let squares: f64 = p.zip(&self.y, |p, y| (p - y) * (p - y)).data.iter().sum();
        let loss = 0.5 * squares / p.rows as f64;
        Forward { z1, a1, p, loss }
    }
    // ANCHOR_END: forward

    // ANCHOR: backward
    pub fn backward(&self, forward: &Forward) -> Backward {
        let batch = self.x.rows as f64;
        let dz2 = forward.p.zip(&self.y, |p, y| (p - y) / batch);
        let dw2 = matmul_at_b(&dz2, &forward.a1);
        let db2 = sum_batch(&dz2);
        let da1 = matmul_a_b(&dz2, &self.w2);
        let dz1 = da1.zip(&forward.z1, |da, z| if z > 0.0 { da } else { 0.0 });
        let dw1 = matmul_at_b(&dz1, &self.x);
        let db1 = sum_batch(&dz1);
        Backward { dz2, dw2, db2, da1, dz1, dw1, db1 }
    }
    // ANCHOR_END: backward
}
