//! The puzzles, in the order in which one leads to the next, each in a folder of its own.

use crate::puzzle::Puzzle;

/// The frame and the solution in a language, from the folder of the puzzle that says so.
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

/// Declares the modules, and lists the puzzles of the same names in the same order, with the texts that are
/// in each one's folder.
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
