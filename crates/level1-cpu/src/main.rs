//! The command line of level 1: `train`, `dump`, `bench`, `predict`.

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<level1_cpu::Program>()
}
