//! The command line of level 3: `train`, `dump`, `bench`, `predict`.

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<level3_cublas::Program>()
}
