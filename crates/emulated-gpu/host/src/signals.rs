//! Signals that ask a program to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! A thread waits for them. Unless the program said that it ends by itself, it removes the files
//! that are not finished yet, and then lets the signal do what it does without us: whoever waits
//! for the program sees that a signal ended it. Without that thread, on a machine that gives none,
//! the signal does so at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of SIGINT, which Ctrl-C sends.
pub const CTRL_C: i32 = 2;
/// The number of SIGPIPE, which stands for a reader who went away.
pub(crate) const CLOSED_PIPE: i32 = 13;

/// Whether the program ends by itself when it is asked to for the first time.
static ENDS_BY_ITSELF: AtomicBool = AtomicBool::new(false);
/// The first signal that came, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// Files that are being written, under the names that they have until they are finished.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on, the first signal is only noted, for [`received`] to tell; the second one ends the
/// program at once.
pub fn end_by_myself() {
    ENDS_BY_ITSELF.store(true, Ordering::SeqCst);
}

/// The signal that asked the program to end, if one did.
#[must_use]
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// How people call a signal.
#[must_use]
pub fn name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".into(),
        CTRL_C => "Ctrl-C".into(),
        15 => "SIGTERM".into(),
        other => format!("signal {other}"),
    }
}

/// The exit code of a program that ended because of a signal, as shells show it: 128 and its
/// number.
#[must_use]
pub fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// A file under the name that it has until it is finished; a signal that ends the program removes
/// it.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Creates the file, which is to be finished or removed before this value is dropped.
    ///
    /// # Errors
    /// Those of `create`.
    pub fn create<F>(path: &Path, create: impl FnOnce() -> io::Result<F>) -> io::Result<(F, Self)> {
        // Held while the file comes into being, so that it can't do so behind the thread's back.
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

/// What is done about a signal; returns whether the program is to end now.
fn hear(signal: i32) -> bool {
    let first = RECEIVED.swap(signal, Ordering::SeqCst) == 0;
    if first && ENDS_BY_ITSELF.load(Ordering::SeqCst) {
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
    // Stays locked, so that no other file is begun in the time that is left.
    std::mem::forget(unfinished);
}

/// Ends the program from any thread, as a signal does: no unfinished file is left.
pub fn end(code: i32) -> ! {
    remove_unfinished();
    std::process::exit(code)
}

/// Starts the thread that waits for signals.
#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // With SIGXFSZ heard of, a file that grows beyond its limit (`ulimit -f`) is an error of the
    // write, which is said; without, it is the end of the process.
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP, SIGXFSZ];
    let heard = heard.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let Ok(mut signals) = Signals::new(heard) else { return };
    let handle = signals.handle();
    let wait = move || {
        for signal in &mut signals {
            if signal != SIGXFSZ && hear(signal) {
                let _ = emulate_default_handler(signal);
            }
        }
    };
    if std::thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
        handle.close();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let end = std::sync::Arc::new(AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_default(signal, end);
        }
    }
}

/// The signals that whoever started the program has it ignore, as `nohup` does with SIGHUP: a bit
/// for each, the lowest for signal 1. None where the system doesn't tell.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    // Fails where a handler is installed already, or no thread can be had: then the system decides.
    let _ = ctrlc::set_handler(|| {
        if hear(CTRL_C) {
            std::process::exit(128 + CTRL_C);
        }
    });
}
