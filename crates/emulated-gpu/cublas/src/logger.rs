//! Messages for a program that wants them: a callback, a file.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use emulated_blas::{Rejection, put};

use crate::ffi::{REPORT, export};

type LogCallback = Option<unsafe extern "C" fn(*const c_char)>;

static CALLBACK: Mutex<LogCallback> = Mutex::new(None);

export! {
    /// Calls a function with every message.
    fn cublasSetLoggerCallback(callback: LogCallback) {
        *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner) = callback;
        REPORT.set_callback(callback.map(|callback| -> emulated_blas::Callback {
            Arc::new(move |_, message| {
                // SAFETY: the program gave the function for this; the text lives for the call.
                unsafe { callback(message.as_ptr()) };
            })
        }));
        Ok(())
    }

    /// The function that is called with every message.
    fn cublasGetLoggerCallback(callback: *mut LogCallback) {
        let known = *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
        put(callback, known, "userCallback")
    }

    /// Writes messages into a file. What is wrong is on standard error in any case.
    fn cublasLoggerConfigure(
        on: c_int,
        to_stdout: c_int,
        to_stderr: c_int,
        file_name: *const c_char,
    ) {
        let _ = (to_stdout, to_stderr);
        if on == 0 || file_name.is_null() {
            REPORT.set_file(None);
            return Ok(());
        }
        let name = CStr::from_ptr(file_name);
        let path = Path::new(OsStr::from_bytes(name.to_bytes()));
        REPORT.open_file(path).map_err(|error| {
            Rejection::invalid(format!("logFileName {}: {error}", path.display()))
        })
    }
}
