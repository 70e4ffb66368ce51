//! How the arguments of level 2's operations become those of the puzzles.

use cudarc::driver::LaunchConfig;
use tensor::Loss;

/// A puzzle, and the operation of level 2 that its kernel computes.
pub(crate) struct Row {
    pub(crate) puzzle: &'static str,
    pub(crate) operation: &'static str,
    /// The loss of the networks that have this operation; `None` for all networks.
    pub(crate) loss: Option<Loss>,
    /// The arguments of the puzzle's kernel, in its order.
    pub(crate) arguments: &'static [Argument],
    pub(crate) threads: Threads,
}

/// An argument of a puzzle's kernel. Numbers are positions among the operation's arguments, counting from 0.
pub(crate) enum Argument {
    /// The operation's argument. Of a `size_t`, the kernel reads the low four bytes as an `unsigned`.
    Given(usize),
    /// A copy of the buffer, a matrix of these rows and columns.
    CopyOf(usize, [usize; 2]),
    /// A matrix of ones, of these rows and columns.
    Ones([usize; 2]),
}

/// The grid that the puzzle is launched with. Rows, columns and elements are positions, as in [`Argument`].
pub(crate) enum Threads {
    /// A thread for each element, in blocks of this size.
    Line(usize, u32),
    /// A thread for each element of a matrix of these rows and columns: x along a row, y along a column.
    Matrix([usize; 2], [u32; 2]),
    /// A block of 32 threads for each row.
    WarpPerRow(usize),
}

impl Threads {
    /// The grid and the blocks, for these arguments of the operation.
    pub(crate) fn shape(&self, arguments: &[u64]) -> LaunchConfig {
        let blocks = |length: usize, size: u32| {
            let blocks = arguments[length].div_ceil(u64::from(size));
            // The driver refuses such a grid.
            u32::try_from(blocks).unwrap_or(u32::MAX)
        };
        let (grid_dim, block_dim) = match *self {
            Self::Line(elements, block) => ((blocks(elements, block), 1, 1), (block, 1, 1)),
            Self::Matrix([rows, columns], [x, y]) => {
                ((blocks(columns, x), blocks(rows, y), 1), (x, y, 1))
            }
            Self::WarpPerRow(rows) => ((blocks(rows, 1), 1, 1), (32, 1, 1)),
        };
        LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 }
    }
}

use Argument::{CopyOf, Given, Ones};
use Threads::{Line, Matrix, WarpPerRow};

/// The ten kernels of a training step, in its order, for each loss. With the squared error there are nine, because
/// `p = z` needs no kernel.
pub(crate) const ROWS: [Row; 11] = [
    // matmul_a_bt(a, b, c, m, n, k) → product(m, n, k, a, b, c)
    Row {
        puzzle: "product",
        operation: "matmul_a_bt",
        loss: None,
        arguments: &[Given(3), Given(4), Given(5), Given(0), Given(1), Given(2)],
        threads: Matrix([3, 4], [8, 8]),
    },
    // add_bias(z, b, batch, n) → add_bias(batch, n, x, b, z). The puzzle's kernel may write z before it reads x, so x
    // is a copy.
    Row {
        puzzle: "broadcast",
        operation: "add_bias",
        loss: None,
        arguments: &[Given(2), Given(3), CopyOf(0, [2, 3]), Given(1), Given(0)],
        threads: Matrix([2, 3], [16, 4]),
    },
    // relu(z, a, elements) → relu(n, z, a)
    Row {
        puzzle: "relu",
        operation: "relu",
        loss: None,
        arguments: &[Given(2), Given(0), Given(1)],
        threads: Line(2, 64),
    },
    // softmax(z, p, batch, classes) → softmax(classes, z, p)
    Row {
        puzzle: "softmax",
        operation: "softmax",
        loss: Some(Loss::CrossEntropy),
        arguments: &[Given(3), Given(0), Given(1)],
        threads: WarpPerRow(2),
    },
    // sigmoid(z, p, elements) → sigmoid(n, z, p)
    Row {
        puzzle: "sigmoid",
        operation: "sigmoid",
        loss: Some(Loss::Bce),
        arguments: &[Given(2), Given(0), Given(1)],
        threads: Line(2, 64),
    },
    // output_gradient(p, y, dz, batch, classes) → output_gradient(batch, classes, p, y, dz)
    Row {
        puzzle: "output-gradient",
        operation: "output_gradient",
        loss: None,
        arguments: &[Given(3), Given(4), Given(0), Given(1), Given(2)],
        threads: Matrix([3, 4], [8, 4]),
    },
    // matmul_at_b(a, b, c, m, n, k) → weight_gradient(batch, m, n, dz, a, dw), whose m are the columns
    Row {
        puzzle: "weight-gradient",
        operation: "matmul_at_b",
        loss: None,
        arguments: &[Given(5), Given(4), Given(3), Given(0), Given(1), Given(2)],
        threads: Matrix([3, 4], [8, 4]),
    },
    // sum_batch(dz, db, batch, n) → bias_gradient(batch, n, dz, db)
    Row {
        puzzle: "bias-gradient",
        operation: "sum_batch",
        loss: None,
        arguments: &[Given(2), Given(3), Given(0), Given(1)],
        threads: Line(3, 32),
    },
    // matmul_a_b(a, b, c, m, n, k) → layer_backward(batch, m, n, dz, w, z, dz_before). Its ReLU lets everything pass
    // where z is positive, and with z = 1 it computes `da`.
    Row {
        puzzle: "layer-backward",
        operation: "matmul_a_b",
        loss: None,
        arguments: &[Given(3), Given(4), Given(5), Given(0), Given(1), Ones([3, 4]), Given(2)],
        threads: Matrix([3, 4], [8, 4]),
    },
    // relu_backward(da, z, dz, elements) → relu_backward(n, da, z, dz)
    Row {
        puzzle: "relu-backward",
        operation: "relu_backward",
        loss: None,
        arguments: &[Given(3), Given(0), Given(1), Given(2)],
        threads: Line(3, 64),
    },
    // update(w, dw, learning_rate, elements) → update(n, rate, dw, w)
    Row {
        puzzle: "update",
        operation: "update",
        loss: None,
        arguments: &[Given(3), Given(2), Given(1), Given(0)],
        threads: Line(3, 64),
    },
];
