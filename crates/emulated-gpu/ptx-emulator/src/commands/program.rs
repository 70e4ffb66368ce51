//! The command line of the program `ptx-emulator`.

use std::path::Path;

use clap::Parser;

use super::{Command, Environment, Failure, OutputPart, UNUSABLE};
use crate::RunOptions;
use crate::source::Source;

/// Check, run, trace and profile GPU kernels in PTX or CUDA C, on a machine without a GPU
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

impl Arguments {
    /// Runs the command, prints its results and complaints, and returns the exit code.
    #[must_use]
    pub fn execute(&self) -> u8 {
        let output =
            self.command.execute(&Environment { read: &read, options: RunOptions::default() });
        for part in &output.parts {
            match part {
                OutputPart::Result(text) => {
                    if let Err(error) = host::print(text) {
                        return host::lost_output(&error, UNUSABLE);
                    }
                }
                OutputPart::Complaint(text) => host::complain(text),
            }
        }
        output.code
    }
}

/// Reads a file as text. Invalid UTF-8 is replaced; the parser then reports it, because PTX is ASCII.
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

    /// clap only checks this in builds with debug assertions, and then at every start.
    #[test]
    fn argument_groups_have_unique_names() {
        let mut command = Arguments::command();
        command.build();
        for one in std::iter::once(&command).chain(command.get_subcommands()) {
            let mut names = HashSet::new();
            let twice = one.get_groups().find(|group| !names.insert(group.get_id().clone()));
            assert!(twice.is_none(), "{}: {twice:?}", one.get_name());
        }
    }
}
