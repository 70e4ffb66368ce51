//! CUDA's error codes, and the driver's error type.

use ptx_emulator::memory::OutOfMemory;

pub(crate) use c_abi::{Code, CudaError as Error, fail_if};

/// The reason why an image was refused: the error code, and the text for the caller's log.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) log: String,
}

/// The result of a driver call.
pub(crate) type Result<T = (), E = Error> = std::result::Result<T, E>;

/// The error `OUT_OF_MEMORY`, if the host is out of memory.
pub(crate) fn out_of_memory(error: OutOfMemory) -> Error {
    Code::OUT_OF_MEMORY.because(format!("the host is out of memory: {error}"))
}
