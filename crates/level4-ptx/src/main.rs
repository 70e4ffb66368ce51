//! The command line of level 4: `train`, `dump`, `bench`, `predict`.

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<level4_ptx::Program>()
}
