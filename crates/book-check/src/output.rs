//! Outputs: what commands printed, kept in `book/outputs` and shown by the pages.
//!
//! A file there is a session at a terminal: a line `$ command`, what the command printed, and so
//! on. It is its own recipe: running its commands makes it again. The end of the file's name says
//! what that takes, see [`Needs`].

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Problem, files, read};

/// What it takes to run a session again, besides Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// `NAME.mnist.txt`: the MNIST files. Tests run it where `MNIST_DIR` is set.
    Mnist,
    /// `NAME.torch.txt`: a `python3` that has PyTorch. Tests run it where there is one.
    Torch,
    /// `NAME.slow.txt`: a quiet machine, much time, or both, such as a measurement of speed. Only
    /// `scripts/book-outputs` runs it.
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
    /// left out. A command that fails leaves a line `[exit status 1]`. The folder of MNIST, which is another one on
    /// every machine, is written as `$MNIST_DIR`.
    ///
    /// # Errors
    /// When no shell can be started.
    pub fn run(&self, repository: &Path) -> io::Result<String> {
        std::fs::create_dir_all(repository.join("target"))?;
        let mut text = String::new();
        let folder = std::env::var("MNIST_DIR").unwrap_or_default();
        for command in self.commands() {
            let command_line = executable(command).unwrap_or_else(|| command.to_owned());
            let command_line = ["run", "bench"].iter().fold(command_line, |line, verb| {
                line.replace(&format!("cargo {verb} "), &format!("cargo {verb} -q "))
            });
            let mut shell = Command::new("bash");
            if !self.needs().contains(&Needs::Mnist) {
                shell.env_remove("MNIST_DIR");
            }
            let output = shell
                .args(["-c", &format!("exec 2>&1; {command_line}")])
                .current_dir(repository)
                .env("NO_COLOR", "1")
                .env("TERM", "dumb")
                .env("COLUMNS", "100")
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

/// Builds every program of the workspace, which costs nothing after `cargo test --workspace`.
///
/// # Errors
/// When they can't be built.
pub fn build(repository: &Path) -> io::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--bins", "--examples"]);
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
    Some(format!("{variables}'{}' {arguments}", program.display()))
}

/// The first line in which two runs of a session differ by more than machines do, as a
/// description of both; `None` when they agree.
///
/// What may differ, and nothing else:
/// - a number with an exponent (`1.2e-7`), which in this project is a rounding error or a bound of
///   one, altogether, or down to `0`: processors add in different orders, and the verdict beside it
///   has to stay;
/// - where in a tensor the worst error is, which is the second bracket of a line, altogether;
/// - any other number with a decimal point, by 2 % or one unit of its last digit, for the same
///   reason;
/// - a whole number before the word `of`, which counts successes, by 2 %;
/// - a number before a unit of time or of speed (`s`, `ms`, `samples/s`, `GFLOP/s`), altogether;
/// - a hexadecimal number of more than 32 bits, which is an address in memory, but for its last two
///   digits: every run gets its buffers elsewhere, at multiples of 256.
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

fn same_line(a: &str, b: &str) -> bool {
    let (a, b) = (without_second_bracket(a), without_second_bracket(b));
    let (a, b): (Vec<&str>, Vec<&str>) = (words(&a), words(&b));
    a.len() == b.len()
        && a.iter().zip(&b).enumerate().all(|(i, (x, y))| {
            let unit = a.get(i + 1).copied().unwrap_or_default();
            x == y || same_number(x, y, unit)
        })
}

/// The line without what stands in its second pair of square brackets.
fn without_second_bracket(line: &str) -> String {
    let mut opened = 0;
    let mut inside = false;
    line.chars()
        .filter(|&c| {
            if c == '[' {
                opened += 1;
                inside = opened == 2;
            }
            let keep = !inside || c == '[';
            inside &= c != ']';
            keep
        })
        .collect()
}

/// The words of a line; alignment by spaces may shift with the width of a number, and does not
/// count. Punctuation that clings to a number is a word of its own.
fn words(line: &str) -> Vec<&str> {
    let cling = |c: char| "()[]{}|,;:=%×~".contains(c);
    line.split_whitespace()
        .flat_map(|word| word.split_inclusive(cling))
        .flat_map(|word| {
            let bare = word.trim_end_matches(cling);
            [bare, &word[bare.len()..]]
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn same_number(a: &str, b: &str, unit: &str) -> bool {
    if let (Some(x), Some(y)) = (address(a), address(b)) {
        return x % 256 == y % 256;
    }
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    if ["s", "ms", "µs", "samples/s", "GFLOP/s"].contains(&unit) {
        return true;
    }
    let error = |text: &str| text.contains('e') || text == "0";
    if error(a) && error(b) {
        return x.is_sign_positive() == y.is_sign_positive();
    }
    let near = |margin: f64| (x - y).abs() <= 0.02 * x.abs().max(y.abs()) + margin;
    if unit == "of" {
        return near(0.0);
    }
    let (Some((_, digits)), Some(_)) = (a.split_once('.'), b.split_once('.')) else { return false };
    let unit_of_last_digit = 10_f64.powi(-i32::try_from(digits.len()).unwrap_or(0));
    near(1.001 * unit_of_last_digit)
}

/// A hexadecimal number of more than 32 bits.
fn address(word: &str) -> Option<u64> {
    let address = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
    (address > u64::from(u32::MAX)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_differ_as_machines_do_agree() {
        for (a, b) in [
            ("loss 0.6931, error 1.2e-7", "loss 0.6930, error   3e-8"),
            ("took 1.25 s (1000 samples/s)", "took 12.5 s (9 samples/s)"),
            ("0.0", "0.1"),
            ("| a |  1.5e-9|", "| a | 1.6e-9|"),
            ("z1 [8, 30] 1.5e-9 [0, 1] ok", "z1 [8, 30] 0 [0, 11] ok"),
            ("", ""),
            ("(9131 of 9984)", "(9129 of 9984)"),
            ("at 0x55853ea46104, outside", "at 0x7f2eaa0004, outside"),
        ] {
            assert_eq!(difference(a, b), None, "{a:?} {b:?}");
        }
    }

    #[test]
    fn runs_that_differ_by_more_do_not_agree() {
        for (a, b) in [
            ("loss 0.6931", "loss 0.60"),
            ("loss 0.6931", "loss NaN"),
            ("z1 [8, 30] 1e-9 [0, 1] ok", "z1 [8, 31] 1e-9 [0, 1] ok"),
            ("z1 [8, 30] 1e-9 [0, 1] ok", "z1 [8, 30] 1e-9 [0, 1] DIFFERS"),
            ("error 1.2e-7", "error NaN"),
            ("error 1.2e-7", "error -1.2e-7"),
            ("error 1.2e-7", "error 1.2"),
            ("1.5", "1"),
            ("batch 10", "batch 11"),
            ("dw1 ok", "dw1 DIFFERS"),
            ("a", "a\nb"),
            ("a\nb", "a"),
            ("1.5 samples", "2.5 samples"),
            ("(9131 of 9984)", "(8131 of 9984)"),
            ("(9131 of 9984)", "(9131 of 9983)"),
            ("at 0x55853ea46104, outside", "at 0x55853ea46108, outside"),
            ("lanes 0x0000ffff", "lanes 0xffff0000"),
        ] {
            assert!(difference(a, b).is_some(), "{a:?} {b:?}");
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
