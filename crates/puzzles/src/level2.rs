//! The puzzles whose kernels are a training step of level 2: which operation each computes, how the arguments of the
//! operation become those of the puzzle's kernel, and which of the reader's solutions are used.

use std::fmt;

use tensor::Loss;

use crate::{Language, Limits, Puzzle, Verdict, attempt, puzzle};

/// A puzzle, and the operation of level 2 that its kernel computes.
#[derive(Debug)]
pub struct Row {
    /// The name of the puzzle.
    pub puzzle: &'static str,
    /// The name of level 2's kernel.
    pub operation: &'static str,
    /// The loss of the networks that have this operation; `None` for all networks.
    loss: Option<Loss>,
    /// The arguments of the puzzle's kernel, in its order.
    arguments: &'static [Argument],
    threads: Threads,
}

/// An argument of a puzzle's kernel. Numbers are positions among the operation's arguments, counting from 0.
#[derive(Debug)]
enum Argument {
    /// The operation's argument.
    Given(usize),
    /// A copy of the buffer, a matrix of these rows and columns.
    CopyOf(usize, [usize; 2]),
    /// A matrix of ones, of these rows and columns.
    Ones([usize; 2]),
}

/// The grid that the puzzle is launched with: positions of lengths, as in [`Argument`], and the size of a block.
#[derive(Debug)]
enum Threads {
    /// A thread for each element.
    Line([usize; 1], [u32; 1]),
    /// A thread for each element of a matrix of these rows and columns: x along a row, y along a column.
    Matrix([usize; 2], [u32; 2]),
    /// A block of 32 threads for each row.
    WarpPerRow([usize; 1], [u32; 0]),
}

/// A buffer of `float` that a kernel needs in addition to the operation's arguments, with its number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// A copy of the elements at an address.
    CopyOf(u64, usize),
    /// Elements that are 1.
    Ones(usize),
}

/// The reader's solution of a puzzle. Its `Display` is its state, such as `yours, in CUDA C`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SolutionState {
    /// A kernel that is used: its language, its source, and the verdict of the check.
    Used(Language, String, Verdict),
    /// A kernel that isn't used.
    Unsolved(Language, Verdict),
    /// There is no kernel.
    Missing,
}

impl Row {
    /// The rows for networks with this loss, in the order of a training step.
    pub fn all(loss: Loss) -> impl Iterator<Item = &'static Self> {
        ROWS.iter().filter(move |row| row.loss.is_none_or(|needed| needed == loss))
    }

    /// The puzzle.
    #[must_use]
    pub fn puzzle(&self) -> &'static Puzzle {
        puzzle(self.puzzle).unwrap_or_else(|| unreachable!("{} is a puzzle", self.puzzle))
    }

    /// Checks the reader's solution: in CUDA C, or else in PTX. `text` returns the text in a language. With `unchecked`,
    /// a kernel is also used if it compiles and fails its check.
    ///
    /// # Errors
    /// The errors of `text`.
    pub fn solution<E>(
        &self,
        unchecked: bool,
        mut text: impl FnMut(Language) -> Result<Option<String>, E>,
    ) -> Result<SolutionState, E> {
        let mut state = SolutionState::Missing;
        for language in Language::ALL {
            let Some(source) = text(language)? else { continue };
            let verdict = attempt(self.puzzle(), language, &source, &Limits::default()).verdict;
            // A rejected kernel does not compile, or its parameters don't fit the launch.
            if verdict == Verdict::Solved || unchecked && verdict != Verdict::Rejected {
                return Ok(SolutionState::Used(language, source, verdict));
            }
            if let SolutionState::Missing = state {
                state = SolutionState::Unsolved(language, verdict);
            }
        }
        Ok(state)
    }

    /// The arguments of the puzzle's kernel, for these of the operation. `scratch` returns the address of a
    /// buffer that the kernel needs in addition. Of a `size_t`, the kernel reads the low four bytes as an `unsigned`.
    ///
    /// # Errors
    /// The errors of `scratch`.
    pub fn arguments<E>(
        &self,
        given: &[u64],
        mut scratch: impl FnMut(Scratch) -> Result<u64, E>,
    ) -> Result<Vec<u64>, E> {
        let elements = |[rows, columns]: [usize; 2]| (given[rows] * given[columns]) as usize;
        let pass = |argument: &Argument| match *argument {
            Argument::Given(position) => Ok(given[position]),
            Argument::Ones(shape) => scratch(Scratch::Ones(elements(shape))),
            Argument::CopyOf(position, shape) => {
                scratch(Scratch::CopyOf(given[position], elements(shape)))
            }
        };
        self.arguments.iter().map(pass).collect()
    }

    /// The grid and the blocks along x and y, for these arguments of the operation.
    #[must_use]
    pub fn shape(&self, arguments: &[u64]) -> [[u32; 2]; 2] {
        // The driver refuses a grid of more blocks.
        let blocks = |length: usize, size: u32| {
            u32::try_from(arguments[length].div_ceil(size.into())).unwrap_or(u32::MAX)
        };
        match self.threads {
            Threads::Line([elements], [size]) => [[blocks(elements, size), 1], [size, 1]],
            Threads::WarpPerRow([rows], []) => [[blocks(rows, 1), 1], [32, 1]],
            Threads::Matrix([rows, columns], [x, y]) => {
                [[blocks(columns, x), blocks(rows, y)], [x, y]]
            }
        }
    }
}

impl fmt::Display for SolutionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Used(language, _, Verdict::Solved) => write!(f, "yours, in {}", language.name()),
            Self::Used(language, _, verdict) => {
                write!(f, "yours, in {}, unchecked ({})", language.name(), verdict.name())
            }
            Self::Unsolved(_, verdict) => write!(f, "the book's; not yours ({})", verdict.name()),
            Self::Missing => f.write_str("the book's; not begun"),
        }
    }
}

/// The reader's share of the kernels, with the accuracy after training.
#[must_use]
pub fn credit(own: usize, count: usize, accuracy: &str) -> String {
    format!("{own} of {count} kernels are yours: {accuracy}")
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
const ROWS: [Row; 11] = [
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
