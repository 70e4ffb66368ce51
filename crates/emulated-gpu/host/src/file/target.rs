//! What a path that is to be written leads to.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Links that lead to links, at most; as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An ordinary file, or none yet, by a path that is no symbolic link.
    File(PathBuf),
    /// The standard output of this process, whatever that is.
    Output,
    /// Its standard error.
    Messages,
    /// A device, a pipe, or another open file of this process.
    Special(PathBuf),
}

/// Where a path leads, and whether it could be written.
///
/// # Errors
/// When it is a folder, a disk or a file that can't be written, when its links lead nowhere, when another
/// user has put a link or a pipe there for whoever writes, or what the operating system says.
pub(super) fn of(path: &Path) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Some(target) = open_file(&path) {
            return Ok(target);
        }
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return new_file(path);
            }
            Err(error) => return Err(error),
            Ok(found) if found.is_symlink() => {
                refuse_trap(&path, &found, "symbolic link")?;
                let link = fs::read_link(&path)?;
                path = folder(&path).join(link);
            }
            Ok(found) if found.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            Ok(found) if found.is_file() => {
                if found.permissions().readonly() {
                    let reason = "it is marked as read-only: name another file, or allow writing \
                                  to this one (chmod u+w)";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
                }
                // Renaming asks only for the folder; a user who may not write to the file may not
                // replace it either.
                OpenOptions::new().write(true).open(&path)?;
                return Ok(Target::File(path));
            }
            Ok(found) if is_disk(&found) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a disk"));
            }
            Ok(found) => {
                refuse_trap(&path, &found, "pipe or device")?;
                return Ok(Target::Special(path));
            }
        }
    }
    Err(io::Error::other("its symbolic links lead in a circle"))
}

/// Refuses what another user may have put into a folder like `/tmp`, so that somebody writes where that user
/// wants it, as Linux does where `fs.protected_symlinks` and `fs.protected_fifos` are set (proc(5)).
///
/// # Errors
/// `PermissionDenied`
#[cfg(unix)]
fn refuse_trap(path: &Path, found: &fs::Metadata, what: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let folder = fs::metadata(folder(path))?;
    if is_trap(found.uid(), (folder.mode(), folder.uid()), crate::user()) {
        let reason = format!(
            "it is a {what} of another user's, in a folder where everybody may write: name another file"
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_trap(_: &Path, _: &fs::Metadata, _: &str) -> io::Result<()> {
    Ok(())
}

/// Whether a user should not follow what this owner has put into a folder, by the folder's mode and owner: it
/// has the sticky bit, everybody may write there, and the owner is neither that user nor the folder's.
#[cfg(unix)]
pub(super) fn is_trap(owner: u32, (mode, folder): (u32, u32), user: u32) -> bool {
    /// `S_ISVTX | S_IWOTH`
    const STICKY_AND_OPEN: u32 = 0o1002;
    mode & STICKY_AND_OPEN == STICKY_AND_OPEN && owner != user && owner != folder
}

/// A file that isn't there yet, in a folder that is.
fn new_file(path: PathBuf) -> io::Result<Target> {
    let folder = folder(&path);
    match fs::metadata(folder) {
        Ok(found) if !found.is_dir() => {
            let reason = format!("{} is no folder", crate::shown(folder));
            Err(io::Error::new(io::ErrorKind::NotADirectory, reason))
        }
        Ok(_) if path.file_name().is_none() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "its name is empty"))
        }
        Ok(_) if ends_with_separator(&path) => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "it is the name of a folder"))
        }
        Ok(_) => Ok(Target::File(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = format!("the folder {} does not exist", crate::shown(folder));
            Err(io::Error::new(io::ErrorKind::NotFound, reason))
        }
        Err(error) => Err(error),
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| byte == b'/')
}

/// The folder that a path is in.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// An open file of this process, by one of the names that the system has for it: `/dev/stdout`,
/// `/dev/fd/1`, `/proc/self/fd/1`. A file that standard output was redirected to must not be
/// replaced: whoever redirected it holds the old one.
fn open_file(path: &Path) -> Option<Target> {
    let name = path.file_name()?.to_str()?;
    let folder = fs::canonicalize(folder(path)).ok()?;
    let number = match (folder.to_str()?, name) {
        ("/dev", "stdout") => 1,
        ("/dev", "stderr") => 2,
        (folder, name) => {
            let own = format!("/proc/{}/", std::process::id());
            let is_own = folder.starts_with(&own) && folder.ends_with("/fd");
            name.parse::<u32>().ok().filter(|_| folder == "/dev/fd" || is_own)?
        }
    };
    Some(match number {
        1 => Target::Output,
        2 => Target::Messages,
        _ => Target::Special(path.to_owned()),
    })
}

#[cfg(unix)]
fn is_disk(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type())
}

#[cfg(not(unix))]
fn is_disk(_found: &fs::Metadata) -> bool {
    false
}

/// Whether two paths, neither of them a symbolic link, are names of the same file, or would be.
pub(super) fn is_same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = fs::canonicalize(folder(path)).ok()?;
        Some(folder.join(path.file_name()?))
    };
    if place(a).is_some_and(|a| place(b) == Some(a)) {
        return true;
    }
    #[cfg(unix)]
    {
        // Two names of one file (hard links), or a file system that doesn't tell a from A.
        use std::os::unix::fs::MetadataExt;
        let identity = |path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        identity(a).is_some_and(|a| identity(b) == Some(a))
    }
    #[cfg(not(unix))]
    false
}
