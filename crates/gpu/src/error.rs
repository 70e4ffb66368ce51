//! The errors of this crate.

use std::path::PathBuf;

use cudarc::driver::DriverError;
use thiserror::Error;

use crate::gpu;
use crate::probe::Unusable;

/// The result of functions in this crate.
pub type Result<T, E = GpuError> = std::result::Result<T, E>;

/// An error of the GPU, of a kernel, or of a compiler.
#[derive(Debug, Error)]
pub enum GpuError {
    /// A real GPU was requested, and none works.
    #[error("no NVIDIA GPU can be used: {0}; use --device emulated or --device auto")]
    NoGpu(Unusable),
    /// The emulated GPU's library can't be loaded.
    #[error("the emulated GPU can't be loaded: {0}")]
    NoEmulator(String),
    /// One of CUDA's libraries can't be loaded.
    #[error(
        "lib{library}.so can't be loaded ({reason}); install a CUDA toolkit or NVIDIA's Python wheel, \
        or set FOUR_LEVELS_{} to the file",
        library.to_uppercase()
    )]
    NoLibrary {
        /// The library's name, such as `cublas`.
        library: String,
        /// The loader's error.
        reason: String,
    },
    /// The process already uses one of the two drivers (real or emulated), and the other was
    /// requested.
    #[error("this process already computes on {0}, and can't load a second driver")]
    AlreadyChosen(String),
    /// The driver has fewer devices than were requested.
    #[error(
        "{asked} GPUs were requested, but the driver has {there}; --device emulated provides any number, \
        unless EMULATED_GPU_DEVICES limits it"
    )]
    Devices {
        /// The driver's devices.
        there: usize,
        /// The requested devices.
        asked: usize,
    },
    /// A function of the driver returned an error.
    #[error("the CUDA driver says {}{}", describe(.0), advice(.0, gpu::is_emulated()))]
    Driver(#[from] DriverError),
    /// The driver couldn't load PTX.
    #[error("the kernel {name} can't be loaded: the CUDA driver says {}{log}", describe(source))]
    Load {
        /// The kernel.
        name: String,
        /// The driver's error.
        source: DriverError,
        /// The messages of the driver's compiler, each on a new line; may be empty.
        log: String,
    },
    /// No kernel has that name.
    #[error("there is no kernel {0}; crates/gpu/src/kernels.rs lists those of the folder kernels")]
    NoKernel(String),
    /// A kernel's source was edited, and the requested compiler is missing.
    #[error(
        "{} was edited since its PTX was compiled, and NVIDIA's compiler, which --compiler nvrtc \
        requires, is missing: {reason}. Use --compiler built-in, or install NVRTC as a Python wheel: \
        `python3 -m venv .venv && . .venv/bin/activate && pip install nvidia-cuda-nvrtc-cu12`. It is \
        found in an active environment, in a CUDA toolkit, or at the path in FOUR_LEVELS_NVRTC",
        host::shown(path)
    )]
    Stale {
        /// The source.
        path: PathBuf,
        /// The reason why no compiler was found.
        reason: String,
    },
    /// A compiler rejects a kernel.
    #[error("{name} does not compile ({compiler}):\n{log}")]
    Compile {
        /// The source's name.
        name: String,
        /// The compiler.
        compiler: String,
        /// The compiler's messages.
        log: String,
    },
    /// There is no compiler for CUDA C.
    #[error("no compiler for CUDA C: {0}")]
    NoCompiler(String),
    /// A kernel's file can't be read.
    #[error("can't read {}: {reason}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        reason: String,
    },
    /// No batch is loaded.
    #[error("{operation}: no batch is loaded; load one first, or a smaller one where that failed")]
    NoBatch {
        /// The operation.
        operation: &'static str,
    },
    /// A buffer is smaller than its shape.
    #[error(
        "{operation}: {buffer} holds {elements} elements, and its shape needs {}",
        number(*expected)
    )]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The argument.
        buffer: &'static str,
        /// The buffer's elements.
        elements: usize,
        /// The number of elements in the shape; `usize::MAX` if that overflows.
        expected: usize,
    },
    /// A library of CUDA, such as cuBLAS, rejected a call.
    #[error("{0}")]
    Library(String),
    /// The size of a buffer in bytes overflows.
    #[error(
        "a buffer of {0} elements has more bytes than can be addressed: make the layers or the \
        batch smaller"
    )]
    TooLarge(usize),
}

impl From<GpuError> for training::Error {
    fn from(error: GpuError) -> Self {
        Self::level(error)
    }
}

/// Formats a number of elements that was computed by [`size`](crate::size).
fn number(elements: usize) -> String {
    if elements == usize::MAX { "more than can be counted".into() } else { elements.to_string() }
}

/// The driver's name and description of an error.
fn describe(error: &DriverError) -> String {
    match (error.error_name(), error.error_string()) {
        (Ok(name), Ok(words)) => {
            format!("{} ({})", name.to_string_lossy(), words.to_string_lossy())
        }
        _ => format!("error {}", error.0 as u32),
    }
}

/// The advice for an error of the driver.
fn advice(error: &DriverError, emulated: bool) -> &'static str {
    use cudarc::driver::sys::CUresult as Code;
    match error.0 {
        Code::CUDA_ERROR_ILLEGAL_ADDRESS
        | Code::CUDA_ERROR_MISALIGNED_ADDRESS
        | Code::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | Code::CUDA_ERROR_INVALID_PC
        | Code::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | Code::CUDA_ERROR_LAUNCH_FAILED
        | Code::CUDA_ERROR_ASSERT => {
            if emulated {
                "; the report above names the kernel, the line and the thread"
            } else {
                "; with --device emulated, the kernel, the line and the thread are named"
            }
        }
        Code::CUDA_ERROR_OUT_OF_MEMORY => "; a smaller --batch-size needs less",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult as Code;

    use super::*;

    #[test]
    fn errors_of_kernels_have_advice() {
        let fault = DriverError(Code::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert!(advice(&fault, true).contains("report above"));
        assert!(advice(&fault, false).contains("--device emulated"));
        assert!(
            advice(&DriverError(Code::CUDA_ERROR_OUT_OF_MEMORY), false).contains("--batch-size")
        );
        assert_eq!(advice(&DriverError(Code::CUDA_ERROR_INVALID_VALUE), false), "");
    }
}
