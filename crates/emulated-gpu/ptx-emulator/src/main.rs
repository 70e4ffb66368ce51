//! `ptx-emulator COMMAND FILE…`: checks, runs, traces and profiles kernels in PTX or CUDA C.

use std::process::ExitCode;

use ptx_emulator::commands::program::Arguments;

fn main() -> ExitCode {
    host::main(|| match host::parse::<Arguments>(|command| command) {
        Ok(arguments) => ExitCode::from(arguments.execute()),
        Err(code) => code,
    })
}
