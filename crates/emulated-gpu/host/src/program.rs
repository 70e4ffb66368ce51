//! The environment of every program: its stack, threads and signal handling.

use std::process::ExitCode;
use std::thread;

use crate::{memory, signals, threads};

/// The stack size of the program's thread, whatever the shell's limit: the usual size for a main thread.
const STACK: usize = 8 << 20;

/// Runs a program in a thread with a fixed stack size, with a worker thread for each core, and so that a terminating
/// signal leaves no unfinished file.
///
/// If the system grants no more threads, everything runs on the main thread.
#[must_use]
pub fn main(program: fn() -> ExitCode) -> ExitCode {
    memory::save_address_space();
    signals::watch();
    let run = move || {
        threads::share_work();
        program()
    };
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(run) {
        // The thread has panicked, and the panic has already been reported.
        Ok(thread) => thread.join().unwrap_or_else(|_| ExitCode::from(101)),
        Err(_) => run(),
    }
}
