//! Detection of forked processes. A process that was forked after `cuInit` has its parent's memory but not its threads,
//! so a lock that such a thread held is never released. The driver detects such a process before it takes a lock, and
//! returns `NOT_INITIALIZED`, as NVIDIA's driver does.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::abi::error::{Code, Error, Result, fail_if};

/// The process that has called `cuInit`, or 0.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The log of failed calls (`CUDA_LOG_FILE`); set once the driver exists.
static LOG: OnceLock<Option<PathBuf>> = OnceLock::new();

fn forked() -> Error {
    Code::NOT_INITIALIZED
        .because("this process was forked after cuInit; start it with spawn, or fork before cuInit")
}

/// Records that this process starts to create the driver.
///
/// # Errors
/// `NOT_INITIALIZED` if this process was forked after its parent began to create the driver.
pub(crate) fn begin() -> Result {
    let this_process = std::process::id();
    let first = PROCESS.compare_exchange(0, this_process, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|process| process != this_process) { Err(forked()) } else { Ok(()) }
}

/// Records that creating the driver failed: a child forked from this process may try again.
pub(crate) fn creation_failed() {
    PROCESS.store(0, Ordering::Relaxed);
}

/// Records that the driver exists.
pub(crate) fn creation_succeeded(log: Option<PathBuf>) {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    LOG.get_or_init(|| log);
}

/// Checks that the driver may be called.
///
/// # Errors
/// `NOT_INITIALIZED` before `cuInit`, and in a child that was forked after it.
pub(crate) fn check() -> Result {
    fail_if!(LOG.get().is_none(), NOT_INITIALIZED, "call cuInit first");
    if PROCESS.load(Ordering::Relaxed) == std::process::id() { Ok(()) } else { Err(forked()) }
}

/// The log of failed calls.
pub(crate) fn log() -> Option<PathBuf> {
    let unset = || std::env::var_os("CUDA_LOG_FILE").map(Into::into);
    LOG.get().cloned().unwrap_or_else(unset)
}
