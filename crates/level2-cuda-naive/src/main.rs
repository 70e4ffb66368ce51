//! The command line of level 2: `train`, `dump`, `bench`, `predict`.

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<level2_cuda_naive::Program>()
}
