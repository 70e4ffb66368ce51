//! Logging: a callback and a file for messages.

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use c_abi::export;
use emulated_blas::{Rejection, reject_if};

use crate::ffi::{LOG, Text};

/// A callback for messages. Its arguments are the level, the name of the function, and the message.
type LogCallback = Option<unsafe extern "C" fn(c_int, *const c_char, *const c_char)>;

/// The level of errors; there are no other messages.
const ERROR: c_int = 1;

export! {
    /// Sets a callback for every message; null removes it.
    fn cublasLtLoggerSetCallback(callback: LogCallback) {
        LOG.set_callback(callback.map(|callback| -> emulated_blas::Callback {
            Arc::new(move |function, message| {
                // SAFETY: the program set this callback, and both texts are valid during the call.
                unsafe { callback(ERROR, function.as_ptr(), message.as_ptr()) };
            })
        }));
        Ok(())
    }

    /// Writes messages into a file with this name.
    fn cublasLtLoggerOpenFile(log_file: Text<'_>) {
        log_file.require_as("logFile")?;
        let path = Path::new(OsStr::from_bytes(log_file.bytes()?));
        LOG.open_file(path).map_err(|error| {
            Rejection::invalid(format!("logFile {}: {error}", path.display()))
        })
    }

    /// Sets the log file. Null closes the file; a C `FILE` is not supported.
    fn cublasLtLoggerSetFile(file: *mut c_void) {
        reject_if!(!file.is_null(), unsupported, "messages can't be written to a FILE: use cublasLtLoggerOpenFile");
        LOG.set_file(None);
        Ok(())
    }

    /// Checks the level. It has no effect: all messages are errors, which are always written.
    fn cublasLtLoggerSetLevel(level: c_int) {
        if (0..=6).contains(&level) {
            return Ok(());
        }
        Err(Rejection::invalid(format!("level is {level}: it must be from 0 to 6")))
    }

    /// Ignored; see [`cublasLtLoggerSetLevel`].
    fn cublasLtLoggerSetMask(mask: c_int) {
        let _ = mask;
        Ok(())
    }

    /// Removes the callback and closes the file.
    fn cublasLtLoggerForceDisable() {
        LOG.set_callback(None);
        LOG.set_file(None);
        Ok(())
    }
}
