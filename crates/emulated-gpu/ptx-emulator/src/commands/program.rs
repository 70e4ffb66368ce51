//! The command line of the program `ptx-emulator`.

use std::path::Path;

use clap::Parser;

use super::{Command, Failure, Said, Setting, UNUSABLE};
use crate::Options;
use crate::source::Source;

/// Reads PTX, the assembly language of NVIDIA's GPUs, and CUDA C, on a machine that needs none.
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
        let told = self.command.execute(&Setting { read: &read, options: Options::default() });
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
