//! Reading a command's file: PTX, or CUDA C, which is compiled.

use std::path::Path;

use super::{CommandOutput, Environment, Failure};
use crate::source::Source;

/// Reads a file as PTX. A file whose name ends in `.cu` is compiled by `cuda-c`, and its warnings are printed.
///
/// # Errors
/// If the file can't be read, does not compile, or is neither PTX nor CUDA C.
pub fn read(
    path: &Path,
    environment: &Environment<'_>,
    output: &mut CommandOutput,
) -> Result<Source, Failure> {
    read_with(path, None, environment, output).map(|(source, _)| source)
}

/// Reads a file as [`read`] does. `instance` is the CUDA C name of a template's instance, such as `copy<float,
/// 4>`: it is instantiated even if the file doesn't use it, and its PTX name is returned.
pub(super) fn read_with(
    path: &Path,
    instance: Option<&str>,
    environment: &Environment<'_>,
    output: &mut CommandOutput,
) -> Result<(Source, Option<String>), Failure> {
    let Source { name, text } = (environment.read)(path)?;
    if path.extension().is_none_or(|end| end != "cu") {
        // PTX in a file with another name is accepted; it begins with a `.version`.
        if path.extension().is_none_or(|end| end != "ptx") && !text.contains(".version") {
            return Err(Failure::Usage(format!("{name} is not a .ptx or .cu file")));
        }
        return Ok((Source { name, text }, None));
    }
    let folders = cuda_c::Folders::default();
    let options = cuda_c::CompileOptions {
        name: &name,
        resolver: Some(&folders),
        ..cuda_c::CompileOptions::default()
    };
    let compile = |names: Vec<String>| {
        cuda_c::compile(&text, &cuda_c::CompileOptions { names, ..options.clone() })
    };
    let instance = instance.filter(|name| name.contains('<'));
    // If there is no such template, no entry has the name, and the error lists the entries that exist.
    let named = instance.and_then(|name| compile(vec![name.to_owned()]).ok());
    let mut ptx = named.map_or_else(|| compile(Vec::new()), Ok).map_err(Failure::Compile)?;
    for warning in &ptx.warnings {
        output.complain(warning.to_string().trim_end());
    }
    let compiled = Source { name, text: ptx.text };
    // Inline PTX is the user's and may be invalid.
    debug_assert!(
        text.contains("asm") || crate::parse(&compiled).is_ok(),
        "cuda-c made PTX that the emulator rejects:\n{}",
        compiled.text
    );
    Ok((compiled, ptx.names.pop()))
}
