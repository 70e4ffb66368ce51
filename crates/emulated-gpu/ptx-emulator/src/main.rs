//! `ptx-emulator COMMAND FILE…`: what is wrong with a PTX file, and what it does.

mod commands;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{check, profile, run, trace};

/// Reads PTX, the assembly language of NVIDIA's GPUs, on a machine that needs none.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what is wrong with PTX files, or what is in them.
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

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Profile(arguments) => profile::run(&arguments),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // Nothing is left to do when standard error is closed too.
            let _ = writeln!(anstream::stderr(), "error: {failure}");
            ExitCode::from(commands::UNUSABLE)
        }
    }
}
