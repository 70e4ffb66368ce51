//! Messages for a program that wants them: a callback, a file.

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use c_abi::export;
use emulated_blas::Rejection;

use crate::ffi::{REPORT, Text};

/// Level, name of the function, message.
type LogCallback = Option<unsafe extern "C" fn(c_int, *const c_char, *const c_char)>;

/// The level of errors, the only messages there are.
const ERROR: c_int = 1;

export! {
    /// Calls a function with every message.
    fn cublasLtLoggerSetCallback(callback: LogCallback) {
        REPORT.set_callback(callback.map(|callback| -> emulated_blas::Callback {
            Arc::new(move |function, message| {
                // SAFETY: the program gave the function for this; both texts live for the call.
                unsafe { callback(ERROR, function.as_ptr(), message.as_ptr()) };
            })
        }));
        Ok(())
    }

    /// Writes messages into a file of that name.
    fn cublasLtLoggerOpenFile(log_file: Text<'_>) {
        log_file.required_as("logFile")?;
        let path = Path::new(OsStr::from_bytes(log_file.bytes()?));
        REPORT.open_file(path).map_err(|error| {
            Rejection::invalid(format!("logFile {}: {error}", path.display()))
        })
    }

    /// A `FILE` of C's is not written to; null ends a log file.
    fn cublasLtLoggerSetFile(file: *mut c_void) {
        if !file.is_null() {
            return Err(Rejection::unsupported(
                "messages are not written to a FILE: give cublasLtLoggerOpenFile a name",
            ));
        }
        REPORT.set_file(None);
        Ok(())
    }

    /// Which messages are written: errors always are, and there are no others.
    fn cublasLtLoggerSetLevel(level: c_int) {
        if (0..=6).contains(&level) {
            return Ok(());
        }
        Err(Rejection::invalid(format!("level is {level}: it has to be from 0 to 6")))
    }

    /// As [`cublasLtLoggerSetLevel`].
    fn cublasLtLoggerSetMask(mask: c_int) {
        let _ = mask;
        Ok(())
    }

    /// No callback and no file from now on.
    fn cublasLtLoggerForceDisable() {
        REPORT.set_callback(None);
        REPORT.set_file(None);
        Ok(())
    }
}
