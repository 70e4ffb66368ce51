//! Skipped tests, and the list of them at the end of a test program.
//!
//! Some tests need things that not every machine has: MNIST, Python, PyTorch, NVIDIA's compilers. If these are missing,
//! the tests pass, because nothing is wrong, and `cargo test` hides the output of passing tests. So each such test
//! calls [`skip`], and the test program ends with a list of everything that was not tested.
//!
//! If the variable `FOUR_LEVELS_SKIP` is `fail`, such a test fails; this is for machines that should have everything.
//! `fail but for WORD` still allows skips whose reason contains WORD.

#![allow(unsafe_code, reason = "the end of a program is asked of the C library")]

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Reports at the end of this program that the running test, or a part of it, was skipped. `why` states what is
/// missing, and how to install it.
///
/// # Panics
/// If `FOUR_LEVELS_SKIP` doesn't allow this skip.
#[track_caller]
pub fn skip(why: impl Display) {
    let (why, variable) = (why.to_string(), std::env::var("FOUR_LEVELS_SKIP").unwrap_or_default());
    assert!(!is_failure(&variable, &why), "skipped, and FOUR_LEVELS_SKIP={variable}: {why}");
    note(why);
}

fn is_failure(variable: &str, why: &str) -> bool {
    match variable.strip_prefix("fail but for ") {
        Some(word) => !why.contains(word),
        None => variable == "fail",
    }
}

/// Like [`skip`], for a test that no machine is expected to run: it is listed, and never fails.
#[track_caller]
pub fn note(why: impl Display) {
    let thread = std::thread::current();
    // A test's thread has the test's name, unless tests run one after another on the main thread.
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => std::panic::Location::caller().file().to_owned(),
    };
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    if skipped.is_empty() {
        // SAFETY: the function has no arguments and no result, and does not panic.
        unsafe { libc::atexit(at_the_end) };
    }
    let line = format!("  {test}: {why}");
    if !skipped.contains(&line) {
        skipped.push(line);
    }
}

extern "C" fn at_the_end() {
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    skipped.sort();
    // The list is written directly to standard error, because the test harness captures the output of `eprintln!`.
    let text = format!("not tested here by {}:\n{}\n\n", program(), skipped.join("\n"));
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The name of this program without the hash that cargo appends.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_owned())
}

/// The command `python3`, if it is Python 3.11 or newer. Otherwise the test is [skipped](skip).
#[must_use]
#[track_caller]
pub fn python() -> Option<&'static Path> {
    let python = Path::new("python3");
    let check = "import sys; sys.exit(sys.version_info < (3, 11))";
    match Command::new(python).args(["-c", check]).output() {
        Ok(output) if output.status.success() => return Some(python),
        Ok(_) => skip("python3 does not work, or is older than 3.11"),
        Err(error) => skip(format!("there is no python3 ({error})")),
    }
    None
}

/// The command `node` with everything that a test of a web page needs to drive a browser: the variable
/// `PLAYWRIGHT` names the folder of `playwright-core` from npm, and `CHROMIUM` the browser (by default
/// `chromium` on the path). If one of them is missing, the test is [skipped](skip).
#[must_use]
#[track_caller]
pub fn browser() -> Option<Command> {
    let Some(playwright) = std::env::var_os("PLAYWRIGHT") else {
        skip(
            "PLAYWRIGHT does not name the folder of playwright-core (npm install playwright-core)",
        );
        return None;
    };
    let chromium =
        std::env::var_os("CHROMIUM").map_or_else(|| on_path("chromium"), |path| Some(path.into()));
    let Some(chromium) = chromium else {
        skip("there is no chromium");
        return None;
    };
    let Some(node) = on_path("node") else {
        skip("there is no node");
        return None;
    };
    let mut command = Command::new(node);
    command.env("PLAYWRIGHT", playwright).env("CHROMIUM", chromium);
    Some(command)
}

/// The file of a program in one of the folders of `PATH`.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    /// Runs this program again with only one test, which calls `skip`.
    fn run_skipping_test(variable: &str) -> Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::one_that_skips"])
            .env("SKIPS", "1")
            .env("FOUR_LEVELS_SKIP", variable)
            .output()
            .unwrap()
    }

    #[test]
    fn one_that_skips() {
        if std::env::var_os("SKIPS").is_some() {
            super::skip("the moon is not full");
            super::skip("the moon is not full");
        }
    }

    #[test]
    fn a_skipped_test_is_named_at_the_end() {
        let output = run_skipping_test("");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let line = "tests::one_that_skips: the moon is not full\n";
        assert_eq!(stderr, format!("not tested here by skipped:\n  {line}\n"));
    }

    #[test]
    fn a_reason_can_be_allowed() {
        for (variable, fails) in [
            ("", false),
            ("fail", true),
            ("fail but for MNIST_DIR", false),
            ("fail but for ptxas", true),
        ] {
            assert_eq!(super::is_failure(variable, "MNIST_DIR is not set"), fails, "{variable}");
        }
    }

    #[test]
    fn a_skipped_test_fails_if_the_variable_says_fail() {
        let output = run_skipping_test("fail");
        assert_eq!(output.status.code(), Some(101));
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("FOUR_LEVELS_SKIP=fail: the moon is not full"), "{stdout}");
    }
}
