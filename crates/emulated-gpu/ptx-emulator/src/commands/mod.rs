//! The commands of the program `ptx-emulator` about kernels, one file for each, as functions: what they print is given
//! back as text, so that a page shows the same that a terminal does. The command line itself needs the
//! feature `cli`.

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
use crate::{Diagnostic, Options};
use thiserror::Error;

pub use source::read;

/// It did what was asked for.
pub const DONE: u8 = 0;
/// It ran and found something wrong.
pub const FAILED: u8 = 1;
/// Nothing can be said: bad usage, an unreadable file.
pub const UNUSABLE: u8 = 2;

/// One of them, with what it is told.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Subcommand))]
pub enum Command {
    /// Say what is wrong with files of PTX or CUDA C, or what is in them.
    ///
    /// Exits with 0 when nothing is wrong, 1 when there are errors and 2 when a file can't be
    /// read.
    Check(check::Arguments),
    /// Run a kernel on given arguments, and show what it wrote.
    ///
    /// Exits with 0 when it ran to its end, 1 when it broke a rule and 2 when it can't be launched.
    Run(run::Arguments),
    /// Run a kernel, and show what one of its threads did, instruction by instruction.
    ///
    /// Exits as `run` does.
    Trace(trace::Arguments),
    /// Run a kernel, and show its PTX with what each line cost.
    ///
    /// Exits as `run` does.
    Profile(profile::Arguments),
}

/// What a command runs on.
pub struct Setting<'a> {
    /// Reads a file: its name as messages have it, and its text.
    pub read: &'a dyn Fn(&Path) -> Result<Source, Failure>,
    /// The device, but for what the command says of it.
    pub options: Options,
}

/// What a command said, in order.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// In order; each begins a line.
    pub said: Vec<Said>,
    /// What the program exits with.
    pub code: u8,
}

/// A text, and where it belongs.
#[derive(Clone, Debug)]
pub enum Said {
    /// A result, which ends with a line break: to standard output.
    Result(String),
    /// A complaint, without one: to standard error.
    Complaint(String),
}

impl Told {
    fn print(&mut self, text: String) {
        self.said.push(Said::Result(text));
    }

    /// Adds a complaint.
    pub fn complain(&mut self, what: impl Display) {
        self.said.push(Said::Complaint(what.to_string()));
    }
}

/// All that was said, as a terminal shows it.
impl Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.said.iter().try_for_each(|said| match said {
            Said::Result(text) => f.write_str(text),
            Said::Complaint(text) => writeln!(f, "{text}"),
        })
    }
}

impl Command {
    /// Does what it says.
    #[must_use]
    pub fn execute(&self, setting: &Setting<'_>) -> Told {
        let mut told = Told::default();
        let outcome = match self {
            Self::Check(arguments) => Ok(check::run(arguments, setting, &mut told)),
            Self::Run(arguments) => run::run(arguments, setting, &mut told),
            Self::Trace(arguments) => trace::run(arguments, setting, &mut told),
            Self::Profile(arguments) => profile::run(arguments, setting, &mut told),
        };
        told.code = outcome.unwrap_or_else(|failure| {
            told.complain(format_args!("error: {failure}"));
            failure.exit_code()
        });
        told
    }
}

/// Why a command could not do its work.
#[derive(Debug, Error)]
pub enum Failure {
    /// A file can't be read.
    #[error("can't read {name}: {why}")]
    Read {
        /// The file.
        name: String,
        /// What the operating system says.
        why: String,
    },
    /// The file has errors.
    #[error("the file can't be run:{}", .0.iter().map(|d| format!("\n{d}")).collect::<String>())]
    Program(Vec<Diagnostic>),
    /// The file is in CUDA C, and does not compile.
    #[error("the file does not compile:{}", .0.iter().map(|d| format!("\n{d}")).collect::<String>())]
    Compile(Vec<cuda_c::Diagnostic>),
    /// There is no room for the buffers.
    #[error(transparent)]
    Memory(OutOfMemory),
    /// The command line asks for what can't be done.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// What the program exits with.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Memory(_) => FAILED,
            _ => UNUSABLE,
        }
    }
}
