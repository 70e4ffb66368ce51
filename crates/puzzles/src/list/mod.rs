//! List of the puzzles, in an order in which each prepares the next. Each has its own folder.

use crate::puzzle::{Language, Puzzle, Source};

/// The items that puzzles are made of.
mod prelude {
    pub(super) use crate::case::Case;
    pub(super) use crate::cost::Measure;
    pub(super) use crate::near::{Near, dot, sum};
    pub(super) use crate::puzzle::{Demand, Puzzle};
    pub(super) use crate::random::Random;
}

/// The frame and the solution of a puzzle in a language.
macro_rules! source {
    ($puzzle:ident $language:ident $extension:literal) => {
        Source {
            language: Language::$language,
            frame: include_str!(concat!(stringify!($puzzle), "/frame.", $extension)),
            solution: include_str!(concat!(stringify!($puzzle), "/solution.", $extension)),
        }
    };
}

/// Declares a module for each puzzle, and lists the puzzles in this order, with the texts of their folders. All of them
/// can be solved in CUDA C, and those with `+ Ptx` also in PTX.
macro_rules! list {
    ($($puzzle:ident $(+ $ptx:ident)?)*) => {
        $(mod $puzzle;)*

        static PUZZLES: &[&Puzzle] = &[$(&Puzzle {
            task: include_str!(concat!(stringify!($puzzle), "/task.md")),
            hints: include_str!(concat!(stringify!($puzzle), "/hints.md")),
            sources: &[source!($puzzle CudaC "cu"), $(source!($puzzle $ptx "ptx"))?],
            ..$puzzle::PUZZLE
        }),*];
    };
}

list! {
    add_one + Ptx
    guard + Ptx
    two_dimensions + Ptx
    broadcast + Ptx
    stride + Ptx
    coalesce + Ptx
    relu + Ptx
    relu_backward + Ptx
    sigmoid + Ptx
    pixels + Ptx
    update + Ptx
    clip + Ptx
    momentum + Ptx
    one_hot + Ptx
    rotate + Ptx
    window
    reduction + Ptx
    butterfly + Ptx
    histogram + Ptx
    accuracy + Ptx
    scan + Ptx
    transpose
    loops
    product + Ptx
    tiled
    layer + Ptx
    softmax
    cross_entropy
    output_gradient + Ptx
    bias_gradient + Ptx
    weight_gradient + Ptx
    layer_backward + Ptx
    sample_backward
    grid_barrier + Ptx
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
