//! Computing without recording a graph.

use std::cell::Cell;

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
}

/// Runs a closure without recording operations: its results are leaves without gradients.
/// For predicting and testing, which don't need the memory of a graph.
pub fn no_grad<R>(run: impl FnOnce() -> R) -> R {
    /// Restores the previous recording state on drop, even if the closure panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDING.set(self.0);
        }
    }
    let _restore = Restore(RECORDING.replace(false));
    run()
}

/// Whether operations are being recorded.
pub(crate) fn recording() -> bool {
    RECORDING.get()
}
