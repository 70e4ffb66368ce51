//! MNIST by any preset, with gradients that nobody derived by hand: `--preset small`.

use std::process::ExitCode;

fn main() -> ExitCode {
    training::main::<autograd::level::Program>()
}
