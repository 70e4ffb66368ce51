//! Runs a level's program, on the built-in digits and the emulated GPU.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Options for two steps of a small network.
pub const SHORT: [&str; 6] = ["--data", "digits", "--samples", "512", "--sizes", "784-12-10"];
/// Options for two warm-up steps and two measured steps, without a test of the accuracy.
pub const BENCH: [&str; 5] = ["bench", "--runs", "1", "--steps", "2"];
/// Options for the emulated GPU, even if there is a real one.
pub const EMULATED: [&str; 2] = ["--device", "emulated"];

/// A command for the program with these arguments, independent of the tests' environment.
pub fn program(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    for variable in [
        "MNIST_DIR",
        "FOUR_LEVELS_DEVICE",
        "FOUR_LEVELS_KERNELS",
        "FOUR_LEVELS_COMPILER",
        "EMULATED_GPU_CHECKS",
        "EMULATED_GPU_DEVICES",
        "NVIDIA_TF32_OVERRIDE",
        "TORCHELASTIC_USE_AGENT_STORE",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Decodes the output of a program.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}

/// Checks that a program succeeded; returns its standard output.
#[track_caller]
pub fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Checks a program's exit code, and that its standard error contains these words; returns the whole standard
/// error.
#[track_caller]
pub fn fails(output: &Output, code: i32, words: &[&str]) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word:?} is not in: {stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

/// The path of `name` in a folder, as a string for the command line.
#[must_use]
pub fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("a temporary folder has a plain name").to_owned()
}

/// Reads a JSON file.
#[must_use]
pub fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
