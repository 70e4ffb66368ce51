//! One test suite for all levels.
//!
//! [`variants`] lists every way to run a level, by the options of its command line; [`Check`] lists
//! the checks that each of them has to pass. The tests of this crate run all checks on the device that
//! `FOUR_LEVELS_DEVICE` names, by default the emulated GPU. The program `conformance` does
//! the same on machines without Rust, and prints a table.
//!
//! ```text
//! variants ── variant      a level and its options, as its own command line reads them
//!    |
//!   run ── check           the networks, and the expected result of a step of each
//!    |      |
//!    |     steps           ten consecutive steps
//!    |
//!  table, pages            a text table and HTML pages; `Report` is the JSON form
//! ```

mod check;
mod pages;
mod run;
mod steps;
mod table;
mod variant;
mod variants;

pub use check::{Case, Check};
pub use pages::Pages;
pub use run::{Outcome, Report, RunTensors, run, run_and_keep};
pub use steps::STEPS;
pub use table::table;
pub use variant::Variant;
pub use variants::variants;
