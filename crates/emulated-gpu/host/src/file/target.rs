//! Destination of a write: follows links and checks permissions.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The maximum number of links to follow; Linux has the same limit.
const MAX_LINKS: usize = 40;

/// The kind of file that a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A regular file, or a new one; the path is not a symbolic link.
    File(PathBuf),
    /// The standard output of this process, whatever it is connected to.
    Output,
    /// The standard error of this process.
    Messages,
    /// A device, a pipe, or another open file of this process.
    Special(PathBuf),
}

/// Follows a path and checks whether it is writable.
///
/// # Errors
/// If it is a folder, a disk, or a file without write permission; if its links lead to a missing folder or in a
/// circle; if another user has planted a link or a pipe there; and errors of the operating system.
pub(super) fn resolve(path: &Path) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Some(target) = find_open_file(&path) {
            return Ok(target);
        }
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return new_file(path);
            }
            Err(error) => return Err(error),
            Ok(found) if found.is_symlink() => {
                reject_untrusted(&path, &found, "symbolic link")?;
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
                // Opens the file to check that it is writable: replacing it by a rename would only need write
                // permission for the folder.
                OpenOptions::new().write(true).open(&path)?;
                return Ok(Target::File(path));
            }
            Ok(found) if is_disk(&found) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a disk"));
            }
            Ok(found) => {
                reject_untrusted(&path, &found, "pipe or device")?;
                return Ok(Target::Special(path));
            }
        }
    }
    Err(io::Error::other("its symbolic links form a circle"))
}

/// Rejects a link or pipe that another user may have planted in a folder like `/tmp` to redirect a write. Linux does
/// the same if `fs.protected_symlinks` and `fs.protected_fifos` are set (proc(5)).
///
/// # Errors
/// `PermissionDenied` for such a link or pipe.
#[cfg(unix)]
fn reject_untrusted(path: &Path, found: &fs::Metadata, what: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let folder = fs::metadata(folder(path))?;
    if is_untrusted(found.uid(), (folder.mode(), folder.uid()), crate::user()) {
        let reason =
            format!("it is another user's {what} in a world-writable folder: choose another file");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

#[cfg(not(unix))]
fn reject_untrusted(_: &Path, _: &fs::Metadata, _: &str) -> io::Result<()> {
    Ok(())
}

/// Whether a user should not follow what `owner` has put into a folder with this mode and owner: the folder has the
/// sticky bit and is world-writable, and the owner is neither the user nor the folder's owner.
#[cfg(unix)]
pub(super) fn is_untrusted(owner: u32, (mode, folder): (u32, u32), user: u32) -> bool {
    /// `S_ISVTX | S_IWOTH`
    const STICKY_AND_OPEN: u32 = 0o1002;
    mode & STICKY_AND_OPEN == STICKY_AND_OPEN && owner != user && owner != folder
}

/// A new file, whose folder must exist.
fn new_file(path: PathBuf) -> io::Result<Target> {
    let folder = folder(&path);
    match fs::metadata(folder) {
        Ok(found) if !found.is_dir() => {
            let reason = format!("{} is not a folder", crate::shown(folder));
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

/// The folder that contains a path.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Finds an open file of this process by one of its system names: `/dev/stdout`, `/dev/fd/1`, `/proc/self/fd/1`. A file
/// that standard output is redirected to must not be replaced, because the shell has the old one open.
fn find_open_file(path: &Path) -> Option<Target> {
    let name = path.file_name()?.to_str()?;
    let folder = fs::canonicalize(folder(path)).ok()?;
    let number = match (folder.to_str()?, name) {
        ("/dev", "stdout") => 1,
        ("/dev", "stderr") => 2,
        (folder, name) => {
            let own_folder = format!("/proc/{}/", std::process::id());
            let is_own = folder.starts_with(&own_folder) && folder.ends_with("/fd");
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

/// Whether two paths, neither of which is a symbolic link, name the same file, existing or new.
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
        // Equal device and inode numbers also detect hard links, and names on a case-insensitive file system.
        use std::os::unix::fs::MetadataExt;
        let identity = |path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        identity(a).is_some_and(|a| identity(b) == Some(a))
    }
    #[cfg(not(unix))]
    false
}
