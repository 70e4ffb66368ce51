//! Files in memory that the ranks of a communicator share: how they are found, who holds them, and
//! how abandoned ones are removed.
//!
//! A live rank holds a lock on the byte of its number. The lock belongs to the process (`F_SETLK`):
//! the system releases it when the process ends, however it ends, and a child that was forked doesn't
//! inherit it, as it would inherit a lock of the open file (`F_OFD_SETLK`, `flock`). Closing any
//! descriptor of the file releases it as well, so a process opens each file once, for all its ranks.
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
use crate::region::MOST_RANKS;

/// What the name of every such file begins with.
pub(crate) const PREFIX: &str = "emulated-nccl-";
/// How long a process may take to set a file up before the others give up.
const SET_UP: Duration = Duration::from_secs(10);
/// How often a file is opened anew because its name was removed at that moment.
const MAX_TRIES: usize = 16;

/// A file that this process has open.
#[derive(Debug)]
pub(crate) struct SharedFile {
    name: String,
    path: PathBuf,
    file: File,
    map: MmapRaw,
    /// The ranks of this process, a bit each.
    local: AtomicU64,
}

type Open = HashMap<String, Arc<SharedFile>>;

/// Every file that this process has open. A file is opened and closed while this is locked.
fn open_files() -> MutexGuard<'static, Open> {
    static OPEN: LazyLock<Mutex<Open>> = LazyLock::new(Mutex::default);
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where files in memory are.
fn folder() -> PathBuf {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() }
}

/// The lock of `len` bytes from `start` on.
fn lock_of(start: usize, len: usize, kind: libc::c_int) -> libc::flock {
    // SAFETY: all zeros are a value of this plain structure.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start as libc::off_t;
    lock.l_len = len as libc::off_t;
    lock
}

/// Locks bytes of a file for this process, or unlocks them, without waiting: whether it could be done.
fn lock(file: &File, start: usize, len: usize, kind: libc::c_int) -> bool {
    let lock = lock_of(start, len, kind);
    // SAFETY: a call about a file that is open; the structure lives for it.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) == 0 }
}

