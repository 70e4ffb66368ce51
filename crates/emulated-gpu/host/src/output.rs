//! Output to standard output and standard error.

use std::ffi::OsString;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, ValueEnum};

use crate::escape::escape_but_colours;
use crate::signals;

/// Prints a result to standard output. Colours are dropped if it is not a terminal, and control characters are
/// escaped.
///
/// # Errors
/// The errors of the operating system, for example if the disk is full. The result is then lost; pass the error to
/// [`lost_output`].
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(escape_but_colours(text).as_bytes())?;
    out.flush()
}

/// Prints a line on standard error. If that fails, nothing else can be done.
pub fn complain(text: impl Display) {
    let text = format!("{text}\n");
    let _ = anstream::stderr().lock().write_all(escape_but_colours(&text).as_bytes());
}

/// Implements `Display` for an option's value: prints the value as it is written on the command line.
///
/// # Errors
/// The errors of the formatter.
pub fn write_value(value: &impl ValueEnum, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    value.to_possible_value().map_or(Ok(()), |value| f.pad(value.get_name()))
}

/// The exit code of a program whose output could not be written. A reader such as `head` may close the pipe early:
/// this is no failure, and the exit code is 141, like that of a program killed by SIGPIPE. Any other error is
/// printed, and the result is `failure`.
#[must_use]
pub fn lost_output(error: &io::Error, failure: u8) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return signals::exit_code(signals::CLOSED_PIPE);
    }
    complain(format_args!("error: can't write to standard output: {error}"));
    failure
}

/// Prints a line of a program's results and ends the program if printing fails; used by [`println!`](crate::println).
pub fn print_line(text: fmt::Arguments<'_>) {
    if let Err(error) = print(&format!("{text}\n")) {
        signals::end(lost_output(&error, 1).into());
    }
}

/// Like [`std::println!`], for programs without their own error handling, such as examples. If the line can't be
/// written, the program ends as described at [`lost_output`] instead of panicking.
#[macro_export]
macro_rules! println {
    () => { $crate::print_line(format_args!("")) };
    ($($text:tt)*) => { $crate::print_line(format_args!($($text)*)) };
}

/// Parses the command line, or returns the exit code of a program that has to end: 0 after `--help` and `--version`, if
/// they could be printed, and 2 after invalid usage.
///
/// # Errors
/// If the program has to end. The error is the exit code.
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
