//! Handling of signals that ask a program to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! A thread waits for them. Unless the program handles the first signal itself, the thread removes unfinished files
//! and then triggers the signal's default action, so that the parent process sees that a signal ended the program. If
//! the thread can't be started, signals have their default action at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of SIGINT, which Ctrl-C sends.
pub const CTRL_C: i32 = 2;
/// The number of SIGPIPE, sent when the reader of a pipe is gone.
pub(crate) const CLOSED_PIPE: i32 = 13;

/// Whether the program handles the first signal itself.
static HANDLES_FIRST: AtomicBool = AtomicBool::new(false);
/// The first signal received, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// Temporary names of files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on, the first signal is only recorded for [`received`]; the second one ends the program at once.
pub fn handle_first_signal() {
    HANDLES_FIRST.store(true, Ordering::SeqCst);
}

/// The signal that asked the program to end, if any.
#[must_use]
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// The usual name of a signal.
#[must_use]
pub fn name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".into(),
        CTRL_C => "Ctrl-C".into(),
        15 => "SIGTERM".into(),
        other => format!("signal {other}"),
    }
}

/// The exit code of a program ended by a signal, as shells report it: 128 plus the signal's number.
#[must_use]
pub fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// A file under its temporary name; a signal that ends the program removes it.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Creates the file. The caller must rename or remove it before dropping this value.
    ///
    /// # Errors
    /// The errors of `create`.
    pub fn create_temporary<F>(
        path: &Path,
        create: impl FnOnce() -> io::Result<F>,
    ) -> io::Result<(F, Self)> {
        // The list is locked during the creation, so that the signal thread either removes the file or prevents its
        // creation.
        let mut unfinished = unfinished();
        let file = create()?;
        unfinished.push(path.to_owned());
        Ok((file, Self(path.to_owned())))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        if let Some(at) = unfinished.iter().position(|path| *path == self.0) {
            unfinished.swap_remove(at);
        }
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles a signal; returns whether the program should end now.
#[cfg(any(unix, windows))]
fn handle(signal: i32) -> bool {
    let first = RECEIVED.swap(signal, Ordering::SeqCst) == 0;
    if first && HANDLES_FIRST.load(Ordering::SeqCst) {
        return false;
    }
    remove_unfinished();
    true
}

fn remove_unfinished() {
    let mut unfinished = unfinished();
    for path in unfinished.drain(..) {
        let _ = fs::remove_file(path);
    }
    // The list stays locked, so that no other temporary file is created before the program ends.
    std::mem::forget(unfinished);
}

/// Ends the program from any thread and removes unfinished files, like a signal.
pub fn end(code: i32) -> ! {
    remove_unfinished();
    std::process::exit(code)
}

/// Starts the thread that handles signals.
#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // With a handler for SIGXFSZ, a write beyond the file size limit (`ulimit -f`) returns an error. Without one, the
    // signal would kill the process.
    let ignored = ignored();
    let handled = [SIGINT, SIGTERM, SIGHUP, SIGXFSZ];
    let handled = handled.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let Ok(mut signals) = Signals::new(handled) else { return };
    let closer = signals.handle();
    let wait = move || {
        for signal in &mut signals {
            if signal != SIGXFSZ && handle(signal) {
                let _ = emulate_default_handler(signal);
            }
        }
    };
    if std::thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
        closer.close();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let end = std::sync::Arc::new(AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_default(signal, end);
        }
    }
}

/// The signals that the parent process told this one to ignore, as `nohup` does with SIGHUP: bit 0 is signal 1. 0 if
/// unknown.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// There are no signals in a browser.
#[cfg(not(any(unix, windows)))]
pub(crate) fn watch() {}

#[cfg(windows)]
pub(crate) fn watch() {
    // This fails if a handler is already installed, or no thread can be started for it; then signals have their default
    // action.
    let _ = ctrlc::set_handler(|| {
        if handle(CTRL_C) {
            std::process::exit(128 + CTRL_C);
        }
    });
}
