//! What was not tested here is said.
//!
//! Some tests need what not every machine has: MNIST, Python, PyTorch, NVIDIA's compilers. Without
//! it they pass, since nothing is wrong, and `cargo test` shows nothing that a passing test prints.
//! So each calls [`skip`], and the test program ends with the list of what it has not proved.
//!
//! Where the variable `FOUR_LEVELS_SKIP` is `fail`, such a test fails: on a machine that is meant to
//! have everything. Where it is `fail but for WORD`, a reason that has the word in it is none.

#![allow(unsafe_code, reason = "the end of a program is asked of the C library")]

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Says at the end of this program that the running test, or a part of it, was not run, and why:
/// what is missing, and how to get it.
///
/// # Panics
/// Where `FOUR_LEVELS_SKIP` says so.
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

/// Says the same of something that no machine is expected to run, and never fails.
#[track_caller]
pub fn note(why: impl Display) {
    let thread = std::thread::current();
    // Tests run on threads that bear their names, unless they run one after another.
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => std::panic::Location::caller().file().to_owned(),
    };
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    if skipped.is_empty() {
        // SAFETY: the function takes and gives nothing, and does not panic.
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
    // Written to the stream itself: what `eprintln!` prints in a test is kept from the terminal.
    let text = format!("not tested here by {}:\n{}\n\n", program(), skipped.join("\n"));
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The name of this program without the digits that cargo puts behind it.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_owned())
}

/// Python 3.11 or newer as `python3`; where there is none, [`skip`] has said so.
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

/// `node` with what a test of pages needs to drive a browser: the variable `PLAYWRIGHT` names the
/// folder of `playwright-core` from npm, and `CHROMIUM` the browser, `chromium` on the path where it
/// isn't set. Where one of them is missing, [`skip`] has said so.
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

/// A program in one of the folders of the path.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    /// This program once more, with one test of it that skips.
    fn skipping(variable: &str) -> Output {
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
        let output = skipping("");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let line = "tests::one_that_skips: the moon is not full\n";
        assert_eq!(said, format!("not tested here by skipped:\n  {line}\n"));
    }

    #[test]
    fn a_reason_can_be_excepted() {
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
    fn a_skipped_test_fails_where_everything_has_to_be_tested() {
        let output = skipping("fail");
        assert_eq!(output.status.code(), Some(101));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("FOUR_LEVELS_SKIP=fail: the moon is not full"), "{said}");
    }
}
