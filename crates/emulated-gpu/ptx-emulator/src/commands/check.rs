//! `check FILE…`: reports the errors of PTX or CUDA C files, or a summary of each.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use super::fidelity;
use super::{CommandOutput, DONE, Environment, FAILED, Failure, UNUSABLE, read};
use crate::program::{Function, Module, Parameter, Space};

/// The arguments of `check`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// Files to check: PTX, or CUDA C if the name ends in `.cu`
    #[cfg_attr(feature = "cli", arg(required = true, value_name = "FILE"))]
    pub files: Vec<PathBuf>,
    /// List how closely each instruction's result matches a real card: exact, exact as far as known, within the
    /// error that the ISA states, or refused
    #[cfg_attr(feature = "cli", arg(long))]
    pub fidelity: bool,
}

/// Checks every file, and returns the highest exit code. A file that can't be read is reported, and the next
/// one checked.
pub(super) fn run(
    arguments: &Arguments,
    environment: &Environment<'_>,
    output: &mut CommandOutput,
) -> u8 {
    let mut worst = DONE;
    for path in &arguments.files {
        let source = match read(path, environment, output) {
            Ok(source) => source,
            Err(Failure::Compile(diagnostics)) => {
                let name =
                    (environment.read)(path).map_or_else(|_| String::new(), |file| file.name);
                worst = worst.max(errors(&name, &diagnostics, output));
                continue;
            }
            Err(failure) => {
                output.complain(format_args!("error: {failure}"));
                worst = UNUSABLE;
                continue;
            }
        };
        match crate::parse(&source) {
            Ok(module) => {
                output.print(format!("{}: {}\n", source.name, summary(&module)));
                if arguments.fidelity {
                    output.print(fidelity::of_module(&module, &source));
                }
            }
            Err(diagnostics) => {
                worst = worst.max(errors(&source.name, &diagnostics, output));
                if arguments.fidelity {
                    let lines = diagnostics.iter().map(|diagnostic| diagnostic.text.as_str());
                    output.print(fidelity::of_errors(lines));
                }
            }
        }
    }
    worst
}

/// Prints the errors of a file, and their number.
fn errors(name: &str, diagnostics: &[impl Display], output: &mut CommandOutput) -> u8 {
    for diagnostic in diagnostics {
        output.complain(diagnostic);
    }
    let errors = if diagnostics.len() == 1 { "error" } else { "errors" };
    output.print(format!("{name}: {} {errors}\n", diagnostics.len()));
    FAILED
}

/// A summary: version, target, and each entry with its parameters, registers and shared memory.
fn summary(module: &Module) -> String {
    let (major, minor) = module.version;
    let mut text = format!("PTX {major}.{minor} for sm_{}", module.target);
    let shared: u64 = module
        .variables
        .iter()
        .filter(|variable| variable.space == Space::Shared)
        .map(|variable| variable.size)
        .sum();
    for entry in module.functions.iter().filter(|function| function.entry) {
        let _ = write!(text, "; {}", describe(entry, shared));
    }
    text
}

/// Formats an entry as `name(.u64 a, .u32 b): 12 registers, 64 bytes of shared memory`.
fn describe(entry: &Function, module_shared: u64) -> String {
    let parameters: Vec<String> = entry
        .parameters
        .iter()
        .filter_map(|parameter| describe_parameter(entry, *parameter))
        .collect();
    let own: u64 = entry
        .variables
        .iter()
        .filter(|variable| variable.space == Space::Shared)
        .map(|variable| variable.size)
        .sum();
    format!(
        "{}({}): {} registers, {} bytes of shared memory",
        entry.name,
        parameters.join(", "),
        entry.registers.len(),
        own + module_shared,
    )
}

fn describe_parameter(entry: &Function, parameter: Parameter) -> Option<String> {
    let Parameter::Variable(id) = parameter else { return None };
    let variable = &entry.variables[id.0 as usize];
    let (ty, element) = (variable.element.name(), variable.element.bytes());
    Some(if variable.size > element {
        format!(".{ty} {}[{}]", variable.name, variable.size / element)
    } else {
        format!(".{ty} {}", variable.name)
    })
}
