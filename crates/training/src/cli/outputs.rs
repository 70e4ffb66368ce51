//! Checks of the files that a command will write, made before it begins.

use std::path::{Path, PathBuf};

use host::file;

use super::Program;
use crate::{Error, Result, plot};

/// An option and the file that it causes to be written.
pub(super) type Output<'a> = (&'static str, &'a Path);

/// The files that this process writes for the options that name `outputs`.
pub(super) fn own<P: Program>(
    options: &P::Options,
    outputs: &[Output<'_>],
) -> Vec<(&'static str, PathBuf)> {
    let files = outputs.iter().map(|(option, path)| (option, P::files(options, path)));
    files.flat_map(|(option, files)| files.into_iter().map(|file| (*option, file))).collect()
}

/// Checks that every file can be written, and that no two options write the same file.
///
/// # Errors
/// [`Error::Write`] if a file can't be written, [`Error::Usage`] if two paths lead to the same file.
pub(super) fn check(outputs: &[Output<'_>]) -> Result<()> {
    for (i, &(option, path)) in outputs.iter().enumerate() {
        file::check_writable(path).map_err(|source| Error::Write { path: path.into(), source })?;
        for &(other, path_too) in &outputs[..i] {
            if file::is_same(path, path_too) {
                return Err(Error::Usage(format!(
                    "{other} and {option} would both write {}: name another file for one of them",
                    host::shown(path)
                )));
            }
        }
    }
    Ok(())
}

/// As [`check`], for a run that may also draw pictures into a folder. Creates the folder.
///
/// # Errors
/// As [`check`]; if the folder can't be created.
pub(super) fn check_with_pictures(outputs: &[Output<'_>], folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else { return check(outputs) };
    plot::prepare(folder)?;
    let pictures: Vec<PathBuf> = plot::FILES.iter().map(|name| folder.join(name)).collect();
    let pictures = pictures.iter().map(|path| ("--plot", path.as_path()));
    check(&outputs.iter().copied().chain(pictures).collect::<Vec<_>>())
}
