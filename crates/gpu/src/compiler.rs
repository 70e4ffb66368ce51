//! The option `--compiler`, and the choice of the compiler for kernels in CUDA C.

use clap::{Args, ValueEnum};

use crate::{GpuError, Result, compile, library};

/// A compiler of CUDA C to PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compiler {
    /// NVIDIA's compiler: the library NVRTC or, if that is missing, the command nvcc.
    Nvrtc,
    /// This project's compiler, the crate `cuda-c`.
    BuiltIn,
}

/// The option `--compiler` of the levels with kernels in CUDA C.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CompilerArgs {
    /// nvrtc: use the shipped PTX, recompile edited kernels with NVRTC, and fail if it isn't installed;
    /// built-in: compile every kernel with cuda-c, this project's compiler [default: nvrtc, with cuda-c
    /// as the fallback for edited kernels].
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

/// Compiles an edited kernel. If the user hasn't chosen a compiler, uses NVIDIA's or, if that is missing, the built-in
/// one. The first such fallback prints a note.
pub(crate) fn compile_edited(choice: Option<Compiler>, file: &str, source: &str) -> Result<String> {
    static FALLBACK_NOTE: std::sync::Once = std::sync::Once::new();
    match compile::with_compiler(choice.unwrap_or(Compiler::Nvrtc), file, source) {
        Err(GpuError::NoCompiler(_)) if choice.is_none() => {
            FALLBACK_NOTE.call_once(|| {
                host::complain(format_args!(
                    "note: {file} was edited, and NVIDIA's compiler is not found; compiled by \
                    the built-in one{}",
                    library::unloaded_file_hint("nvrtc")
                ));
            });
            compile::with_compiler(Compiler::BuiltIn, file, source)
        }
        other => other,
    }
}
