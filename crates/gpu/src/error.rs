//! What can go wrong between a level and its GPU.

use std::path::PathBuf;

use cudarc::driver::DriverError;
use thiserror::Error;

use crate::gpu;
use crate::probe::Unusable;

/// The result of everything in this crate.
pub type Result<T, E = GpuError> = std::result::Result<T, E>;

/// Why there is no GPU, no kernel, or no result. The message says what, where and what to do next.
#[derive(Debug, Error)]
pub enum GpuError {
    /// The real GPU was asked for, and there is none that can be used.
    #[error("no NVIDIA GPU can be used: {0}; --device emulated needs none")]
    NoGpu(Unusable),
    /// The emulated GPU's library can't be loaded.
    #[error("the emulated GPU can't be loaded: {reason}")]
    NoEmulator {
        /// What the loader says.
        reason: String,
    },
    /// One of CUDA's libraries can't be loaded.
    #[error(
        "lib{library}.so can't be loaded ({reason}); it comes with a CUDA toolkit and in NVIDIA's \
         Python wheels, and FOUR_LEVELS_{} may name the file",
        library.to_uppercase()
    )]
    NoLibrary {
        /// Its name, such as `cublas`.
        library: String,
        /// What the loader says.
        reason: String,
    },
    /// The process computes on one device already, and the other was asked for.
    #[error("this process computes on {device} already, and a process has one driver")]
    AlreadyChosen {
        /// The device that was chosen first.
        device: String,
    },
    /// There are fewer devices than a program wants to use.
    #[error(
        "{asked} GPUs are asked for, and the driver shows {there}; the emulated GPU (--device \
         emulated) is as many as are asked for, unless EMULATED_GPU_DEVICES says how many"
    )]
    Devices {
        /// Those that there are.
        there: usize,
        /// Those that are asked for.
        asked: usize,
    },
    /// The driver refused something.
    #[error("the CUDA driver says {}{}", describe(.0), advice(.0, gpu::is_emulated()))]
    Driver(#[from] DriverError),
    /// The driver refused to load PTX.
    #[error("the kernel {name} can't be loaded: the CUDA driver says {}{log}", describe(source))]
    Load {
        /// The kernel.
        name: String,
        /// What the driver says.
        source: DriverError,
        /// What its compiler says, on lines of its own; may be empty.
        log: String,
    },
    /// A kernel of that name is not in the list.
    #[error("there is no kernel {0}; crates/gpu/src/kernels.rs lists those of the folder kernels")]
    NoKernel(String),
    /// A kernel's source was edited, and the compiler that was asked for is missing.
    #[error(
        "{} was edited since its PTX was compiled, and NVIDIA's compiler, which was asked for, is \
         missing: {reason}. --compiler built-in needs none. NVRTC comes as a Python wheel: `python3 \
         -m venv .venv && . .venv/bin/activate && pip install nvidia-cuda-nvrtc-cu12`; it is found in \
         an active environment, in a CUDA toolkit, or where FOUR_LEVELS_NVRTC says",
        host::shown(path)
    )]
    Stale {
        /// The source.
        path: PathBuf,
        /// What was looked for.
        reason: String,
    },
    /// A compiler does not accept a kernel.
    #[error("{name} does not compile ({compiler}):\n{log}")]
    Compile {
        /// The source's name.
        name: String,
        /// The compiler.
        compiler: String,
        /// What it says.
        log: String,
    },
    /// No compiler for CUDA C is found.
    #[error("no compiler for CUDA C: {0}")]
    NoCompiler(String),
    /// A kernel's file can't be read.
    #[error("can't read {}: {reason}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// There is nothing to compute on.
    #[error("{operation}: no batch is loaded; load one first, or a smaller one where that failed")]
    NoBatch {
        /// The operation.
        operation: &'static str,
    },
    /// A buffer is smaller than the shape that goes with it.
    #[error(
        "{operation}: {buffer} holds {elements} elements, and its shape asks for {}",
        number(*expected)
    )]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The argument.
        buffer: &'static str,
        /// What it holds.
        elements: usize,
        /// What the shape asks for; `usize::MAX` if that can't be counted.
        expected: usize,
    },
    /// A buffer would have more bytes than can be counted.
    #[error(
        "a buffer of {elements} elements has more bytes than can be counted: make the layers or the \
         batch smaller"
    )]
    TooLarge {
        /// The elements.
        elements: usize,
    },
}

impl From<GpuError> for training::Error {
    fn from(error: GpuError) -> Self {
        Self::level(error)
    }
}

/// A number of elements, as [`size`](crate::size) counts them.
fn number(elements: usize) -> String {
    if elements == usize::MAX { "more than can be counted".into() } else { elements.to_string() }
}

/// The name and the words that the driver has for an error.
fn describe(error: &DriverError) -> String {
    let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
    let words = error.error_string().map(|words| words.to_string_lossy().into_owned());
    match (name, words) {
        (Ok(name), Ok(words)) => format!("{name} ({words})"),
        _ => format!("error {}", error.0 as u32),
    }
}

/// What to do next about an error that says too little by itself.
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
    fn a_kernel_s_fault_says_where_to_look() {
        let fault = DriverError(Code::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert!(advice(&fault, true).contains("report above"));
        assert!(advice(&fault, false).contains("--device emulated"));
        assert!(
            advice(&DriverError(Code::CUDA_ERROR_OUT_OF_MEMORY), false).contains("--batch-size")
        );
        assert_eq!(advice(&DriverError(Code::CUDA_ERROR_INVALID_VALUE), false), "");
    }
}
