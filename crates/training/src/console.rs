//! What a run says on the terminal, and the signals that ask it to end.

use std::cell::RefCell;
use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use crate::train::Accuracy;
use crate::{Error, Result};

/// Where a run writes its lines: standard output, below which a progress bar moves on standard
/// error when that is a terminal.
pub struct Console {
    quiet: bool,
    /// Whether signals are heard.
    hears: bool,
    /// Whether the run goes on for the files that it writes when nobody can read its lines.
    goes_on: bool,
    lost: RefCell<Option<io::Error>>,
    bar: ProgressBar,
}

impl Console {
    /// A console that writes to standard output. When that can't be written, the run goes on for
    /// the sake of its files, if it `goes_on`; otherwise it ends there.
    #[must_use]
    pub fn new(goes_on: bool) -> Self {
        Self {
            quiet: false,
            hears: true,
            goes_on,
            lost: RefCell::new(None),
            bar: ProgressBar::hidden(),
        }
    }

    /// A console that writes nothing, and hears no signal.
    #[must_use]
    pub fn quiet() -> Self {
        Self { quiet: true, hears: false, ..Self::new(true) }
    }

    /// A console that writes nothing, but handles signals.
    #[must_use]
    pub fn listening() -> Self {
        Self { quiet: true, ..Self::new(true) }
    }

    /// Writes a line.
    ///
    /// # Errors
    /// When it can't be written, and the run does not go on without.
    pub fn line(&self, text: &str) -> Result<()> {
        if self.quiet || self.lost.borrow().is_some() {
            return Ok(());
        }
        match self.bar.suspend(|| host::print(&format!("{text}\n"))) {
            Err(error) if self.goes_on => *self.lost.borrow_mut() = Some(error),
            written => written.map_err(Error::Output)?,
        }
        Ok(())
    }

    /// What is to be done at the end, after all files are written.
    ///
    /// # Errors
    /// When a line couldn't be written.
    pub fn finish(self) -> Result<()> {
        self.lost.into_inner().map_or(Ok(()), |error| Err(Error::Output(error)))
    }

    /// Whether a signal asked the run to end, such as Ctrl-C.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.hears && host::signals::received().is_some()
    }

    /// Writes the loss of a batch, counted from 0.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn loss(&self, batch: usize, loss: f32) -> Result<()> {
        self.line(&format!("batch {batch:>6}   loss {loss:.4}"))
    }

    /// Writes the test accuracy after this many batches.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn accuracy(&self, batches: usize, accuracy: Accuracy) -> Result<()> {
        let percent = 100.0 * accuracy.fraction();
        self.line(&format!("after {batches:>6} batches   test accuracy {percent:.2} %"))
    }

    /// Starts a progress bar of this many batches; hidden where standard error is no terminal.
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
