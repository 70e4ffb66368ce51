//! Options for loading and linking code (`CUjit_option`).

#![allow(unsafe_code, reason = "writes to the buffers that a program named")]

use crate::abi::error::Result;
use crate::abi::{In, JitValue, List, Out};

/// `CU_JIT_MAX_REGISTERS`
const MAX_REGISTERS: u32 = 0;
/// `CUjit_option`s that carry a log back.
const INFO_LOG: u32 = 3;
const INFO_LOG_SIZE: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;

/// Where the caller wants the log of loading, and how much space there is.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    /// Its address, or 0.
    buffer: usize,
    size: usize,
    /// Where in the list the size stands: it is overwritten with what was used.
    size_at: Option<usize>,
}

/// What the options say: the logs that are wanted, and how many registers a thread may have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JitOptions {
    info: Log,
    error: Log,
    /// The address of the values.
    values: usize,
    max_registers: Option<u32>,
}

impl JitOptions {
    /// Reads the options; others than those about logs and registers have no effect here.
    ///
    /// # Safety
    /// Unless they are null, there are as many names and values.
    ///
    /// # Errors
    /// `INVALID_VALUE` for options that are null.
    pub(crate) unsafe fn of(count: u32, options: In<u32>, values: Out<JitValue>) -> Result<Self> {
        let mut logs = Self { values: values.address(), ..Self::default() };
        // SAFETY: the caller's promise.
        let (names, values) =
            unsafe { (options.list(count as usize)?, values.read_only().list(count as usize)?) };
        for (at, (name, value)) in names.into_iter().zip(values).enumerate() {
            let number = value.address() & 0xffff_ffff;
            match name {
                // A number too; 0 asks for no limit.
                MAX_REGISTERS => {
                    logs.max_registers = Some(number as u32).filter(|&most| most > 0);
                }
                INFO_LOG => logs.info.buffer = value.address(),
                ERROR_LOG => logs.error.buffer = value.address(),
                // The size is a number, passed as if it were a pointer.
                INFO_LOG_SIZE => (logs.info.size, logs.info.size_at) = (number, Some(at)),
                ERROR_LOG_SIZE => (logs.error.size, logs.error.size_at) = (number, Some(at)),
                _ => {}
            }
        }
        Ok(logs)
    }

    /// How many registers a thread may have.
    pub(crate) fn max_registers(&self) -> Option<u32> {
        self.max_registers
    }

    /// Whether somebody will read what went wrong.
    pub(crate) fn has_error_log(&self) -> bool {
        self.error.buffer != 0 && self.error.size > 1
    }

    /// Writes both logs.
    ///
    /// # Safety
    /// The program's buffers and values are still there: during the call that it passed them to, and of a linker
    /// until that is destroyed (`cuLinkCreate`).
    pub(crate) unsafe fn write(&self, info: &str, error: &str) {
        for (log, text) in [(self.info, info), (self.error, error)] {
            let fits = text.len().min(log.size.saturating_sub(1));
            if log.buffer != 0 && log.size > 0 {
                let buffer = log.buffer as *mut u8;
                // SAFETY: there is room for `size` bytes, by what the program says, which is more than `fits`.
                unsafe {
                    buffer.copy_from_nonoverlapping(text.as_ptr(), fits);
                    buffer.add(fits).write(0);
                }
            }
            if let Some(at) = log.size_at {
                // SAFETY: it is one of the values, which are as wide as pointers.
                unsafe { (self.values as *mut usize).add(at).write_unaligned(fits) };
            }
        }
    }
}
