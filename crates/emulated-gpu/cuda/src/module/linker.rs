//! The run-time linker (`cuLinkCreate`).

#![allow(unsafe_code, reason = "writes to the log that a program named")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_emulator::source::Source;

use crate::abi::error::{Error, Refusal};
use crate::abi::ffi::say;
use crate::module::jit_options::JitOptions;

/// What has been given to a linker.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    pub(crate) work: Mutex<Work>,
    /// What was said when it was made.
    pub(crate) logs: JitOptions,
}

#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) texts: Vec<Source>,
    /// What was made of them, ending in NUL: the image that is handed out points here.
    pub(crate) image: Option<Vec<u8>>,
    /// How many registers what is linked may have.
    pub(crate) max_registers: Option<u32>,
}

impl Linker {
    pub(crate) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of a text, which goes to the log that was asked for.
    pub(crate) fn refuse(&self, Refusal { code, log }: Refusal) -> Error {
        // SAFETY: the linker is there, and with it the buffers.
        unsafe { self.logs.write("", &log) };
        if !self.logs.has_error_log() {
            say(&log);
        }
        code.because(log)
    }
}
