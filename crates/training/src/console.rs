//! What a run says on the terminal, and Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::train::Accuracy;

/// Where a run writes its lines: standard output, below which a progress bar moves on standard
/// error when that is a terminal. A reader who closes the pipe early, such as `head`, is no error.
pub struct Console {
    quiet: bool,
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
}

impl Console {
    /// A console that writes to standard output and notices Ctrl-C: the first one asks the run to
    /// end after its batch, the second one ends the program at once.
    #[must_use]
    pub fn new() -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        // Fails only where a handler is installed already, as when a test runs two commands.
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        Self { quiet: false, bar: ProgressBar::hidden(), interrupted }
    }

    /// A console that writes nothing.
    #[must_use]
    pub fn quiet() -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        Self { quiet: true, bar: ProgressBar::hidden(), interrupted }
    }

    /// Writes a line.
    pub fn line(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| {
                let _ = writeln!(io::stdout(), "{text}");
            });
        }
    }

    /// Whether Ctrl-C was pressed.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Writes the loss of a batch, counted from 0.
    pub fn loss(&self, batch: usize, loss: f32) {
        self.line(&format!("batch {batch:>6}   loss {loss:.4}"));
    }

    /// Writes the test accuracy after so many batches.
    pub fn accuracy(&self, batches: usize, accuracy: Accuracy) {
        let percent = 100.0 * accuracy.fraction();
        self.line(&format!("after {batches:>6} batches   test accuracy {percent:.2} %"));
    }

    /// Starts a progress bar of so many batches; hidden where standard error is no terminal.
    pub fn progress(&mut self, batches: usize) -> ProgressBar {
        if !self.quiet && io::stderr().is_terminal() {
            let style = "{bar:40} {pos}/{len} batches, {elapsed} elapsed, {eta} to go";
            self.bar = ProgressBar::new(batches as u64);
            if let Ok(style) = ProgressStyle::with_template(style) {
                self.bar.set_style(style);
            }
        }
        self.bar.clone()
    }
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}
