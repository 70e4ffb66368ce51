//! Kernels to write. Each puzzle is one idea: a task, a picture where it says something, a frame to
//! fill, tests on several sizes, hints, a solution, and what that costs.
//!
//! [`puzzles`] is the list, in the order in which one leads to the next, and [`attempt`] runs what a
//! reader wrote: on each size, with every sanitizer, against what plain Rust computes in double
//! precision, within bounds derived from the arithmetic of `float`. What is wrong is said so that it
//! teaches: which thread did it, to which element, and what such numbers usually mean.
//!
//! Nothing here reads a file, starts a thread or asks for the time, so that it also runs in a browser.
//!
//! ```
//! use puzzles::{Language, Limits, Verdict, attempt, puzzle};
//!
//! let guard = puzzle("guard").unwrap();
//! let frame = guard.source(Language::CudaC).unwrap().frame;
//! let outcome = attempt(guard, Language::CudaC, frame, &Limits::default());
//! assert_ne!(outcome.verdict, Verdict::Solved);
//! ```

mod attempt;
mod case;
mod cost;
mod judge;
mod list;
mod near;
mod outcome;
mod printed;
mod puzzle;
mod random;
mod run;
mod teach;

pub use attempt::{Limits, attempt, cost_of_solution};
pub use cost::{Cost, Measure};
pub use list::{puzzle, puzzles};
pub use outcome::{Mark, Outcome, ShownLine, Tried, Verdict, Wrong};
pub use puzzle::{Demand, Language, Puzzle, Source};
