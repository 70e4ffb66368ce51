//! How the arguments of level 2's operations become those of the puzzles.

use cudarc::driver::LaunchConfig;
use gpu::launch::grid;
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

/// The grid that the puzzle is launched with: positions of lengths, as in [`Argument`], and the size of a block.
pub(crate) enum Threads {
    /// A thread for each element.
    Line([usize; 1], [u32; 1]),
    /// A thread for each element of a matrix of these rows and columns: x along a row, y along a column.
    Matrix([usize; 2], [u32; 2]),
    /// A block of 32 threads for each row.
    WarpPerRow([usize; 1], [u32; 0]),
}

impl Threads {
    /// The grid and the blocks, for these arguments of the operation.
    pub(crate) fn shape(&self, arguments: &[u64]) -> LaunchConfig {
        // The driver refuses a grid of more blocks.
        let blocks = |length: usize, size: u32| {
            u32::try_from(arguments[length].div_ceil(size.into())).unwrap_or(u32::MAX)
        };
        match *self {
            Self::Line([elements], [size]) => grid(blocks(elements, size), 1, size),
            Self::WarpPerRow([rows], []) => grid(blocks(rows, 1), 1, 32),
            Self::Matrix([rows, columns], [x, y]) => LaunchConfig {
                grid_dim: (blocks(columns, x), blocks(rows, y), 1),
                block_dim: (x, y, 1),
                shared_mem_bytes: 0,
            },
        }
    }
}

/// A row: the operation with the names of its parameters, then the arguments of the puzzle's kernel. An argument is
/// the name of a parameter; `x[m, n]`, a copy of the matrix `x`; or `ones[m, n]`, a matrix of ones.
macro_rules! row {
    ($puzzle:literal $(for $loss:ident)?: $operation:ident($($parameter:ident),+) =>
     ($($argument:ident $([$($axis:ident),+])?),+), $threads:ident($($length:ident),+; $($size:literal),*)) => {{
        #[allow(non_camel_case_types, dead_code, reason = "the parameters' names and positions")]
        enum At {
            $($parameter),+
        }
        Row {
            puzzle: $puzzle,
            operation: stringify!($operation),
            loss: row!(@loss $($loss)?),
            arguments: &[$(row!(@argument At $argument $([$($axis),+])?)),+],
            threads: Threads::$threads([$(At::$length as usize),+], [$($size),*]),
        }
    }};
    (@loss) => { None };
    (@loss $loss:ident) => { Some(Loss::$loss) };
    (@argument $At:ident ones[$rows:ident, $columns:ident]) => {
        Argument::Ones([$At::$rows as usize, $At::$columns as usize])
    };
    (@argument $At:ident $buffer:ident[$rows:ident, $columns:ident]) => {
        Argument::CopyOf($At::$buffer as usize, [$At::$rows as usize, $At::$columns as usize])
    };
    (@argument $At:ident $argument:ident) => { Argument::Given($At::$argument as usize) };
}

/// The ten kernels of a training step, in its order, for each loss. With the squared error there are nine, because
/// `p = z` needs no kernel.
pub(crate) const ROWS: [Row; 11] = [
    row!("product": matmul_a_bt(a, b, c, m, n, k) => (m, n, k, a, b, c), Matrix(m, n; 8, 8)),
    // The puzzle's kernel may write z before it reads x, so x is a copy of z.
    row!("broadcast": add_bias(z, b, batch, n) => (batch, n, z[batch, n], b, z), Matrix(batch, n; 16, 4)),
    row!("relu": relu(z, a, elements) => (elements, z, a), Line(elements; 64)),
    row!("softmax" for CrossEntropy: softmax(z, p, batch, classes) => (classes, z, p), WarpPerRow(batch;)),
    row!("sigmoid" for Bce: sigmoid(z, p, elements) => (elements, z, p), Line(elements; 64)),
    row!("output-gradient": output_gradient(p, y, dz, batch, classes) => (batch, classes, p, y, dz),
        Matrix(batch, classes; 8, 4)),
    // `dw = dzᵀ · a`: the puzzle's kernel takes the number of columns of `dw` before its number of rows.
    row!("weight-gradient": matmul_at_b(dz, a, dw, n, m, batch) => (batch, m, n, dz, a, dw), Matrix(n, m; 8, 4)),
    row!("bias-gradient": sum_batch(dz, db, batch, n) => (batch, n, dz, db), Line(n; 32)),
    // The puzzle's ReLU passes the gradient where its z is positive. With a z of ones it computes `da`.
    row!("layer-backward": matmul_a_b(dz, w, da, batch, m, n) => (batch, m, n, dz, w, ones[batch, m], da),
        Matrix(batch, m; 8, 4)),
    row!("relu-backward": relu_backward(da, z, dz, elements) => (elements, da, z, dz), Line(elements; 64)),
    row!("update": update(w, dw, learning_rate, elements) => (elements, learning_rate, dw, w), Line(elements; 64)),
];
