//! The levels' network on the one-file tensor engine, with the command line of all levels.
//!
//!     cargo run -p autograd --example tensors -- --preset small

mod level;

#[allow(unreachable_pub, reason = "the book shows it without `pub(crate)`")]
mod engine;

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<level::Program>()
}
