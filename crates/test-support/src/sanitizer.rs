//! Runs a level's program under the sanitizers of the emulated GPU.

use std::path::Path;
use std::process::Command;

use gpu::transfer::Strategy;
use tempfile::TempDir;

use crate::program::{EMULATED, fails, path, program, text};

/// Runs a command with all sanitizers, and checks that it reports nothing.
#[track_caller]
pub fn assert_clean(command: &mut Command) {
    let output = command.env("EMULATED_GPU_CHECKS", "all").output().expect("the program starts");
    let stderr = text(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{command:?}: {stderr}");
}

/// Dumps a step with these kernels. Checks that a sanitizer finds the fault and reports it with these words,
/// that the error refers to the report, and that no dump is left.
#[track_caller]
pub fn assert_caught(
    level: &str,
    options: &[&str],
    kernels: &TempDir,
    checks: &str,
    words: &[&str],
) {
    let out = path(kernels, "dump.json");
    let args = [&["dump", "--preset", "softmax", "--out", &out], &EMULATED[..], options].concat();
    let mut command = program(level, &args);
    command.env("FOUR_LEVELS_KERNELS", kernels.path()).env("EMULATED_GPU_CHECKS", checks);
    let output = command.output().expect("the program starts");
    fails(&output, 1, &[words, &["the report above names the kernel"]].concat());
    assert!(!Path::new(&out).exists(), "a dump of wrong numbers");
}

/// Runs every way of transferring a batch to the device with all sanitizers, over shuffled epochs.
#[track_caller]
pub fn assert_transfers_clean(level: &str, options: &[&str]) {
    let few = ["--data", "digits", "--samples", "100", "--sizes", "784-3-10", "--batch-size", "32"];
    let steps = ["bench", "--runs", "1", "--steps", "5", "--drop-last", "false", "--shuffle"];
    for transfer in Strategy::ALL {
        let transfer = transfer.to_string();
        let args = [&steps[..], &few, &EMULATED, &["--transfer", &transfer], options].concat();
        assert_clean(&mut program(level, &args));
    }
}
