//! The text that a command is about: PTX, or CUDA C, which is compiled.

use std::path::Path;

use super::{Failure, Setting, Told};
use crate::source::Source;

/// Reads a file as PTX. One that is called `.cu` is CUDA C, of which `cuda-c` makes PTX; what it warns
/// of is said.
///
/// # Errors
/// When it can't be read, or does not compile.
pub fn read(path: &Path, setting: &Setting<'_>, told: &mut Told) -> Result<Source, Failure> {
    read_with(path, None, setting, told).map(|(source, _)| source)
}

/// The same, and what an instance of a template that CUDA C calls by this name, `copy<float, 4>`, is called in
/// the PTX: it is made even if the file doesn't use it.
pub(super) fn read_with(
    path: &Path,
    instance: Option<&str>,
    setting: &Setting<'_>,
    told: &mut Told,
) -> Result<(Source, Option<String>), Failure> {
    let Source { name, text } = (setting.read)(path)?;
    if path.extension().is_none_or(|end| end != "cu") {
        return Ok((Source { name, text }, None));
    }
    let folders = cuda_c::Folders::default();
    let options =
        cuda_c::Options { name: &name, resolver: Some(&folders), ..cuda_c::Options::default() };
    let compile =
        |names: Vec<String>| cuda_c::compile(&text, &cuda_c::Options { names, ..options.clone() });
    let instance = instance.filter(|name| name.contains('<'));
    // Without such a template it is a name that no entry has, which is reported with those that there are.
    let named = instance.and_then(|name| compile(vec![name.to_owned()]).ok());
    let mut ptx = named.map_or_else(|| compile(Vec::new()), Ok).map_err(Failure::Compile)?;
    for warning in &ptx.warnings {
        told.complain(warning.to_string().trim_end());
    }
    let made = Source { name, text: ptx.text };
    // Inline PTX is the user's, and may be wrong.
    debug_assert!(
        text.contains("asm") || crate::parse(&made).is_ok(),
        "cuda-c made PTX that the emulator rejects:\n{}",
        made.text
    );
    Ok((made, ptx.names.pop()))
}
