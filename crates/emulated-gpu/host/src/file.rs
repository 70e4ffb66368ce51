//! Atomic file writes, and bounded file reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

mod target;

pub use crate::input::{MAX_TEXT_BYTES, open, open_up_to, read, read_file, read_packed};
use crate::signals::Unfinished;
use target::Target;

/// Writes a temporary file in the folder of `path` and renames it once all data are on the disk. A full disk, an
/// error or Ctrl-C therefore never leaves a partial file and never damages the existing one.
///
/// A symbolic link is followed, and its target is replaced. The new file keeps the permissions and owner of the
/// existing one. A file marked as read-only is not replaced, not even by root. Anything other than a regular file,
/// such as a terminal or a pipe, is written directly, and so are `/dev/stdout` and similar names, even if they are
/// redirected to a file. In a world-writable folder such as `/tmp`, another user's symbolic link or pipe is rejected.
///
/// # Errors
/// Errors of `write`, and those of the operating system while creating, writing or renaming.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    match target::resolve(path)? {
        Target::Output => write_directly(io::stdout().lock(), write),
        Target::Messages => write_directly(io::stderr().lock(), write),
        Target::Special(path) => write_directly(OpenOptions::new().append(true).open(path)?, write),
        Target::File(path) => {
            // The guard lives until the end of this block, so that a signal that ends the program also removes the
            // file.
            let (temporary, _unfinished) = temporary(&path)?;
            // Writes through the inner `File`, because errors would otherwise contain the temporary name.
            let mut writer = BufWriter::new(temporary.as_file());
            write(&mut writer)?;
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            keep_permissions(&path, temporary.as_file())?;
            temporary.persist(&path).map_err(|error| error.error)?;
            Ok(())
        }
    }
}

fn write_directly<E: From<io::Error>>(
    to: impl Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = BufWriter::new(to);
    write(&mut writer)?;
    Ok(writer.flush()?)
}

/// Checks whether [`write_atomically`] could write to a path, so that a long computation fails at its start. Creates no
/// file.
///
/// # Errors
/// Errors of the operating system.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match target::resolve(path)? {
        Target::File(path) => temporary(&path).map(drop),
        Target::Output | Target::Messages | Target::Special(_) => Ok(()),
    }
}

/// Whether both paths, which need not exist yet, lead to the same regular file, so that writing one would replace the
/// other.
#[must_use]
pub fn is_same(a: &Path, b: &Path) -> bool {
    match (target::resolve(a), target::resolve(b)) {
        (Ok(Target::File(a)), Ok(Target::File(b))) => a == b || target::is_same_file(&a, &b),
        _ => false,
    }
}

/// Creates a temporary file in the folder of `path`; it is removed unless it is renamed.
fn temporary(path: &Path) -> io::Result<(NamedTempFile<File>, Unfinished)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Temporary files are private by default; the final file should have the usual permissions.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o666);
    let mut unfinished = None;
    let file = tempfile::Builder::new().prefix(".four-levels-").suffix(".part").make_in(
        target::folder(path),
        |temporary| {
            let (file, guard) =
                Unfinished::create_temporary(temporary, || options.open(temporary))?;
            unfinished = Some(guard);
            Ok(file)
        },
    )?;
    Ok((file, unfinished.expect("a file was created")))
}

/// Copies the permissions of the replaced file to the new one, and its owner if this user may.
fn keep_permissions(path: &Path, file: &File) -> io::Result<()> {
    let Ok(old) = fs::metadata(path) else { return Ok(()) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            // Errors are ignored: only root may change the owner, and a user may only set a group to which the user
            // belongs.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()))
                .or_else(|_| fchown(file, None, Some(old.gid())));
        }
        file.set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o777))
    }
    #[cfg(not(unix))]
    file.set_permissions(old.permissions())
}

#[cfg(test)]
mod tests;
