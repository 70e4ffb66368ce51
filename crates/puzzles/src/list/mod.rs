//! List of the puzzles, in an order in which each prepares the next. Each has its own folder.

use crate::puzzle::Puzzle;

/// The items that puzzles are made of.
mod prelude {
    pub(super) use crate::case::Case;
    pub(super) use crate::cost::Measure;
    pub(super) use crate::near::{Near, dot, sum};
    pub(super) use crate::puzzle::{Demand, Puzzle};
    pub(super) use crate::random::Random;
}

/// The frame and the solution in a language, from the folder of the puzzle that uses the macro.
macro_rules! source {
    (CudaC) => {
        crate::puzzle::Source {
            language: crate::puzzle::Language::CudaC,
            frame: include_str!("frame.cu"),
            solution: include_str!("solution.cu"),
        }
    };
    (Ptx) => {
        crate::puzzle::Source {
            language: crate::puzzle::Language::Ptx,
            frame: include_str!("frame.ptx"),
            solution: include_str!("solution.ptx"),
        }
    };
}

/// Declares a module for each puzzle, and lists the puzzles in this order, with the texts of their folders.
macro_rules! list {
    ($($puzzle:ident)*) => {
        $(mod $puzzle;)*

        static PUZZLES: &[&Puzzle] = &[$(&Puzzle {
            task: include_str!(concat!(stringify!($puzzle), "/task.md")),
            hints: include_str!(concat!(stringify!($puzzle), "/hints.md")),
            ..$puzzle::PUZZLE
        }),*];
    };
}

list! {
    add_one
    guard
    two_dimensions
    broadcast
    stride
    coalesce
    relu
    relu_backward
    sigmoid
    pixels
    update
    clip
    momentum
    one_hot
    rotate
    window
    reduction
    butterfly
    histogram
    accuracy
    scan
    transpose
    loops
    product
    tiled
    layer
    softmax
    cross_entropy
    output_gradient
    bias_gradient
    weight_gradient
    layer_backward
    sample_backward
    grid_barrier
}

/// All puzzles.
#[must_use]
pub fn puzzles() -> &'static [&'static Puzzle] {
    PUZZLES
}

/// The puzzle of that name.
#[must_use]
pub fn puzzle(name: &str) -> Option<&'static Puzzle> {
    PUZZLES.iter().copied().find(|puzzle| puzzle.name == name)
}
