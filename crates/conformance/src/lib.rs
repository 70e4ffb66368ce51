//! One test suite for all levels.
//!
//! [`variants`] lists every way to run a level, by the options of its command line; [`Check`] lists
//! what each of them has to pass. The tests of this crate run all checks on the device that
//! `FOUR_LEVELS_DEVICE` names, the emulated GPU where it names none; the program `conformance` does
//! the same where there is no Rust, and prints a table.
//!
//! ```text
//! variants ── variant      a level and its options, as its own command line reads them
//!    |
//!   run ── check           which networks, and what a step of each has to agree with
//!    |      |
//!    |     steps           ten steps, one after the other
//!    |
//!  table, pages            for people, and to look at; `Report` is for programs
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
pub use run::{Kept, Outcome, Report, run, run_and_keep};
pub use steps::STEPS;
pub use table::table;
pub use variant::Variant;
pub use variants::variants;
