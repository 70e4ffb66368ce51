//! CUDA's error codes, and what goes wrong in the driver.

use ptx_emulator::memory::OutOfMemory;

pub(crate) use c_abi::{Code, CudaError as Error, fail_if};

/// What was wrong with an image, for the log that the caller may have passed.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) log: String,
}

/// What every call comes to.
pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

/// The host is out of memory.
pub(crate) fn out_of_memory(error: OutOfMemory) -> Error {
    Code::OUT_OF_MEMORY.because(format!("the host has not the room: {error}"))
}
