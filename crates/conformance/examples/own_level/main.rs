//! A level that a reader builds, stage by stage; the appendix of the book leads through it.
//!
//!     cargo run -p conformance --example own_level -- dump --preset softmax --out target/own.json

mod own;

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<own::Program>()
}
