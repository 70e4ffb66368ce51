//! What the libraries say: on standard error, to a callback, into a log file.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Rejection, Status};

/// Called with the name of a function and a message.
pub type Callback = Arc<dyn Fn(&CStr, &CStr) + Send + Sync>;

/// Different messages that are shown on standard error, at most: addresses differ in a program that
/// goes on after every refusal.
const SHOWN: usize = 100;

/// Where one library's messages go.
pub struct Report {
    library: &'static str,
    state: Mutex<Option<State>>,
}

#[derive(Default)]
struct State {
    /// What was said already; a training loop that ignores statuses would say it forever.
    said: HashSet<String>,
    callback: Option<Callback>,
    file: Option<File>,
}

impl std::fmt::Debug for Report {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Report").field("library", &self.library).finish_non_exhaustive()
    }
}

impl Report {
    /// Messages of the library of that name.
    #[must_use]
    pub const fn new(library: &'static str) -> Self {
        Self { library, state: Mutex::new(None) }
    }

    /// Hands every message to a function, too.
    pub fn set_callback(&self, callback: Option<Callback>) {
        self.lock().get_or_insert_default().callback = callback;
    }

    /// Writes every message into a file, too, which is emptied first.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open_file(&self, path: &Path) -> std::io::Result<()> {
        self.set_file(Some(File::create(path)?));
        Ok(())
    }

    /// Writes every message into a file, too, or no longer.
    pub fn set_file(&self, file: Option<File>) {
        self.lock().get_or_insert_default().file = file;
    }

    /// Runs the body of an exported function and turns what comes of it into a status.
    pub fn guard(&self, function: &str, body: impl FnOnce() -> Result<(), Rejection>) -> i32 {
        let Err(rejection) = c_abi::guard(body) else { return Status::Success.code() };
        self.say(function, &rejection.to_string());
        rejection.status.code()
    }

    /// Says something: on standard error once, to callback and file every time.
    pub fn say(&self, function: &str, message: &str) {
        let line = format!("{function}: {message}");
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        if let Some(file) = &mut state.file {
            // A log that can't be written is no reason to fail what it is about.
            let _ = writeln!(file, "[Error][{function}] {message}");
        }
        let callback = state.callback.clone();
        if state.said.len() < SHOWN && state.said.insert(line.clone()) {
            c_abi::report(self.library, &line);
            if state.said.len() == SHOWN {
                c_abi::report(self.library, "further messages are not shown here");
            }
        }
        // It may call the library again.
        drop(guard);
        if let Some(callback) = callback
            && let (Ok(function), Ok(message)) = (CString::new(function), CString::new(message))
        {
            callback(&function, &message);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_rejection_becomes_its_status_and_is_said() {
        let report = Report::new("emulated test");
        let (sender, receiver) = mpsc::channel();
        let sender = Mutex::new(sender);
        report.set_callback(Some(Arc::new(move |function, message| {
            let both = (function.to_owned(), message.to_owned());
            sender.lock().expect("nobody panics").send(both).expect("the test waits for it");
        })));
        let refuse = || Err(Rejection::invalid("lda is 3"));
        assert_eq!(report.guard("cublasSgemm_v2", refuse), 7);
        let (function, message) = receiver.recv().expect("one message");
        assert_eq!(function.as_c_str(), c"cublasSgemm_v2");
        assert_eq!(message.as_c_str(), c"lda is 3 (CUBLAS_STATUS_INVALID_VALUE)");
        assert_eq!(report.guard("cublasSgemm_v2", || Ok(())), 0);
    }

    #[test]
    fn a_panic_stays_inside() {
        let report = Report::new("emulated test");
        assert_eq!(report.guard("cublasCreate_v2", || panic!("on purpose")), 14);
    }
}
