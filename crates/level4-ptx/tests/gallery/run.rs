//! Functions that run kernels of the gallery on the emulator.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_emulator::{Fault, RunOptions};

use crate::support::{Arg, Bench};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(name: &str) -> String {
    let path = root().join("ptx/gallery").join(format!("{name}.ptx"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn new_bench(name: &str, options: RunOptions) -> Bench {
    Bench::new(&format!("{name}.ptx"), &read(name), options)
}

/// Changes options so that blocks run in order on one host thread, and a report names the same
/// threads each time.
pub(crate) fn in_order(options: RunOptions) -> RunOptions {
    RunOptions { deterministic: true, ..options }
}

pub(crate) fn launch(
    bench: &Bench,
    kernel: &str,
    blocks: u32,
    threads: u32,
    args: &[Arg],
) -> Result<(), Fault> {
    bench.try_launch(kernel, [blocks, 1, 1], threads, 0, false, args).map(|_| ())
}
