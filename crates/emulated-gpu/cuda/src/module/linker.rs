//! The run-time linker (`cuLinkCreate`).

#![allow(unsafe_code, reason = "writes to the program's log buffer")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_emulator::source::Source;

use crate::abi::error::{Error, Refusal};
use crate::abi::ffi::report;
use crate::module::jit_options::JitOptions;

/// A linker, with its inputs and options.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    pub(crate) work: Mutex<LinkState>,
    /// The log buffers that were passed when the linker was created.
    pub(crate) logs: JitOptions,
}

/// The inputs of a linker, and its result.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    pub(crate) texts: Vec<Source>,
    /// The linked image, ending in NUL. The program receives a pointer to it.
    pub(crate) image: Option<Vec<u8>>,
    /// The maximum number of registers per thread of the linked code.
    pub(crate) max_registers: Option<u32>,
}

impl Linker {
    pub(crate) fn work(&self) -> MutexGuard<'_, LinkState> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Converts a text's errors to the call's error, and writes them to the log buffer, or to standard error if there
    /// is no buffer.
    pub(crate) fn log_error(&self, Refusal { code, log }: Refusal) -> Error {
        // SAFETY: the log buffers stay valid as long as the linker exists.
        unsafe { self.logs.write("", &log) };
        if !self.logs.has_error_log() {
            report(&log);
        }
        code.because(log)
    }
}
