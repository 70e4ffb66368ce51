//! Logging: a callback and a file for messages.

use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use c_abi::export;
use emulated_blas::Rejection;

use crate::ffi::{LOG, Out, Text};

type LogCallback = Option<unsafe extern "C" fn(*const c_char)>;

static CALLBACK: Mutex<LogCallback> = Mutex::new(None);

export! {
    /// Sets a callback for every message; null removes it.
    fn cublasSetLoggerCallback(callback: LogCallback) {
        *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner) = callback;
        LOG.set_callback(callback.map(|callback| -> emulated_blas::Callback {
            Arc::new(move |_, message| {
                // SAFETY: the program set this callback, and the text is valid during the call.
                unsafe { callback(message.as_ptr()) };
            })
        }));
        Ok(())
    }

    /// Returns the callback.
    fn cublasGetLoggerCallback(callback: Out<'_, LogCallback>) {
        let current = *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
        callback.set_as(current, "userCallback")
    }

    /// Writes messages into a file. Errors go to standard error in any case.
    fn cublasLoggerConfigure(
        on: c_int,
        to_stdout: c_int,
        to_stderr: c_int,
        file_name: Text<'_>,
    ) {
        let _ = (to_stdout, to_stderr);
        let Some(name) = file_name.bytes().ok().filter(|_| on != 0) else {
            LOG.set_file(None);
            return Ok(());
        };
        let path = Path::new(OsStr::from_bytes(name));
        LOG.open_file(path).map_err(|error| {
            Rejection::invalid(format!("logFileName {}: {error}", path.display()))
        })
    }
}
