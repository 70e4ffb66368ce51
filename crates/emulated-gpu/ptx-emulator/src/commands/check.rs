//! `check FILE…`: what is wrong with PTX files, or what is in them.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use super::fidelity;
use super::{DONE, FAILED, Failure, Setting, Told, UNUSABLE, read};
use crate::program::{Function, Module, Parameter, Space};

/// What `check` is told.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// The files: PTX, or CUDA C where they are called `.cu`.
    #[cfg_attr(feature = "cli", arg(required = true, value_name = "FILE"))]
    pub files: Vec<PathBuf>,
    /// Say of every instruction how near its result is to a card's: exact, exact as far as is known, within
    /// the error that the ISA states, or refused.
    #[cfg_attr(feature = "cli", arg(long))]
    pub fidelity: bool,
}

/// Checks every file, and gives which is the worst that was found. What can't be read is reported, and
/// the next file checked.
pub(super) fn run(arguments: &Arguments, setting: &Setting<'_>, told: &mut Told) -> u8 {
    let mut worst = DONE;
    for path in &arguments.files {
        let source = match read(path, setting, told) {
            Ok(source) => source,
            Err(Failure::Compile(diagnostics)) => {
                let name = (setting.read)(path).map_or_else(|_| String::new(), |file| file.name);
                worst = worst.max(errors(&name, &diagnostics, told));
                continue;
            }
            Err(failure) => {
                told.complain(format_args!("error: {failure}"));
                worst = UNUSABLE;
                continue;
            }
        };
        match crate::parse(&source) {
            Ok(module) => {
                told.print(format!("{}: {}\n", source.name, summary(&module)));
                if arguments.fidelity {
                    told.print(fidelity::of_module(&module, &source));
                }
            }
            Err(diagnostics) => {
                worst = worst.max(errors(&source.name, &diagnostics, told));
                if arguments.fidelity {
                    let lines = diagnostics.iter().map(|diagnostic| diagnostic.text.as_str());
                    told.print(fidelity::of_errors(lines));
                }
            }
        }
    }
    worst
}

/// Says what is wrong with a file, and how much.
fn errors(name: &str, diagnostics: &[impl Display], told: &mut Told) -> u8 {
    for diagnostic in diagnostics {
        told.complain(diagnostic);
    }
    let errors = if diagnostics.len() == 1 { "error" } else { "errors" };
    told.print(format!("{name}: {} {errors}\n", diagnostics.len()));
    FAILED
}

/// Version, target, and each entry with its parameters, registers and shared memory.
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

/// `name(.u64 a, .u32 b): 12 registers, 64 bytes of shared memory`
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
