//! `ptx-emulator COMMAND FILE…`: what is wrong with a file of PTX or of CUDA C, and what it does.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{Failure, check, profile, puzzle, run, trace};

/// Reads PTX, the assembly language of NVIDIA's GPUs, and CUDA C, on a machine that needs none.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
    /// Kernels to write: list them, begin one, check it, get a hint.
    ///
    /// Exits with 0 when a check finds the puzzle solved, 1 when it is not, and 2 when a file can't be
    /// read.
    Puzzle(puzzle::Arguments),
}

fn main() -> ExitCode {
    host::main(|| match host::parse(|command| command) {
        Ok(arguments) => ExitCode::from(execute(&arguments)),
        Err(code) => code,
    })
}

/// Does what the command line asks for; the exit code.
pub(crate) fn execute(arguments: &Arguments) -> u8 {
    let outcome = match &arguments.command {
        Command::Check(arguments) => check::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
        Command::Profile(arguments) => profile::run(arguments),
        Command::Puzzle(arguments) => puzzle::run(arguments),
    };
    outcome.unwrap_or_else(|failure| match failure {
        Failure::Output(error) => host::lost_output(&error, commands::UNUSABLE),
        failure => {
            host::complain(format_args!("error: {failure}"));
            failure.exit_code()
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::CommandFactory;

    use super::*;

    /// clap looks only where it is built with debug assertions, and then at every start.
    #[test]
    fn no_group_of_arguments_has_the_name_of_another() {
        let mut command = Arguments::command();
        command.build();
        for one in std::iter::once(&command).chain(command.get_subcommands()) {
            let mut names = HashSet::new();
            let twice = one.get_groups().find(|group| !names.insert(group.get_id().clone()));
            assert!(twice.is_none(), "{}: {twice:?}", one.get_name());
        }
    }
}
