//! Training on MNIST with automatic gradients, with any preset, such as `--preset small`.

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<autograd::level::Program>()
}
