//! The output of a run on the terminal, and the signals that end it.

use std::cell::RefCell;
use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use crate::train::Accuracy;
use crate::{Error, Result};

/// Writes a run's lines to standard output, and a progress bar to standard error if that is a terminal.
pub struct Console {
    quiet: bool,
    /// Whether signals end the run.
    handles_signals: bool,
    /// Whether the run continues after a failed write to standard output, because it also writes files.
    goes_on: bool,
    /// The first failed write to standard output, if the run continued.
    write_error: RefCell<Option<io::Error>>,
    bar: ProgressBar,
}

impl Console {
    /// A console that writes to standard output. If writing fails, the run ends, unless `goes_on` is set: then the run
    /// continues, so that its files are still written.
    #[must_use]
    pub fn new(goes_on: bool) -> Self {
        Self {
            quiet: false,
            handles_signals: true,
            goes_on,
            write_error: RefCell::new(None),
            bar: ProgressBar::hidden(),
        }
    }

    /// A console that writes nothing, and ignores signals.
    #[must_use]
    pub fn quiet() -> Self {
        Self { quiet: true, handles_signals: false, ..Self::new(true) }
    }

    /// A console that writes nothing, but handles signals.
    #[must_use]
    pub fn listening() -> Self {
        Self { quiet: true, ..Self::new(true) }
    }

    /// Writes a line.
    ///
    /// # Errors
    /// If the line can't be written, unless the run goes on in that case.
    pub fn line(&self, text: &str) -> Result<()> {
        if self.quiet || self.write_error.borrow().is_some() {
            return Ok(());
        }
        match self.bar.suspend(|| host::print(&format!("{text}\n"))) {
            Err(error) if self.goes_on => *self.write_error.borrow_mut() = Some(error),
            written => written.map_err(Error::Output)?,
        }
        Ok(())
    }

    /// Reports at the end, after all files are written, whether lines were lost.
    ///
    /// # Errors
    /// If a line couldn't be written.
    pub fn finish(self) -> Result<()> {
        self.write_error.into_inner().map_or(Ok(()), |error| Err(Error::Output(error)))
    }

    /// Whether a signal, such as Ctrl-C, requested the end of the run.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.handles_signals && host::signals::received().is_some()
    }

    /// Writes the loss of a batch, counted from 0.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn loss(&self, batch: usize, loss: f32) -> Result<()> {
        self.line(&format!("batch {batch:>6}   loss {loss:.4}"))
    }

    /// Writes the test accuracy after a number of batches.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn accuracy(&self, batches: usize, accuracy: Accuracy) -> Result<()> {
        let percent = 100.0 * accuracy.fraction();
        self.line(&format!("after {batches:>6} batches   test accuracy {percent:.2} %"))
    }

    /// Starts a progress bar for a number of batches; it is hidden if standard error is not a terminal.
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
