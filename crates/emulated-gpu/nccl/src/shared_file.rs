//! The files in shared memory that connect the ranks of a communicator: opening, locking, and
//! removing abandoned files.
//!
//! A live rank has locked the byte whose offset is the rank's number. The lock belongs to the
//! process (`F_SETLK`): the system releases it when the process ends for any reason, and a forked
//! child doesn't inherit it, unlike a lock of the open file (`F_OFD_SETLK`, `flock`). Closing any
//! descriptor of the file also releases it, so a process opens each file once, for all its ranks.
//!
//! Only processes of the same user take part: the file's mode is 0600, and a file that belongs to
//! another user is refused.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use memmap2::MmapRaw;

use crate::ffi::{Error, Result};
use crate::region::MAX_RANKS;

/// The prefix of the name of every such file.
pub(crate) const PREFIX: &str = "emulated-nccl-";
/// The time that a process has to set up a file before the others give up.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of attempts to open a file that another process removes at the same moment.
const MAX_TRIES: usize = 16;

/// A file that this process has open.
#[derive(Debug)]
pub(crate) struct SharedFile {
    name: String,
    path: PathBuf,
    file: File,
    map: MmapRaw,
    /// The ranks of this process, as a bit mask.
    local: AtomicU64,
}

type OpenFiles = HashMap<String, Arc<SharedFile>>;

/// All files that this process has open. A file is only opened or closed while this is locked.
fn open_files() -> MutexGuard<'static, OpenFiles> {
    static OPEN: LazyLock<Mutex<OpenFiles>> = LazyLock::new(Mutex::default);
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder for files in memory.
fn folder() -> PathBuf {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() }
}

/// The `fcntl` structure for a lock on `len` bytes from `start`.
fn byte_range_lock(start: usize, len: usize, kind: libc::c_int) -> libc::flock {
    // SAFETY: all zeros are a value of this plain structure.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start as libc::off_t;
    lock.l_len = len as libc::off_t;
    lock
}

/// Locks or unlocks bytes of a file for this process, without waiting; returns whether it
/// succeeded.
fn lock(file: &File, start: usize, len: usize, kind: libc::c_int) -> bool {
    let lock = byte_range_lock(start, len, kind);
    // SAFETY: the file is open, and the structure is valid during the call.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) == 0 }
}

