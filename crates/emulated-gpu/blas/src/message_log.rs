//! The log of the libraries' messages: on standard error, to a callback, and into a file.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Result, Status};

/// A callback that receives the name of a function and a message.
pub type Callback = Arc<dyn Fn(&CStr, &CStr) + Send + Sync>;

/// The maximum number of different messages on standard error. A program that continues after every
/// error can produce endlessly many, because they contain addresses.
const MAX_SHOWN: usize = 100;

/// The destinations of one library's messages.
pub struct MessageLog {
    library: &'static str,
    state: Mutex<Option<LogState>>,
}

#[derive(Default)]
struct LogState {
    /// The messages printed so far, so that a training loop that ignores errors prints each message
    /// only once.
    printed: HashSet<String>,
    callback: Option<Callback>,
    file: Option<File>,
}

impl std::fmt::Debug for MessageLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MessageLog").field("library", &self.library).finish_non_exhaustive()
    }
}

impl MessageLog {
    /// The log of the library with this name.
    #[must_use]
    pub const fn new(library: &'static str) -> Self {
        Self { library, state: Mutex::new(None) }
    }

    /// Also passes every message to a callback; `None` removes it.
    pub fn set_callback(&self, callback: Option<Callback>) {
        self.state().get_or_insert_default().callback = callback;
    }

    /// Also writes every message into a file, which is truncated first.
    ///
    /// # Errors
    /// The error of the operating system if the file can't be created.
    pub fn open_file(&self, path: &Path) -> std::io::Result<()> {
        self.set_file(Some(File::create(path)?));
        Ok(())
    }

    /// Also writes every message into a file; `None` stops that.
    pub fn set_file(&self, file: Option<File>) {
        self.state().get_or_insert_default().file = file;
    }

    /// Runs the body of an exported function and returns its status; an error is reported.
    pub fn guard(&self, function: &str, body: impl FnOnce() -> Result) -> i32 {
        let Err(rejection) = c_abi::guard(body) else { return Status::Success.code() };
        self.report(function, &rejection.to_string());
        rejection.status.code()
    }

    /// Reports a message: once on standard error, every time to the callback and the file.
    pub fn report(&self, function: &str, message: &str) {
        let line = format!("{function}: {message}");
        let mut guard = self.state();
        let state = guard.get_or_insert_default();
        if let Some(file) = &mut state.file {
            // A failure to write the log must not fail the call.
            let _ = writeln!(file, "[Error][{function}] {message}");
        }
        let callback = state.callback.clone();
        if state.printed.len() < MAX_SHOWN && state.printed.insert(line.clone()) {
            c_abi::report(self.library, &line);
            if state.printed.len() == MAX_SHOWN {
                c_abi::report(self.library, "further messages are not printed here");
            }
        }
        // The lock is released first, because the callback may call the library again.
        drop(guard);
        if let Some(callback) = callback
            && let (Ok(function), Ok(message)) = (CString::new(function), CString::new(message))
        {
            callback(&function, &message);
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<LogState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn rejections_return_their_status_and_are_reported() {
        let log = MessageLog::new("emulated test");
        let (sender, receiver) = mpsc::channel();
        let sender = Mutex::new(sender);
        log.set_callback(Some(Arc::new(move |function, message| {
            let both = (function.to_owned(), message.to_owned());
            sender.lock().expect("no thread panics").send(both).expect("the test waits for it");
        })));
        let refuse = || Err(crate::Rejection::invalid("lda is 3"));
        assert_eq!(log.guard("cublasSgemm_v2", refuse), 7);
        let (function, message) = receiver.recv().expect("one message");
        assert_eq!(function.as_c_str(), c"cublasSgemm_v2");
        assert_eq!(message.as_c_str(), c"lda is 3 (CUBLAS_STATUS_INVALID_VALUE)");
        assert_eq!(log.guard("cublasSgemm_v2", || Ok(())), 0);
    }

    #[test]
    fn panics_become_an_internal_error() {
        let log = MessageLog::new("emulated test");
        assert_eq!(log.guard("cublasCreate_v2", || panic!("on purpose")), 14);
    }
}
