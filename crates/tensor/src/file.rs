//! Files that are either written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes a file under a temporary name beside `path` and renames it when all of it is on the
/// disk, so that a full disk, an error or Ctrl-C never leaves half a file, and never harms the
/// one that was there. What is no ordinary file, such as `/dev/stdout` or a pipe, is written
/// directly.
///
/// # Errors
/// Whatever `write` returns, or what the operating system says of creating, writing or renaming.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    if is_special(path) {
        let mut writer = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
        write(&mut writer)?;
        return Ok(writer.flush()?);
    }
    let mut writer = BufWriter::new(temporary(path)?);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Says whether [`write_atomically`] could write there, so that a program that computes for long
/// finds out before it begins. Leaves nothing behind.
///
/// # Errors
/// What the operating system says.
pub fn check_writable(path: &Path) -> io::Result<()> {
    if is_special(path) { Ok(()) } else { temporary(path).map(drop) }
}

/// Whether the path is a device or a pipe.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// A temporary file in the folder of `path`, which vanishes unless it is renamed.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".four-levels-").suffix(".part");
    // A temporary file is private by default; what it becomes should be as readable as any file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write_atomically::<io::Error>(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write_atomically::<io::Error>(&path, |w| {
            w.write_all(b"half of the new")?;
            Err(io::Error::other("disk full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn whether_a_file_can_be_written_is_known_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        check_writable(&folder.path().join("new.json")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = check_writable(&folder.path().join("absent").join("new.json")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically::<io::Error>(folder.path(), |w| w.write_all(b"x"));
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
