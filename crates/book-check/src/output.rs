//! The sessions in `book/outputs`: commands and their outputs, which the pages show.
//!
//! Each file there is a session at a terminal: lines `$ command`, each followed by its output. Rerunning the commands
//! regenerates the file. Suffixes of the file's name list the prerequisites; see [`Prerequisite`].

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine::is_same_line;
use crate::{Problem, files, read};

/// A prerequisite for rerunning a session, in addition to Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prerequisite {
    /// The MNIST files, for sessions named `NAME.mnist.txt`. Tests run these sessions if `MNIST_DIR` is set.
    Mnist,
    /// A `python3` with PyTorch, for sessions named `NAME.torch.txt`. Tests run these sessions if they find such a
    /// `python3`.
    Torch,
    /// An idle machine, much time, or both, as for a measurement of speed: for sessions named `NAME.slow.txt`. Only
    /// `scripts/book-outputs.sh` runs these sessions.
    Time,
}

/// A file of `book/outputs`.
#[derive(Clone, Debug)]
pub struct Session {
    /// The file.
    pub path: PathBuf,
    /// The file's name without `.txt`.
    pub name: String,
    /// The contents of the file.
    pub text: String,
}

impl Session {
    /// All sessions, sorted by name.
    ///
    /// # Errors
    /// If a file can't be read, or doesn't begin with a command.
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

    /// The prerequisites that suffixes of the name list, as in `NAME.mnist.torch`. If there are none, the session only
    /// needs Rust, and is quick.
    #[must_use]
    pub fn needs(&self) -> Vec<Prerequisite> {
        self.name
            .split('.')
            .filter_map(|part| match part {
                "mnist" => Some(Prerequisite::Mnist),
                "torch" => Some(Prerequisite::Torch),
                "slow" => Some(Prerequisite::Time),
                _ => None,
            })
            .collect()
    }

    /// The session's commands, in order.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| line.strip_prefix("$ "))
    }

    /// Runs the commands at the root of the repository and returns the session with the new outputs.
    ///
    /// `cargo run -p NAME` runs the program that [`build`] has built: cargo itself would choose other features of the
    /// dependencies and recompile them. Cargo's own messages are left out. A command that fails leaves a line
    /// `[exit status 1]`. The folder of MNIST, which differs between machines, is written as `$MNIST_DIR`. Variables
    /// that configure the programs of this repository are removed, and the locale is English.
    ///
    /// # Errors
    /// If no shell can be started.
    pub fn run(&self, repository: &Path) -> io::Result<String> {
        self.run_with(repository, &[])
    }

    /// Like [`run`](Self::run), with these environment variables set.
    ///
    /// # Errors
    /// If no shell can be started.
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
            if !self.needs().contains(&Prerequisite::Mnist) {
                shell.env_remove("MNIST_DIR");
            }
            for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
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

/// Whether an environment variable of this name changes the programs' output.
fn is_setting(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["EMULATED_GPU_", "FOUR_LEVELS_", "CUDA_", "CLICOLOR", "FORCE_COLOR", "RUST_BACKTRACE"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Builds every program of the workspace, which is a no-op after `cargo test --workspace`.
///
/// # Errors
/// If the build fails.
pub fn build(repository: &Path) -> io::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--bins", "--examples"]);
    // Cargo sets `CARGO_PKG_…` and `CARGO_MANIFEST_…` for a test. Build scripts that read these variables (ring's does)
    // would rerun, and nearly every crate would be recompiled: in this build, and again in the first build without
    // these variables.
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
        Err(io::Error::other(
            "the programs of the workspace don't compile: run cargo build --workspace",
        ))
    }
}

/// The folder in which cargo put this program and all others of the same profile.
fn programs() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    Some(if folder.ends_with("deps") { folder.parent()? } else { folder }.to_owned())
}

/// The direct call of the program that `[VARIABLE=VALUE …] cargo run -p NAME [--example NAME] [-- ARGUMENTS]` runs;
/// `None` for other commands.
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

/// Describes the first line in which two runs of a session differ in more than the parts that may depend on the machine
/// ([`crate::machine::MACHINE_DEPENDENT`]); `None` if they agree.
#[must_use]
pub fn difference(shown: &str, printed: &str) -> Option<String> {
    let (mut shown_lines, mut printed_lines) = (shown.lines(), printed.lines());
    for number in 1.. {
        let (a, b) = (shown_lines.next(), printed_lines.next());
        if a.is_none() && b.is_none() {
            return None;
        }
        let same = match (a, b) {
            (Some(a), Some(b)) => is_same_line(a, b),
            _ => false,
        };
        if !same {
            let or_nothing = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
            let (shown, printed) = (or_nothing(a), or_nothing(b));
            return Some(format!("line {number}\n  book     {shown}\n  printed  {printed}"));
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
            let found = difference(a, b).unwrap();
            assert!(found.starts_with(&format!("line {line}\n")), "{found}");
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
    fn a_session_runs_its_commands_and_shows_exit_statuses() {
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
