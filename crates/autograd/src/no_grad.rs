//! Computing without remembering how.

use std::cell::Cell;

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
}

/// Runs a closure in which no operation is recorded: what it computes are leaves that need no
/// gradient. For predicting and testing, where a graph would only take memory.
pub fn no_grad<R>(run: impl FnOnce() -> R) -> R {
    /// Puts the old state back, however the closure ends.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDING.set(self.0);
        }
    }
    let _restore = Restore(RECORDING.replace(false));
    run()
}

/// Whether operations are recorded now.
pub(crate) fn recording() -> bool {
    RECORDING.get()
}
