//! Captures the messages of the library.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use libloading::os::unix::Library;

use crate::support::install;

/// The library's messages; only one test at a time can capture them.
pub(crate) struct Messages(
    #[expect(dead_code, reason = "held for its `Drop`")] MutexGuard<'static, ()>,
);

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn hear(_level: c_int, function: *const c_char, message: *const c_char) {
    // SAFETY: the library passes valid texts.
    let text = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let line = format!("{}: {}", text(function), text(message));
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

type Hear = unsafe extern "C" fn(c_int, *const c_char, *const c_char);

impl Messages {
    pub(crate) fn listen() -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        static REGISTERED: Once = Once::new();
        install();
        let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        REGISTERED.call_once(|| {
            // SAFETY: the function has the documented type.
            unsafe {
                let library = Library::new("libcublasLt.so").unwrap();
                let set: extern "C" fn(Hear) -> c_int =
                    *library.get(b"cublasLtLoggerSetCallback\0").unwrap();
                assert_eq!(set(hear), 0);
            }
        });
        HEARD.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Self(guard)
    }

    /// The messages since the last call.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *HEARD.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asserts that one of the messages since the last call contains all these texts; the others
    /// may come from other tests.
    pub(crate) fn expect(&self, said: &[&str]) {
        let heard = self.heard();
        let says_all = |message: &String| said.iter().all(|text| message.contains(text));
        assert!(heard.iter().any(says_all), "{said:?} is missing in {heard:?}");
    }
}
