//! Files that are either written whole or not at all, and files that are read no further than
//! makes sense.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

mod target;

pub use crate::input::{MAX_TEXT_BYTES, open, open_up_to, read, read_file, read_packed};
use crate::signals::Unfinished;
use target::Target;

/// Writes a file under a temporary name beside `path` and renames it when all of it is on the
/// disk, so that a full disk, an error or Ctrl-C never leaves half a file, and never harms the
/// one that was there.
///
/// The file that was there decides what the new one is: behind a symbolic link it is the link's
/// target that is replaced, and permissions and owner stay; one that is marked as read-only is not
/// replaced, whoever asks. What is no ordinary file, such as a terminal or a pipe, is written
/// directly, and so are `/dev/stdout` and its like, whatever they stand for. In a folder where everybody may
/// write, such as `/tmp`, another user's symbolic link or pipe is refused.
///
/// # Errors
/// Whatever `write` returns, or what the operating system says of creating, writing or renaming.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    match target::of(path)? {
        Target::Output => write_directly(io::stdout().lock(), write),
        Target::Messages => write_directly(io::stderr().lock(), write),
        Target::Special(path) => write_directly(OpenOptions::new().append(true).open(path)?, write),
        Target::File(path) => {
            // Until the end of this block: a signal that ends the program removes the file too.
            let (temporary, _unfinished) = temporary(&path)?;
            // Through the file itself: the temporary name would be part of each error.
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

/// Says whether [`write_atomically`] could write there, so that a program that computes for long
/// finds out before it begins. Leaves nothing behind.
///
/// # Errors
/// What the operating system says.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match target::of(path)? {
        Target::File(path) => temporary(&path).map(drop),
        Target::Output | Target::Messages | Target::Special(_) => Ok(()),
    }
}

/// Whether both paths, which need not exist yet, lead to the same ordinary file, so that writing
/// one would take the place of the other.
#[must_use]
pub fn is_same(a: &Path, b: &Path) -> bool {
    match (target::of(a), target::of(b)) {
        (Ok(Target::File(a)), Ok(Target::File(b))) => a == b || target::is_same_file(&a, &b),
        _ => false,
    }
}

/// A temporary file in the folder of `path`, which vanishes unless it is renamed.
fn temporary(path: &Path) -> io::Result<(NamedTempFile<File>, Unfinished)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // A temporary file is private by default; what it becomes should be as readable as any file.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o666);
    let mut unfinished = None;
    let file = tempfile::Builder::new().prefix(".four-levels-").suffix(".part").make_in(
        target::folder(path),
        |temporary| {
            let (file, guard) = Unfinished::create(temporary, || options.open(temporary))?;
            unfinished = Some(guard);
            Ok(file)
        },
    )?;
    Ok((file, unfinished.expect("a file was created")))
}

/// Gives the new file the permissions of the one that it will replace, and its owner, as far as
/// this user may.
fn keep_permissions(path: &Path, file: &File) -> io::Result<()> {
    let Ok(old) = fs::metadata(path) else { return Ok(()) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            // Only root may give a file away; a group that the user is in stays in any case.
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
