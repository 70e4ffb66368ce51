//! `ptx-emulator COMMAND FILE…`: checks, runs, traces and profiles kernels in PTX or CUDA C.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use ptx_emulator::Options;
use ptx_emulator::commands::{self, Failure, Said, Setting, UNUSABLE};
use ptx_emulator::source::Source;

/// Reads PTX, the assembly language of NVIDIA's GPUs, and CUDA C, on a machine that needs none.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    host::main(|| match host::parse::<Arguments>(|command| command) {
        Ok(arguments) => ExitCode::from(execute(&arguments)),
        Err(code) => code,
    })
}

/// Does what the command line asks for; the exit code.
pub(crate) fn execute(arguments: &Arguments) -> u8 {
    let told = arguments.command.execute(&Setting { read: &read, options: Options::default() });
    for said in &told.said {
        match said {
            Said::Result(text) => {
                if let Err(error) = host::print(text) {
                    return host::lost_output(&error, UNUSABLE);
                }
            }
            Said::Complaint(text) => host::complain(text),
        }
    }
    told.code
}

/// A file as text. What is no UTF-8 is replaced, and found by the parser, since PTX is ASCII.
fn read(path: &Path) -> Result<Source, Failure> {
    let name = host::shown(path).to_string();
    match host::input::text(path) {
        Ok(text) => Ok(Source { name, text }),
        Err(error) => Err(Failure::Read { name, why: error.to_string() }),
    }
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
