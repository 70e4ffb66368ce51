//! The text that a command is about: PTX, or CUDA C, which is compiled.

use std::path::Path;

use super::{Failure, Setting, Told};
use ptx_emulator::source::Source;

/// Reads a file as PTX. One that is called `.cu` is CUDA C, of which `cuda-c` makes PTX; what it warns
/// of is said.
///
/// # Errors
/// When it can't be read, or does not compile.
pub fn read(path: &Path, setting: &Setting<'_>, told: &mut Told) -> Result<Source, Failure> {
    let Source { name, text } = (setting.read)(path)?;
    if path.extension().is_none_or(|end| end != "cu") {
        return Ok(Source { name, text });
    }
    let folders = cuda_c::Folders::default();
    let options =
        cuda_c::Options { name: &name, resolver: Some(&folders), ..cuda_c::Options::default() };
    let ptx = cuda_c::compile(&text, &options).map_err(Failure::Compile)?;
    for warning in &ptx.warnings {
        told.complain(warning.to_string().trim_end());
    }
    Ok(Source { name, text: ptx.text })
}
