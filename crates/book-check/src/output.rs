//! Outputs: what commands printed, kept in `book/outputs` and shown by the pages.
//!
//! A file there is a session at a terminal: a line `$ command`, what the command printed, and so
//! on. It is its own recipe: running its commands makes it again. The end of the file's name says
//! what that takes, see [`Needs`].

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine::same_line;
use crate::{Problem, files, read};

/// What it takes to run a session again, besides Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// `NAME.mnist.txt`: the MNIST files. Tests run it where `MNIST_DIR` is set.
    Mnist,
    /// `NAME.torch.txt`: a `python3` that has PyTorch. Tests run it where there is one.
    Torch,
    /// `NAME.slow.txt`: a quiet machine, much time, or both, such as a measurement of speed. Only
    /// `scripts/book-outputs.sh` runs it.
    Time,
}

/// A file of `book/outputs`.
#[derive(Clone, Debug)]
pub struct Session {
    /// The file.
    pub path: PathBuf,
    /// Its name without `.txt`.
    pub name: String,
    /// The whole of it.
    pub text: String,
}

impl Session {
    /// Every session, in the order of their names.
    ///
    /// # Errors
    /// When a file can't be read, or does not begin with a command.
    pub fn all(repository: &Path) -> Result<Vec<Self>, Problem> {
        let mut sessions = Vec::new();
        for path in files(&repository.join("book/outputs"), &["txt"]) {
            let text = read(&path)?;
            if !text.starts_with("$ ") {
                return Err(Problem::new(path.display(), "the first line is not `$ command`"));
            }
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            sessions.push(Self { name: name.to_owned(), text, path });
        }
        Ok(sessions)
    }

    /// What it takes to run it again: nothing but Rust and little time, or what the end of the
    /// name says, such as `NAME.mnist.torch`.
    #[must_use]
    pub fn needs(&self) -> Vec<Needs> {
        self.name
            .split('.')
            .filter_map(|part| match part {
                "mnist" => Some(Needs::Mnist),
                "torch" => Some(Needs::Torch),
                "slow" => Some(Needs::Time),
                _ => None,
            })
            .collect()
    }

    /// The commands, in order.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| line.strip_prefix("$ "))
    }

    /// Runs the commands at the root of the repository and returns the session as it is now.
    ///
    /// `cargo run -p NAME` runs the program that [`build`] has built, so that cargo doesn't choose
    /// other features of the dependencies for it and compile them anew. What cargo itself says is
    /// left out. A command that fails leaves a line `[exit status 1]`. The folder of MNIST, which
    /// is another one on every machine, is written as `$MNIST_DIR`. What the environment says to
    /// the programs of this repository is kept from them, and they speak English.
    ///
    /// # Errors
    /// When no shell can be started.
    pub fn run(&self, repository: &Path) -> io::Result<String> {
        self.run_with(repository, &[])
    }

    /// The same, with these variables set.
    ///
    /// # Errors
    /// When no shell can be started.
    pub fn run_with(&self, repository: &Path, variables: &[(&str, &OsStr)]) -> io::Result<String> {
        std::fs::create_dir_all(repository.join("target"))?;
        let mut text = String::new();
        let folder = mnist().unwrap_or_default().to_string_lossy().into_owned();
        for command in self.commands() {
            let command_line = executable(command).unwrap_or_else(|| command.to_owned());
            let command_line = ["run", "bench"].iter().fold(command_line, |line, verb| {
                line.replace(&format!("cargo {verb} "), &format!("cargo {verb} -q "))
            });
            let mut shell = Command::new("bash");
            if !self.needs().contains(&Needs::Mnist) {
                shell.env_remove("MNIST_DIR");
            }
            for (name, _) in std::env::vars_os().filter(|(name, _)| steers(name)) {
                shell.env_remove(name);
            }
            let output = shell
                .args(["-c", &format!("exec 2>&1; {command_line}")])
                .current_dir(repository)
                .env("NO_COLOR", "1")
                .env("TERM", "dumb")
                .env("COLUMNS", "100")
                .env("LC_ALL", "C")
                .envs(variables.iter().copied())
                .stdin(Stdio::null())
                .output()?;
            text.push_str(&format!("$ {command}\n"));
            let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
            if !folder.is_empty() {
                printed = printed.replace(&folder, "$MNIST_DIR");
            }
            for line in printed.lines() {
                text.push_str(line.trim_end());
                text.push('\n');
            }
            if let Some(code) = output.status.code().filter(|&code| code != 0) {
                text.push_str(&format!("[exit status {code}]\n"));
            }
        }
        Ok(text)
    }
}

