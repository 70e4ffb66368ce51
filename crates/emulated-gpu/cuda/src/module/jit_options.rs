//! Options for loading and linking code (`CUjit_option`).

#![allow(unsafe_code, reason = "writes to buffers of the program")]

use crate::abi::error::Result;
use crate::abi::{In, JitValue, List, Out};

/// `CU_JIT_MAX_REGISTERS`
const MAX_REGISTERS: u32 = 0;
/// The option for the buffer of the info log. Logs are written back to the program.
const INFO_LOG: u32 = 3;
const INFO_LOG_SIZE: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;

/// A log buffer that the program passed, and its size.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    /// The buffer's address, or 0.
    buffer: usize,
    size: usize,
    /// The index of the size in the list of values, where the used size is written.
    size_index: Option<usize>,
}

/// The supported options: the log buffers, and the maximum number of registers per thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JitOptions {
    info: Log,
    error: Log,
    /// The address of the list of values.
    values: usize,
    max_registers: Option<u32>,
}

impl JitOptions {
    /// Reads the options. Options other than logs and registers have no effect.
    ///
    /// # Safety
    /// Unless the lists are null, each has `count` elements.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a list is null although `count` isn't 0.
    pub(crate) unsafe fn read(count: u32, options: In<u32>, values: Out<JitValue>) -> Result<Self> {
        let mut logs = Self { values: values.address(), ..Self::default() };
        // SAFETY: guaranteed by the caller.
        let (names, values) =
            unsafe { (options.list(count as usize)?, values.read_only().list(count as usize)?) };
        for (at, (name, value)) in names.into_iter().zip(values).enumerate() {
            let number = value.address() & 0xffff_ffff;
            match name {
                // A number cast to a pointer; 0 means no limit.
                MAX_REGISTERS => {
                    logs.max_registers = Some(number as u32).filter(|&max| max > 0);
                }
                INFO_LOG => logs.info.buffer = value.address(),
                ERROR_LOG => logs.error.buffer = value.address(),
                // The size is a number cast to a pointer.
                INFO_LOG_SIZE => (logs.info.size, logs.info.size_index) = (number, Some(at)),
                ERROR_LOG_SIZE => (logs.error.size, logs.error.size_index) = (number, Some(at)),
                _ => {}
            }
        }
        Ok(logs)
    }

    /// The maximum number of registers per thread.
    pub(crate) fn max_registers(&self) -> Option<u32> {
        self.max_registers
    }

    /// Whether the program passed a buffer for errors.
    pub(crate) fn has_error_log(&self) -> bool {
        self.error.buffer != 0 && self.error.size > 1
    }

    /// Writes both logs.
    ///
    /// # Safety
    /// The program's buffers and values are still valid: during the call that received them, and for a linker until
    /// it is destroyed (`cuLinkCreate`).
    pub(crate) unsafe fn write(&self, info: &str, error: &str) {
        for (log, text) in [(self.info, info), (self.error, error)] {
            let fits = text.len().min(log.size.saturating_sub(1));
            if log.buffer != 0 && log.size > 0 {
                let buffer = log.buffer as *mut u8;
                // SAFETY: the program states that the buffer has `size` bytes, which is more than the `fits` bytes that
                // are written.
                unsafe {
                    buffer.copy_from_nonoverlapping(text.as_ptr(), fits);
                    buffer.add(fits).write(0);
                }
            }
            if let Some(at) = log.size_index {
                // SAFETY: `at` is the index of an element of the list of values, which are as wide as pointers.
                unsafe { (self.values as *mut usize).add(at).write_unaligned(fits) };
            }
        }
    }
}
