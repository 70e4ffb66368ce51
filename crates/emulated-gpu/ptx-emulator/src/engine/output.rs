//! The output stream of `printf` in kernels.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The destination of kernel output: standard output, or a custom writer.
#[derive(Clone, Default)]
pub struct Output(Option<Arc<Mutex<dyn Write + Send>>>);

impl Output {
    /// Sends the output to a custom writer.
    #[must_use]
    pub fn to(writer: Arc<Mutex<dyn Write + Send>>) -> Self {
        Self(Some(writer))
    }

    /// Writes some output. Errors are ignored, because there is no way to report them to a kernel.
    pub(super) fn write(&self, text: &[u8]) {
        let _ = match &self.0 {
            Some(writer) => writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(text),
            None => {
                let mut out = std::io::stdout().lock();
                out.write_all(text).and_then(|()| out.flush())
            }
        };
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "a writer" } else { "standard output" })
    }
}
