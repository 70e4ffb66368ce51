//! Output of a kernel's `printf`, up to a limit.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::Output;

/// Collects the output of kernels.
#[derive(Clone, Debug, Default)]
pub struct Printed(Arc<Mutex<Text>>);

#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    most: usize,
    left_out: bool,
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.left_out |= bytes.len() > room;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Printed {
    /// A collector that keeps the first `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Text { most, ..Text::default() })))
    }

    /// An output to set on a device, so that its kernels print into this collector.
    #[must_use]
    pub fn output(&self) -> Output {
        Output::to(self.0.clone())
    }

    /// The output so far, with "…" at its end if more was printed.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let more = if text.left_out { "…\n" } else { "" };
        format!("{}{more}", String::from_utf8_lossy(&text.bytes))
    }
}
