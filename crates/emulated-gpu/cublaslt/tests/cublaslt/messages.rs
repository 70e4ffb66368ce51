//! Captures the messages of the library.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Once;

use libloading::os::unix::Library;

use crate::support::install;

/// The library's messages in this thread.
pub(crate) struct Messages(());

thread_local! {
    static RECEIVED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn record(_level: c_int, function: *const c_char, message: *const c_char) {
    // SAFETY: the library passes valid texts.
    let text = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let line = format!("{}: {}", text(function), text(message));
    RECEIVED.with_borrow_mut(|take_messages| take_messages.push(line));
}

type LogCallback = unsafe extern "C" fn(c_int, *const c_char, *const c_char);

impl Messages {
    pub(crate) fn capture() -> Self {
        static REGISTERED: Once = Once::new();
        install();
        REGISTERED.call_once(|| {
            // SAFETY: the function has the documented type.
            unsafe {
                let library = Library::new("libcublasLt.so").unwrap();
                let set: extern "C" fn(LogCallback) -> c_int =
                    *library.get(b"cublasLtLoggerSetCallback\0").unwrap();
                assert_eq!(set(record), 0);
            }
        });
        RECEIVED.take();
        Self(())
    }

    /// The messages since the last call.
    pub(crate) fn take_messages(&self) -> Vec<String> {
        RECEIVED.take()
    }

    /// Asserts that one of the messages since the last call contains all these texts.
    pub(crate) fn expect(&self, texts: &[&str]) {
        let take_messages = self.take_messages();
        let has_all = |message: &String| texts.iter().all(|text| message.contains(text));
        assert!(take_messages.iter().any(has_all), "{texts:?} is missing in {take_messages:?}");
    }
}
