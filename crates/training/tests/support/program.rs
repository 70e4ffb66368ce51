//! A level's program as a reader runs it, on the built-in digits and the emulated GPU.

#![allow(dead_code, reason = "each level's tests use a part")]

use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) const SHORT: [&str; 6] =
    ["--data", "digits", "--samples", "512", "--sizes", "784-12-10"];
/// Two steps to warm up and two that count, without testing.
pub(crate) const BENCH: [&str; 5] = ["bench", "--runs", "1", "--steps", "2"];
pub(crate) const EMULATED: [&str; 2] = ["--device", "emulated"];

/// The program, whatever the environment of the tests says.
pub(crate) fn program(program: &str, args: &[&str]) -> Command {
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

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}

/// Expects success; gives what it says on standard output.
#[track_caller]
pub(crate) fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Expects an exit code and these words on standard error; gives all that it says there.
#[track_caller]
pub(crate) fn fails(output: &Output, code: i32, words: &[&str]) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// A folder with `name` in it, as a string for the command line.
pub(crate) fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("a temporary folder has a plain name").to_owned()
}
