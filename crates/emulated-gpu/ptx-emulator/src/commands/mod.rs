//! The commands of the program `ptx-emulator`, one file each, as functions. They return their output as text, so that a
//! web page and a terminal can show the same text. The command line itself needs the feature `cli`.

pub mod argument;
pub mod check;
mod element;
mod entry;
pub mod fidelity;
pub mod launch;
pub mod profile;
#[cfg(feature = "cli")]
pub mod program;
pub mod run;
mod source;
pub mod table;
pub mod trace;

use std::fmt::Display;
use std::path::Path;

use crate::room::OutOfMemory;
use crate::source::Source;
use crate::{Diagnostic, RunOptions};
use thiserror::Error;

pub use source::read;

/// Exit code: success.
pub const DONE: u8 = 0;
/// Exit code: the command ran and found an error.
pub const FAILED: u8 = 1;
/// Exit code: the command could not run, because of bad usage or an unreadable file.
pub const UNUSABLE: u8 = 2;

/// A command and its arguments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Subcommand))]
pub enum Command {
    /// Report the errors of PTX or CUDA C files, or a summary of each
    ///
    /// Exits with 0 if there are no errors, 1 if there are, and 2 if a file can't be read.
    Check(check::Arguments),
    /// Run a kernel on given arguments, and show what it wrote
    ///
    /// Exits with 0 if the kernel finished, 1 if it broke a rule, and 2 if it can't be launched.
    Run(run::Arguments),
    /// Run a kernel, and show what one of its threads did, instruction by instruction
    ///
    /// Exits as `run` does.
    Trace(trace::Arguments),
    /// Run a kernel, and show its PTX with the cost of each line
    ///
    /// Exits as `run` does.
    Profile(profile::Arguments),
}

/// The environment of a command.
pub struct Environment<'a> {
    /// Reads a file. The source has the name that messages use.
    pub read: &'a dyn Fn(&Path) -> Result<Source, Failure>,
    /// Options of the device. A command adds the options in its arguments.
    pub options: RunOptions,
}

/// The output of a command.
#[derive(Clone, Debug, Default)]
pub struct CommandOutput {
    /// The parts of the output, in order. Each begins on a new line.
    pub parts: Vec<OutputPart>,
    /// The exit code.
    pub code: u8,
}

/// A part of the output, by its destination.
#[derive(Clone, Debug)]
pub enum OutputPart {
    /// A result for standard output. It ends with a line break.
    Result(String),
    /// A complaint for standard error. It ends without a line break.
    Complaint(String),
}

impl CommandOutput {
    fn print(&mut self, text: String) {
        self.parts.push(OutputPart::Result(text));
    }

    /// Appends a complaint.
    pub fn complain(&mut self, what: impl Display) {
        self.parts.push(OutputPart::Complaint(what.to_string()));
    }
}

/// Formats the whole output, as a terminal shows it.
impl Display for CommandOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            OutputPart::Result(text) => f.write_str(text),
            OutputPart::Complaint(text) => writeln!(f, "{text}"),
        })
    }
}

impl Command {
    /// Executes the command.
    #[must_use]
    pub fn execute(&self, environment: &Environment<'_>) -> CommandOutput {
        let mut output = CommandOutput::default();
        let outcome = match self {
            Self::Check(arguments) => Ok(check::run(arguments, environment, &mut output)),
            Self::Run(arguments) => run::run(arguments, environment, &mut output),
            Self::Trace(arguments) => trace::run(arguments, environment, &mut output),
            Self::Profile(arguments) => profile::run(arguments, environment, &mut output),
        };
        output.code = outcome.unwrap_or_else(|failure| {
            let label = if matches!(failure, Failure::Program(_)) { "" } else { "error: " };
            output.complain(format_args!("{label}{failure}"));
            failure.exit_code()
        });
        output
    }
}

/// Why a command could not run.
#[derive(Debug, Error)]
pub enum Failure {
    /// A file can't be read.
    #[error("can't read {name}: {why}")]
    Read {
        /// The name of the file.
        name: String,
        /// The error of the operating system.
        why: String,
    },
    /// The file has errors. Their texts begin with `error:`.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Program(Vec<Diagnostic>),
    /// The file is CUDA C that does not compile.
    #[error("the file does not compile:{}", .0.iter().map(|d| format!("\n{d}")).collect::<String>())]
    Compile(Vec<cuda_c::Diagnostic>),
    /// The device or the host is out of memory.
    #[error(transparent)]
    Memory(OutOfMemory),
    /// The arguments are invalid.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// The exit code for this failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Memory(_) => FAILED,
            _ => UNUSABLE,
        }
    }
}
