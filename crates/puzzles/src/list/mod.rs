//! List of the puzzles, in an order in which each puzzle prepares the next. Each puzzle has its own folder.

use crate::puzzle::{Language, Puzzle, Source};

/// The items that the modules of puzzles import.
mod prelude {
    pub(super) use crate::case::Case;
    pub(super) use crate::cost::Measure;
    pub(super) use crate::near::{Near, dot, sum};
    pub(super) use crate::puzzle::{Demand, Puzzle};
    pub(super) use crate::random::Random;
}

/// Includes the frame and the solution of a puzzle in a language.
macro_rules! source {
    ($folder:ident $language:ident $extension:literal) => {
        Source {
            language: Language::$language,
            frame: include_str!(concat!(stringify!($folder), "/frame.", $extension)),
            solution: include_str!(concat!(stringify!($folder), "/solution.", $extension)),
        }
    };
}

/// Declares a module for each puzzle, and lists the puzzles in this order: name, folder, name of the kernel, idea. The
/// texts come from the puzzle's folder, everything else from its module. All puzzles can be solved in CUDA C, and those
/// with `Ptx` also in PTX.
macro_rules! list {
    ($($name:literal, $folder:ident, $kernel:literal, $idea:literal $(, $ptx:ident)?;)*) => {
        $(mod $folder;)*

        static PUZZLES: &[&Puzzle] = &[$(&Puzzle {
            name: $name,
            idea: $idea,
            kernel: $kernel,
            task: include_str!(concat!(stringify!($folder), "/task.md")),
            hints: include_str!(concat!(stringify!($folder), "/hints.md")),
            sources: &[source!($folder CudaC "cu"), $(source!($folder $ptx "ptx"))?],
            ..$folder::PUZZLE
        }),*];
    };
}

list! {
    "add-one",         add_one,         "add_one",         "a thread for each element", Ptx;
    "guard",           guard,           "twice",           "several blocks, and threads without an element", Ptx;
    "two-dimensions",  two_dimensions,  "scale",           "rows and columns", Ptx;
    "broadcast",       broadcast,       "add_bias",        "one vector for all rows: the bias", Ptx;
    "stride",          stride,          "square",          "more elements than threads", Ptx;
    "coalesce",        coalesce,        "copy",            "sectors: neighbouring threads read neighbours", Ptx;
    "relu",            relu,            "relu",            "an activation", Ptx;
    "relu-backward",   relu_backward,   "relu_backward",   "a gradient passes, or stops", Ptx;
    "sigmoid",         sigmoid,         "sigmoid",         "an exponential", Ptx;
    "pixels",          pixels,          "normalise",       "whole numbers become floats", Ptx;
    "update",          update,          "update",          "a step of gradient descent, in place", Ptx;
    "clip",            clip,            "clip",            "two bounds, without a branch", Ptx;
    "momentum",        momentum,        "momentum",        "two buffers in place", Ptx;
    "one-hot",         one_hot,         "one_hot",         "labels become rows", Ptx;
    "rotate",          rotate,          "rotate",          "a barrier", Ptx;
    "window",          window,          "window",          "shared memory";
    "reduction",       reduction,       "block_sums",      "a sum, by halves", Ptx;
    "butterfly",       butterfly,       "warp_sum",        "shuffles", Ptx;
    "histogram",       histogram,       "histogram",       "atomics", Ptx;
    "accuracy",        accuracy,        "accuracy",        "the largest of a row", Ptx;
    "scan",            scan,            "scan",            "prefix sums, and a barrier on both sides", Ptx;
    "transpose",       transpose,       "transpose",       "a tile without bank conflicts";
    "loops",           loops,           "product",         "a product of matrices, in three loops";
    "product",         product,         "product",         "a thread for each element of a product", Ptx;
    "tiled",           tiled,           "product",         "tiles in shared memory";
    "layer",           layer,           "layer",           "a fused kernel: product, bias, ReLU", Ptx;
    "softmax",         softmax,         "softmax",         "a warp for each row";
    "cross-entropy",   cross_entropy,   "cross_entropy",   "the loss, by hand";
    "output-gradient", output_gradient, "output_gradient", "where the way back begins", Ptx;
    "bias-gradient",   bias_gradient,   "bias_gradient",   "a sum over the batch", Ptx;
    "weight-gradient", weight_gradient, "weight_gradient", "a product over the batch", Ptx;
    "layer-backward",  layer_backward,  "layer_backward",  "one layer back: product and mask, fused", Ptx;
    "sample-backward", sample_backward, "sample_backward", "a fused backward pass";
    "grid-barrier",    grid_barrier,    "normalise",       "blocks that wait for each other", Ptx;
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
