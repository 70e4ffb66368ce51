//! Puzzles: kernels to write, each with one idea, a task, an optional picture, a frame to fill in, tests on several
//! sizes, hints, a solution, and the cost of the solution.
//!
//! [`puzzles`] is the list, in an order in which each puzzle prepares the next. [`attempt`] runs a reader's kernel on
//! each size, with every sanitizer, and compares the results with those of plain Rust in double precision, within
//! bounds derived from the arithmetic of `float`. Its messages teach: they name the thread and the element, and the
//! mistake that usually causes such numbers.
//!
//! [`level2`] lists the puzzles whose kernels train the book's network.
//!
//! The library reads no file, starts no thread and has no clock, so that it also runs in a browser.
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
mod feedback;
mod judge;
pub mod level2;
mod list;
mod near;
mod outcome;
mod printed;
mod puzzle;
mod random;
mod run;

pub use attempt::{Limits, Recording, attempt, cost_of_solution, record};
pub use cost::{Cost, Measure};
pub use list::{puzzle, puzzles};
pub use outcome::{Mark, Outcome, ShownLine, TriedSize, Verdict, Wrong};
pub use printed::Printed;
pub use puzzle::{Demand, Language, Puzzle, Source};
