//! The frame that every program runs in.

use std::process::ExitCode;
use std::thread;

use crate::{memory, signals, threads};

/// The stack that a program gets, whatever the shell allows: that of a main thread by default.
const STACK: usize = 8 << 20;

/// Runs a program: with a stack of its own, with as many threads for its work as the machine
/// gives, and so that a signal which ends it leaves no unfinished file.
///
/// A machine that gives no more threads is no obstacle: then everything runs on this one.
#[must_use]
pub fn main(program: fn() -> ExitCode) -> ExitCode {
    memory::spare_addresses();
    signals::watch();
    let run = move || {
        threads::share_work();
        program()
    };
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(run) {
        // A panic has been reported where it happened.
        Ok(thread) => thread.join().unwrap_or_else(|_| ExitCode::from(101)),
        Err(_) => run(),
    }
}
