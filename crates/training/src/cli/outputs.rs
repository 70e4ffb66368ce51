//! Checks of the files that a command will write, made before it begins.

use std::path::{Path, PathBuf};

use host::file;

use super::LevelProgram;
use crate::{Error, Result};

/// An option, and a file that this process writes because of it.
pub(super) type Output = (&'static str, PathBuf);

/// The files that this process writes for the level's own options, and for an option such as `--out`, for which each
/// rank writes its own file.
pub(super) fn of_level(
    program: &dyn LevelProgram,
    another: Option<(&'static str, &Path)>,
) -> Vec<Output> {
    let named = program.outputs().into_iter().chain(another);
    let files = named.map(|(option, path)| (option, program.files(path)));
    files.flat_map(|(option, files)| files.into_iter().map(move |file| (option, file))).collect()
}

/// Checks that every file can be written, and that no two options write the same file.
///
/// # Errors
/// [`Error::Write`] if a file can't be written, [`Error::Usage`] if two paths lead to the same file.
pub(super) fn check(outputs: &[Output]) -> Result<()> {
    for (i, (option, path)) in outputs.iter().enumerate() {
        file::check_writable(path).map_err(|source| Error::Write { path: path.into(), source })?;
        if let Some((other, _)) = outputs[..i].iter().find(|other| file::is_same(path, &other.1)) {
            return Err(Error::Usage(format!(
                "{other} and {option} would both write {}: name another file for one of them",
                host::shown(path)
            )));
        }
    }
    Ok(())
}
