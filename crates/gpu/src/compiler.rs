//! Who compiles kernels in CUDA C: what `--compiler` asks for, and what follows.

use std::fmt;

use clap::{Args, ValueEnum};

use crate::{Gpu, GpuError, Result, compile, library};

/// A compiler of CUDA C to PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compiler {
    /// NVIDIA's: the library NVRTC, else the command nvcc.
    Nvrtc,
    /// This project's, the crate `cuda-c`.
    BuiltIn,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}

/// The option `--compiler`, of the levels whose kernels are in CUDA C.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CompilerArgs {
    /// nvrtc: NVIDIA's, whose PTX lies beside the kernels, and an error where it is missing and a
    /// kernel was edited; built-in: this project's own, for all kernels [default: NVIDIA's, and the
    /// built-in one for edited kernels where that is missing].
    #[arg(
        long,
        value_name = "COMPILER",
        value_enum,
        env = "FOUR_LEVELS_COMPILER",
        hide_possible_values = true,
        help_heading = "Device"
    )]
    pub compiler: Option<Compiler>,
}

impl CompilerArgs {
    /// The GPU, with the kernels that this compiler makes.
    #[must_use]
    pub const fn on(self, gpu: Gpu) -> Gpu {
        gpu.compiling_by(self.compiler)
    }
}

/// Compiles a kernel that was edited. Without a choice NVIDIA's compiler does it where it is found,
/// and the built-in one elsewhere, which is said once.
pub(crate) fn edited(choice: Option<Compiler>, file: &str, source: &str) -> Result<String> {
    static SAID: std::sync::Once = std::sync::Once::new();
    match choice {
        Some(compiler) => compile::by(compiler, file, source),
        None => match compile::by(Compiler::Nvrtc, file, source) {
            Err(GpuError::NoCompiler(_)) => {
                SAID.call_once(|| {
                    host::complain(format_args!(
                        "note: {file} was edited, and NVIDIA's compiler is not found; compiled by \
                         the built-in one{}",
                        library::passed_over("nvrtc")
                    ));
                });
                compile::by(Compiler::BuiltIn, file, source)
            }
            other => other,
        },
    }
}
