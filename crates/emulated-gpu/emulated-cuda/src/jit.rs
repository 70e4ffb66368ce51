//! What programs say of loading and linking code: `CUjit_option`.

use crate::abi::{In, JitValue, Out};
use crate::error::Result;

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
    buffer: Out<u8>,
    size: usize,
    /// Where in the list the size stands: it is overwritten with what was used.
    size_at: Option<usize>,
}

/// What the options say: the logs that are wanted, and how many registers a thread may have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JitOptions {
    info: Log,
    error: Log,
    values: Out<JitValue>,
    max_registers: Option<u32>,
}

impl JitOptions {
    /// Reads the options; others than those about logs and registers have no effect here.
    ///
    /// # Errors
    /// `INVALID_VALUE` for options that are null.
    pub(crate) fn of(count: u32, options: In<u32>, values: Out<JitValue>) -> Result<Self> {
        let mut logs = Self { values, ..Self::default() };
        let (names, values) =
            (options.list(count as usize)?, values.read_only().list(count as usize)?);
        for (at, (name, value)) in names.into_iter().zip(values).enumerate() {
            let number = value.address() & 0xffff_ffff;
            match name {
                // A number too; 0 asks for no limit.
                MAX_REGISTERS => {
                    logs.max_registers = Some(number as u32).filter(|&most| most > 0);
                }
                INFO_LOG => logs.info.buffer = value,
                ERROR_LOG => logs.error.buffer = value,
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
        !self.error.buffer.is_null() && self.error.size > 1
    }

    /// Writes both logs.
    pub(crate) fn write(&self, info: &str, error: &str) {
        for (log, text) in [(self.info, info), (self.error, error)] {
            let fits = text.len().min(log.size.saturating_sub(1));
            if !log.buffer.is_null() && log.size > 0 {
                log.buffer.set_all(text.bytes().take(fits).chain([0]));
            }
            if let Some(at) = log.size_at {
                self.values.cast::<usize>().offset(at).set_if_wanted(fits);
            }
        }
    }
}