/// The folder that `MNIST_DIR` names, if it names one.
#[must_use]
pub fn mnist() -> Option<OsString> {
    std::env::var_os("MNIST_DIR").filter(|folder| !folder.is_empty())
}

/// Whether a variable of this name changes what the programs print.
fn steers(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["EMULATED_GPU_", "FOUR_LEVELS_", "CUDA_", "CLICOLOR", "FORCE_COLOR", "RUST_BACKTRACE"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Builds every program of the workspace, which costs nothing after `cargo test --workspace`.
///
/// # Errors
/// When they can't be built.
pub fn build(repository: &Path) -> io::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--bins", "--examples"]);
    // Cargo sets these for a test. Build scripts that read them (ring's does) would run again, and nearly every crate
    // would be compiled again after them: now, and without them after the test.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    if programs().is_some_and(|folder| folder.ends_with("release")) {
        command.arg("--release");
    }
    if command.current_dir(repository).status()?.success() {
        Ok(())
    } else {
        Err(io::Error::other("the programs of the workspace can't be built"))
    }
}

/// Where cargo put this program, and all others of the same profile.
fn programs() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    Some(if folder.ends_with("deps") { folder.parent()? } else { folder }.to_owned())
}

/// `[VARIABLE=VALUE …] cargo run -p NAME [--example NAME] [-- ARGUMENTS]` as a call of the program
/// that it runs.
fn executable(command: &str) -> Option<String> {
    let (variables, rest) = command.split_once("cargo run -p ")?;
    if !variables.split_whitespace().all(|word| word.contains('=')) {
        return None;
    }
    let (options, arguments) = rest.split_once(" -- ").unwrap_or((rest, ""));
    let program = match options.split_once(" --example ") {
        Some((_, example)) => programs()?.join("examples").join(example),
        None => programs()?.join(options),
    };
    let program = program.display().to_string().replace('\'', r"'\''");
    Some(format!("{variables}'{program}' {arguments}"))
}

/// The first line in which two runs of a session differ by more than machines do
/// ([`crate::machine::OF_THE_MACHINE`]), as a description of both; `None` when they agree.
#[must_use]
pub fn difference(shown: &str, printed: &str) -> Option<String> {
    let (mut shown_lines, mut printed_lines) = (shown.lines(), printed.lines());
    for number in 1.. {
        let (a, b) = (shown_lines.next(), printed_lines.next());
        if a.is_none() && b.is_none() {
            return None;
        }
        let same = match (a, b) {
            (Some(a), Some(b)) => same_line(a, b),
            _ => false,
        };
        if !same {
            let say = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
            return Some(format!("line {number}\n  shows    {}\n  and is   {}", say(a), say(b)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("a\n1.0e-7\n", "a\n2.0e-9\n"), None);
        for (a, b, line) in [("a\nb\nc", "a\nB\nC", 2), ("a", "a\nb", 2), ("a\nb", "a", 2)] {
            let said = difference(a, b).unwrap();
            assert!(said.starts_with(&format!("line {line}\n")), "{said}");
        }
    }

    #[test]
    fn a_program_of_the_workspace_is_called_without_cargo() {
        for (command, end) in [
            ("cargo run -p tool", "/tool' "),
            ("cargo run -p tool --example try -- a 'b c'", "/examples/try' a 'b c'"),
            ("A=1 B=two cargo run -p tool -- a | sort", "/tool' a | sort"),
        ] {
            let call = executable(command).unwrap();
            assert!(call.ends_with(end) && !call.contains("cargo run"), "{call}");
            assert_eq!(call.starts_with("A=1 B=two '"), command.starts_with("A=1"), "{call}");
        }
        for command in ["cargo bench -p tool", "echo cargo run -p tool"] {
            assert_eq!(executable(command), None);
        }
    }

    #[test]
    fn a_session_runs_its_commands_and_says_how_they_end() {
        let session = Session {
            path: "a.txt".into(),
            name: "a".into(),
            text: "$ echo one\nold\n$ echo two >&2; exit 3\n$ true\n".into(),
        };
        assert_eq!(session.needs(), []);
        assert_eq!(
            session.run(&crate::repository()).unwrap(),
            "$ echo one\none\n$ echo two >&2; exit 3\ntwo\n[exit status 3]\n$ true\n"
        );
    }
}