/// Opens a file of the current user.
///
/// # Errors
/// An error of the system; `PermissionDenied` if it is a link, belongs to another user, or is not a
/// regular file.
fn open_own_file(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    // SAFETY: the call only returns a number.
    if !metadata.is_file() || metadata.uid() != unsafe { libc::geteuid() } {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(file)
}

/// Removes files whose ranks all ended before they had found each other. If a file can be locked
/// completely, no process uses it or is setting it up.
fn remove_abandoned(folder: &Path, open: &OpenFiles) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        // Opening and closing a file that this process already uses would release its locks.
        if open.contains_key(name) {
            continue;
        }
        if let Ok(file) = open_own_file(&entry.path(), false)
            && lock(&file, 0, MAX_RANKS + 1, libc::F_WRLCK)
        {
            // Errors are ignored, because another process may have removed the file first.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Opens a file and locks it for set-up. The returned file still has its name.
fn open_for_set_up(path: &Path) -> io::Result<File> {
    let begun = Instant::now();
    for _ in 0..MAX_TRIES {
        let file = open_own_file(path, true)?;
        while !lock(&file, MAX_RANKS, 1, libc::F_WRLCK) {
            if begun.elapsed() > SET_UP_TIMEOUT {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process has not finished setting it up",
                ));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if file.metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "other processes keep removing it"))
}

fn reserve(file: &File, offset: usize, len: usize) -> io::Result<()> {
    // SAFETY: the file is open.
    match unsafe {
        libc::posix_fallocate(file.as_raw_fd(), offset as libc::off_t, len as libc::off_t)
    } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

impl SharedFile {
    /// Opens the file with this name for a rank. A new file is `len` bytes of zeros, of which the
    /// first `reserved` are allocated.
    ///
    /// # Errors
    /// `ncclSystemError` if the system is out of memory or the file belongs to another user;
    /// `ncclInvalidUsage` if another thread or process has the same rank.
    pub(crate) fn open(name: &str, len: usize, reserved: usize, rank: usize) -> Result<Arc<Self>> {
        let mut open = open_files();
        if let Some(file) = open.get(name) {
            file.claim(rank)?;
            return Ok(Arc::clone(file));
        }
        let folder = folder();
        remove_abandoned(&folder, &open);
        let path = folder.join(name);
        let failed = |what: &str, error: io::Error| {
            Error::system_error(&format!("{}: {what}", path.display()), &error)
        };
        let file =
            open_for_set_up(&path).map_err(|error| failed("opening shared memory", error))?;
        let set_up = || {
            if file.metadata()?.len() < len as u64 {
                file.set_len(len as u64)?;
            }
            reserve(&file, 0, reserved)?;
            MmapRaw::map_raw(&file)
        };
        let map = set_up().map_err(|error| {
            // Removes the incomplete file, which no rank could use.
            let _ = std::fs::remove_file(&path);
            failed(
                &format!("allocating {reserved} bytes (/dev/shm may be small in a container)"),
                error,
            )
        })?;
        let local = AtomicU64::new(0);
        let file = Arc::new(Self { name: name.to_owned(), path, file, map, local });
        // Claim the rank before another process can mistake the file for an abandoned one.
        file.claim(rank)?;
        lock(&file.file, MAX_RANKS, 1, libc::F_UNLCK);
        open.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    /// Releases one use of the file; the last one closes it.
    pub(crate) fn close(file: Arc<Self>) {
        let mut open = open_files();
        // The last two references are the one in the map and `file`.
        if Arc::strong_count(&file) == 2 {
            open.remove(&file.name);
        }
        // The file is closed while `open` is locked. Otherwise another thread could reopen it
        // first, and closing would release that thread's locks.
        drop(file);
    }

    /// Removes the file's name; the memory remains until no process uses it.
    pub(crate) fn unlink(&self) {
        // Errors are ignored, because another rank may have removed the name.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Allocates memory for these bytes now. Otherwise, writing to them when the system is out of
    /// memory would raise a signal (SIGBUS).
    ///
    /// # Errors
    /// `ncclSystemError` if the system is out of memory.
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> Result {
        reserve(&self.file, offset, len).map_err(|error| {
            let what = format!("{}: allocating {len} more bytes", self.path.display());
            Error::system_error(&format!("{what} (/dev/shm may be small in a container)"), &error)
        })
    }

    /// The address of these bytes.
    ///
    /// # Panics
    /// If they are not entirely inside the file.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> *mut u8 {
        let end = offset.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.map.len()), "{len} bytes at {offset}");
        // SAFETY: the range is inside the mapping, as checked above.
        unsafe { self.map.as_mut_ptr().add(offset) }
    }

    /// Locks the byte of a rank for this process.
    ///
    /// # Errors
    /// `ncclInvalidUsage` if another thread or process has the rank.
    fn claim(&self, rank: usize) -> Result {
        let bit = 1 << rank;
        let is_free = self.local.fetch_or(bit, AcqRel) & bit == 0;
        if is_free && lock(&self.file, rank, 1, libc::F_WRLCK) {
            return Ok(());
        }
        if is_free {
            self.local.fetch_and(!bit, AcqRel);
        }
        Err(Error::invalid_usage(format!("two processes or threads use rank {rank}")))
    }

    /// Whether a rank is a thread of this process.
    pub(crate) fn is_local(&self, rank: usize) -> bool {
        self.local.load(Acquire) & (1 << rank) != 0
    }

    /// Whether the process of a rank is alive.
    pub(crate) fn is_alive(&self, rank: usize) -> bool {
        let mut lock = byte_range_lock(rank, 1, libc::F_WRLCK);
        // SAFETY: the file is open, and the structure is valid during the call.
        let code = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
        // `F_GETLK` doesn't report a process's own locks.
        self.is_local(rank) || code != 0 || lock.l_type != libc::F_UNLCK as libc::c_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file name that no other test or id uses. Other processes don't remove the file, because it
    /// is locked.
    fn name(id: &str) -> String {
        format!("{PREFIX}test-{}-{id}", std::process::id())
    }

    #[test]
    fn abandoned_files_are_removed_and_used_ones_kept() {
        let (used, abandoned) = (name("used"), name("abandoned"));
        let file = SharedFile::open(&used, 8192, 4096, 3).unwrap();
        assert!(SharedFile::open(&used, 8192, 4096, 3).unwrap_err().why.contains("rank 3"));
        // Imitates the file of a process that was killed.
        std::fs::write(folder().join(&abandoned), [1; 100]).unwrap();
        let other = SharedFile::open(&name("other"), 4096, 4096, 0).unwrap();
        assert!(!folder().join(&abandoned).exists());
        assert!(folder().join(&used).exists());
        other.unlink();
        SharedFile::close(other);
        file.unlink();
        assert!(!folder().join(&used).exists());
        SharedFile::close(file);
        assert!(open_files().keys().all(|open| *open != used));
    }

    #[test]
    fn memory_is_allocated_when_it_is_reserved() {
        let file = SharedFile::open(&name("lazy"), 1 << 20, 4096, 0).unwrap();
        file.unlink();
        let bytes = || file.file.metadata().unwrap().blocks() * 512;
        let before = bytes();
        assert!(before < 1 << 17, "{before} bytes of a mebibyte");
        file.reserve(4096, 1 << 18).unwrap();
        assert!(bytes() >= before + (1 << 18));
        SharedFile::close(file);
    }

    #[test]
    #[should_panic(expected = "8 bytes at 4092")]
    fn bytes_outside_the_file_panic() {
        let file = SharedFile::open(&name("bounds"), 4096, 4096, 0).unwrap();
        file.unlink();
        let _ = file.bytes(4092, 8);
    }
}