/// Opens a file of this user's.
///
/// # Errors
/// What the system says; `PermissionDenied` if it is another user's, a link or no file.
fn open_own(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    // SAFETY: asks for a number.
    if !found.is_file() || found.uid() != unsafe { libc::geteuid() } {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(file)
}

/// Removes the files whose ranks have all ended before they had found each other. Holding every lock
/// of a file means that no process has it, and that none is setting it up.
fn remove_abandoned(folder: &Path, open: &Open) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        // Closing a file of this process would release its locks.
        if open.contains_key(name) {
            continue;
        }
        if let Ok(file) = open_own(&entry.path(), false)
            && lock(&file, 0, MOST_RANKS + 1, libc::F_WRLCK)
        {
            // Another process may have removed it first.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Opens a file and locks it for being set up; it has its name then.
fn open_for_set_up(path: &Path) -> io::Result<File> {
    let begun = Instant::now();
    for _ in 0..MAX_TRIES {
        let file = open_own(path, true)?;
        while !lock(&file, MOST_RANKS, 1, libc::F_WRLCK) {
            if begun.elapsed() > SET_UP {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process sets it up"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if file.metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "other processes remove it"))
}

fn reserve(file: &File, offset: usize, len: usize) -> io::Result<()> {
    // SAFETY: a call about a file that is open.
    match unsafe {
        libc::posix_fallocate(file.as_raw_fd(), offset as libc::off_t, len as libc::off_t)
    } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

impl SharedFile {
    /// The file of a name, for a rank. It begins as zeros, and is `len` bytes long, of which the first
    /// `reserved` have memory.
    ///
    /// # Errors
    /// `ncclSystemError` if the system has no memory for it, or the file is another user's;
    /// `ncclInvalidUsage` if another thread or process is that rank.
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
            Error::system(&format!("{}: {what}", path.display()), &error)
        };
        let file = open_for_set_up(&path).map_err(|error| failed("memory to share", error))?;
        let set_up = || {
            if file.metadata()?.len() < len as u64 {
                file.set_len(len as u64)?;
            }
            reserve(&file, 0, reserved)?;
            MmapRaw::map_raw(&file)
        };
        let map = set_up().map_err(|error| {
            // No rank could use what is left of it.
            let _ = std::fs::remove_file(&path);
            failed(&format!("{reserved} bytes (/dev/shm may be small in a container)"), error)
        })?;
        let local = AtomicU64::new(0);
        let file = Arc::new(Self { name: name.to_owned(), path, file, map, local });
        // Before another process may take the file for an abandoned one.
        file.claim(rank)?;
        lock(&file.file, MOST_RANKS, 1, libc::F_UNLCK);
        open.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    /// Gives one use of it back; the last one closes it.
    pub(crate) fn close(file: Arc<Self>) {
        let mut open = open_files();
        // One is the map's, one is this.
        if Arc::strong_count(&file) == 2 {
            open.remove(&file.name);
        }
        // Closed before another thread can open it anew: that thread's locks would be released.
        drop(file);
    }

    /// Takes its name away: the memory is there as long as a process has it.
    pub(crate) fn unlink(&self) {
        // Another rank may have done it.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Has the system give memory for these bytes now: later there would be a signal (SIGBUS) if it
    /// had none.
    ///
    /// # Errors
    /// `ncclSystemError` if it has none.
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> Result {
        reserve(&self.file, offset, len).map_err(|error| {
            let what = format!("{}: {len} bytes more", self.path.display());
            Error::system(&format!("{what} (/dev/shm may be small in a container)"), &error)
        })
    }

    /// The address of these bytes.
    ///
    /// # Panics
    /// If they aren't all inside.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> *mut u8 {
        let end = offset.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.map.len()), "{len} bytes at {offset}");
        // SAFETY: inside the map, as was checked.
        unsafe { self.map.as_mut_ptr().add(offset) }
    }

    /// Takes the lock of a rank for this process.
    ///
    /// # Errors
    /// `ncclInvalidUsage` if another thread or process has it.
    fn claim(&self, rank: usize) -> Result {
        let bit = 1 << rank;
        let is_free = self.local.fetch_or(bit, AcqRel) & bit == 0;
        if is_free && lock(&self.file, rank, 1, libc::F_WRLCK) {
            return Ok(());
        }
        if is_free {
            self.local.fetch_and(!bit, AcqRel);
        }
        Err(Error::usage(format!("two processes or threads say that they are rank {rank}")))
    }

    /// Whether a rank is a thread of this process.
    pub(crate) fn is_local(&self, rank: usize) -> bool {
        self.local.load(Acquire) & (1 << rank) != 0
    }

    /// Whether the process of a rank is alive.
    pub(crate) fn is_alive(&self, rank: usize) -> bool {
        let mut lock = lock_of(rank, 1, libc::F_WRLCK);
        // SAFETY: a call about a file that is open; the structure lives for it.
        let code = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
        // A process's own locks are not among those that are found.
        self.is_local(rank) || code != 0 || lock.l_type != libc::F_UNLCK as libc::c_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that no other test has, nor any id: removed by no other process, as its lock is held.
    fn name(of: &str) -> String {
        format!("{PREFIX}test-{}-{of}", std::process::id())
    }

    #[test]
    fn an_abandoned_file_is_removed_and_a_used_one_stays() {
        let (used, abandoned) = (name("used"), name("abandoned"));
        let file = SharedFile::open(&used, 8192, 4096, 3).unwrap();
        assert!(SharedFile::open(&used, 8192, 4096, 3).unwrap_err().why.contains("rank 3"));
        // As a killed process leaves it.
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
    fn memory_is_taken_when_it_is_reserved() {
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
    fn bytes_outside_are_refused() {
        let file = SharedFile::open(&name("bounds"), 4096, 4096, 0).unwrap();
        file.unlink();
        let _ = file.bytes(4092, 8);
    }
}
