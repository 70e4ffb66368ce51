//! Tests that run again in a child process, with environment variables or separate from other tests.

use std::process::{Command, Output};

/// The name of the surrounding test, as the test harness prints it.
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        $crate::child::name_of_test(std::any::type_name_of_val(&here))
    }};
}

/// Runs the surrounding test in a child process with these variables; see [`child_stderr`].
#[macro_export]
macro_rules! run_child {
    ($variables:expr) => {
        $crate::child::child_stderr(&$crate::test_name!(), $variables)
    };
}

/// Runs the rest of the surrounding test only in a child process with these variables, which must succeed.
#[macro_export]
macro_rules! in_child {
    ($variables:expr) => {
        if !$crate::child::is_child() {
            $crate::run_child!($variables);
            return;
        }
    };
}

const CHILD: &str = "EMULATED_GPU_TEST_CHILD";

/// Extracts a test's name from the path of a function that is declared inside the test,
/// `program::module::test::{{closure}}::here`.
#[must_use]
pub fn name_of_test(path: &str) -> String {
    let parts: Vec<&str> = path.split("::").filter(|part| *part != "{{closure}}").collect();
    parts[1..parts.len() - 1].join("::")
}

/// Whether this process was started by [`child`].
#[must_use]
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The command that runs one test of this program in a child process with these variables. [`is_child`] is true in that
/// process.
///
/// # Panics
/// If the path of this program is unknown.
#[must_use]
pub fn child(test: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command.envs(variables.iter().copied());
    command
}

/// Runs a [`child`] and returns its output.
///
/// # Panics
/// If it can't be started, or if there is no such test.
#[must_use]
pub fn child_output(test: &str, variables: &[(&str, &str)]) -> Output {
    let output = child(test, variables).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("running 1 test"), "there is no test {test}: {printed}");
    output
}

/// Runs a [`child`] and returns its standard error.
///
/// # Panics
/// If it fails.
pub fn child_stderr(test: &str, variables: &[(&str, &str)]) -> String {
    let output = child_output(test, variables);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{variables:?}: {}\n{text}{printed}", output.status);
    printed
}
