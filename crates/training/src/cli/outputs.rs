//! The files that a command is asked to write, looked at before it begins.

use std::path::{Path, PathBuf};

use host::file;

use super::Program;
use crate::{Error, Result, plot};

/// An option and the file that it has written.
pub(super) type Output<'a> = (&'static str, &'a Path);

/// The files that this process writes for the options that name `outputs`.
pub(super) fn own<P: Program>(
    options: &P::Options,
    outputs: &[Output<'_>],
) -> Vec<(&'static str, PathBuf)> {
    let files = outputs.iter().map(|(option, path)| (option, P::files(options, path)));
    files.flat_map(|(option, files)| files.into_iter().map(|file| (*option, file))).collect()
}

/// Sees that every file can be written, and that no two options write the same.
///
/// # Errors
/// When one can't, or two would, by whichever spelling.
pub(super) fn check(outputs: &[Output<'_>]) -> Result<()> {
    for (i, &(option, path)) in outputs.iter().enumerate() {
        file::check_writable(path).map_err(|source| Error::Write { path: path.into(), source })?;
        for &(other, path_too) in &outputs[..i] {
            if file::is_same(path, path_too) {
                return Err(Error::Usage(format!(
                    "{other} and {option} would both write {}, and only one would be left: name \
                     another file for one of them",
                    host::shown(path)
                )));
            }
        }
    }
    Ok(())
}

/// The same for a run that may also draw pictures into a folder, which is made.
///
/// # Errors
/// As [`check`], and when the folder can't be made.
pub(super) fn check_with_pictures(outputs: &[Output<'_>], folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else { return check(outputs) };
    plot::prepare(folder)?;
    let pictures: Vec<PathBuf> = plot::FILES.iter().map(|name| folder.join(name)).collect();
    let pictures = pictures.iter().map(|path| ("--plot", path.as_path()));
    check(&outputs.iter().copied().chain(pictures).collect::<Vec<_>>())
}
