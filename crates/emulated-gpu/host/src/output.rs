//! Standard output and standard error.

use std::ffi::OsString;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, ValueEnum};

use crate::escape::escape_but_colours;
use crate::signals;

/// Prints a result to standard output, without colours where they don't belong, and with what
/// would command a terminal made visible.
///
/// # Errors
/// What the operating system says, such as that the disk is full: then the result is lost, and
/// [`lost_output`] says so.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(escape_but_colours(text).as_bytes())?;
    out.flush()
}

/// Says something on standard error, in a line. Where that is closed or full too, nothing is left
/// to be done.
pub fn complain(text: impl Display) {
    let text = format!("{text}\n");
    let _ = anstream::stderr().lock().write_all(escape_but_colours(&text).as_bytes());
}

/// Writes one of an option's values as the command line takes it: the `Display` of such a value.
///
/// # Errors
/// What the formatter says.
pub fn write_value(value: &impl ValueEnum, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    value.to_possible_value().map_or(Ok(()), |value| f.pad(value.get_name()))
}

/// How a program ends whose output could not be written: a reader who went away, such as `head`,
/// has seen enough, and the exit code is the shell's for a program that was ended by the closed
/// pipe, 141; anything else is said, and is a failure.
#[must_use]
pub fn lost_output(error: &io::Error, failure: u8) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return signals::exit_code(signals::CLOSED_PIPE);
    }
    complain(format_args!("error: can't write to standard output: {error}"));
    failure
}

/// Prints a line of a program's results and ends the program if it can't be written: what
/// [`println!`](crate::println) does.
pub fn print_line(text: fmt::Arguments<'_>) {
    if let Err(error) = print(&format!("{text}\n")) {
        signals::end(lost_output(&error, 1).into());
    }
}

/// [`std::println!`] for programs without an error handling of their own, such as examples. If the
/// line can't be written, it ends the program as [`lost_output`] says; the standard one panics.
#[macro_export]
macro_rules! println {
    () => { $crate::print_line(format_args!("")) };
    ($($text:tt)*) => { $crate::print_line(format_args!($($text)*)) };
}

/// Reads the command line, or says how the program ends without: after `--help` and `--version`
/// with 0, where they could be printed, and after bad usage with 2.
///
/// # Errors
/// The exit code.
pub fn parse<A: CommandFactory + FromArgMatches>(
    change: impl FnOnce(Command) -> Command,
) -> Result<A, ExitCode> {
    parse_from(change(A::command()), std::env::args_os())
}

fn parse_from<A: FromArgMatches>(
    mut command: Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<A, ExitCode> {
    let parsed = command.try_get_matches_from_mut(arguments);
    parsed.and_then(|mut matches| A::from_arg_matches_mut(&mut matches)).map_err(|error| {
        let text = error.render().ansi().to_string();
        if error.use_stderr() {
            complain(text.trim_end());
            return ExitCode::from(2);
        }
        match print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => ExitCode::from(lost_output(&error, 1)),
        }
    })
}
