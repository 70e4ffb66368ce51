//! Reading the file that a command is about: PTX, or CUDA C, which is compiled.

use std::fs;
use std::path::Path;

use ptx_emulator::source::Source;

use super::Failure;

/// Reads a file as PTX. One that is called `.cu` is CUDA C, of which `cuda-c` makes PTX; what it warns
/// of is said. What is no UTF-8 is replaced, and found by the parser, since PTX is ASCII.
pub(crate) fn read(path: &Path) -> Result<Source, Failure> {
    let bytes = fs::read(path).map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let name = host::shown(path).to_string();
    if path.extension().is_none_or(|end| end != "cu") {
        return Ok(Source { name, text });
    }
    let folders = cuda_c::Folders::default();
    let options =
        cuda_c::Options { name: &name, resolver: Some(&folders), ..cuda_c::Options::default() };
    let ptx = cuda_c::compile(&text, &options).map_err(Failure::Compile)?;
    for warning in &ptx.warnings {
        host::complain(warning.to_string().trim_end());
    }
    Ok(Source { name, text: ptx.text })
}
