//! In-memory files (memfd_create(2)) and reserved addresses at which they can be mapped (mmap(2)),
//! for memory that has several addresses at once.

#![allow(unsafe_code, reason = "system calls for in-memory files and addresses")]
#![cfg_attr(
    not(all(target_os = "linux", not(miri))),
    allow(dead_code, reason = "only supported on Linux")
)]

use std::fs::File;

/// A reserved address range.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) start: u64,
    pub(super) len: u64,
}

/// A file's identity (device and inode): the same for two descriptors of the same file.
pub(super) type Identity = (u64, u64);

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ffi::CStr;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::MetadataExt;

    use crate::memory::shared::{Addresses, File, Identity};

    const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

    /// Creates a zeroed file with a fixed (sealed) length, so that no page of it can disappear. The
    /// system allocates its pages when they are touched.
    pub(in crate::memory) fn create(name: &CStr, len: u64) -> Option<File> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid destination.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
        // A longer file would end the process (SIGXFSZ).
        if is_known && limit.rlim_cur != libc::RLIM_INFINITY && len > limit.rlim_cur {
            return None;
        }
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // Linux before 6.3 doesn't know the first flag; some systems require it.
        let file = [flags | libc::MFD_NOEXEC_SEAL, flags].into_iter().find_map(|flags| {
            // SAFETY: the name ends in NUL; the result is a new descriptor or an error.
            let descriptor = unsafe { libc::memfd_create(name.as_ptr(), flags) };
            // SAFETY: no other object owns the descriptor.
            (descriptor >= 0).then(|| unsafe { File::from_raw_fd(descriptor) })
        })?;
        file.set_len(len).ok()?;
        // SAFETY: `fcntl` on an open file.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) };
        (sealed == 0).then_some(file)
    }

    /// Whether the system would currently grant `len` bytes of memory.
    pub(in crate::memory) fn has_memory(len: u64) -> bool {
        let Ok(size) = usize::try_from(len) else { return false };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: this maps new addresses and unmaps them again; nothing accesses them.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), size, rights, kind, -1, 0);
            start != libc::MAP_FAILED && libc::munmap(start, size) == 0
        }
    }

    /// Zeroes a part of a file by returning its pages to the system.
    pub(in crate::memory) fn clear(file: &File, offset: u64, len: u64) -> bool {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (Ok(offset), Ok(len)) = (offset.try_into(), len.try_into()) else { return false };
        // SAFETY: `fallocate` on an open file.
        unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, len) == 0 }
    }

    /// The identity of a file.
    pub(in crate::memory) fn identity(file: &File) -> Option<Identity> {
        file.metadata().ok().map(|data| (data.dev(), data.ino()))
    }

    /// Duplicates a file descriptor. Also returns the file's name in `/proc`.
    pub(in crate::memory) fn duplicate(descriptor: i32) -> Option<(File, String)> {
        // SAFETY: `fcntl` fails if the number is not an open descriptor.
        let own = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return None;
        }
        let name = std::fs::read_link(format!("/proc/self/fd/{own}")).unwrap_or_default();
        // SAFETY: the descriptor is new and has no other owner.
        Some((unsafe { File::from_raw_fd(own) }, name.to_string_lossy().into_owned()))
    }

    /// The length of an in-memory file that can be read and written, and is sealed against changes
    /// of its length but not against writing. `None` for any other file.
    pub(in crate::memory) fn sealed_len(file: &File) -> Option<u64> {
        let read_only = libc::F_SEAL_WRITE | libc::F_SEAL_FUTURE_WRITE;
        // SAFETY: both calls return numbers or fail.
        let (seals, flags) = unsafe {
            let descriptor = file.as_raw_fd();
            (libc::fcntl(descriptor, libc::F_GET_SEALS), libc::fcntl(descriptor, libc::F_GETFL))
        };
        let is_whole = seals >= 0 && seals & SEALS == SEALS && seals & read_only == 0;
        let is_open = flags >= 0 && flags & libc::O_ACCMODE == libc::O_RDWR;
        (is_whole && is_open).then(|| file.metadata().ok().map(|data| data.len()))?
    }

    /// Whether a byte of a file has been written, and not cleared since.
    pub(in crate::memory) fn is_written(file: &File, offset: u64) -> bool {
        let Ok(offset) = offset.try_into() else { return false };
        // SAFETY: `lseek` on an open file; nothing depends on its position.
        unsafe { libc::lseek(file.as_raw_fd(), offset, libc::SEEK_DATA) == offset }
    }

    /// Maps a part of a file over existing memory. Returns whether it succeeded.
    ///
    /// # Safety
    /// The memory belongs to the caller, and its content is no longer needed.
    pub(in crate::memory) unsafe fn replace(at: u64, len: usize, file: &File, offset: u64) -> bool {
        let Ok(offset) = offset.try_into() else { return false };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: as the caller promises.
        let start =
            unsafe { libc::mmap(at as *mut _, len, rights, kind, file.as_raw_fd(), offset) };
        start != libc::MAP_FAILED
    }

    const ANONYMOUS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

    impl Addresses {
        /// Reserves `len` bytes of addresses (whole pages) at a multiple of `align` (a power of
        /// two); at `hint` if that is free and aligned. Nothing is mapped there.
        pub(in crate::memory) fn reserve(len: u64, align: u64, hint: u64) -> Option<Self> {
            let size = usize::try_from(len).ok().filter(|size| *size > 0)?;
            if hint != 0 && hint.is_multiple_of(align) {
                let kind = ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                // SAFETY: MAP_FIXED_NOREPLACE only maps free addresses.
                let start =
                    unsafe { libc::mmap(hint as *mut _, size, libc::PROT_NONE, kind, -1, 0) };
                if start != libc::MAP_FAILED {
                    let own = Self { start: start as u64, len };
                    // Linux before 4.17 ignores the flag and may return other addresses. Dropping
                    // `own` releases them.
                    if own.start == hint {
                        return Some(own);
                    }
                }
            }
            let whole = size.checked_add(usize::try_from(align).ok()?)?;
            // SAFETY: this maps new addresses and changes no existing mapping.
            let start = unsafe {
                libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, ANONYMOUS, -1, 0)
            };
            if start == libc::MAP_FAILED {
                return None;
            }
            let first = start as u64;
            let own = first.next_multiple_of(align);
            let (end, last) = (own + len, first + whole as u64);
            for (from, to) in [(first, own), (end, last)] {
                if to > from {
                    // SAFETY: the range is a part of the new mapping, into which no pointers exist
                    // yet.
                    unsafe { libc::munmap(from as *mut _, (to - from) as usize) };
                }
            }
            Some(Self { start: own, len })
        }

        /// Whether a range is inside these addresses. MAP_FIXED would replace mappings outside of
        /// them.
        fn contains(&self, at: u64, len: u64) -> bool {
            at.checked_sub(self.start)
                .is_some_and(|offset| offset.checked_add(len).is_some_and(|end| end <= self.len))
        }

        /// Maps a part of a file at some of these addresses. Returns false if that fails or the
        /// range is not inside them.
        pub(in crate::memory) fn map_file(
            &self,
            at: u64,
            len: u64,
            file: &File,
            offset: u64,
        ) -> bool {
            // SAFETY: the range is inside these addresses, as has been checked, and the caller has
            // made sure that it is unused.
            self.contains(at, len) && unsafe { replace(at, len as usize, file, offset) }
        }

        /// Unmaps whatever is mapped at some of these addresses. Returns false if that fails or the
        /// range is not inside them.
        pub(in crate::memory) fn unmap_file(&self, at: u64, len: u64) -> bool {
            if !self.contains(at, len) {
                return false;
            }
            let kind = ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: the range is inside these addresses, as has been checked, and no pointers
            // into it remain.
            let start =
                unsafe { libc::mmap(at as *mut _, len as usize, libc::PROT_NONE, kind, -1, 0) };
            start != libc::MAP_FAILED
        }
    }

    impl Drop for Addresses {
        fn drop(&mut self) {
            // SAFETY: the addresses belong to this object, and nothing is mapped there any longer.
            unsafe { libc::munmap(self.start as *mut _, self.len as usize) };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    use std::ffi::CStr;

    use crate::memory::shared::{Addresses, File, Identity};

    pub(in crate::memory) fn create(_: &CStr, _: u64) -> Option<File> {
        None
    }

    pub(in crate::memory) fn has_memory(_: u64) -> bool {
        false
    }

    pub(in crate::memory) fn clear(_: &File, _: u64, _: u64) -> bool {
        false
    }

    pub(in crate::memory) fn identity(_: &File) -> Option<Identity> {
        None
    }

    pub(in crate::memory) fn is_written(_: &File, _: u64) -> bool {
        false
    }

    pub(in crate::memory) fn duplicate(_: i32) -> Option<(File, String)> {
        None
    }

    pub(in crate::memory) fn sealed_len(_: &File) -> Option<u64> {
        None
    }

    impl Addresses {
        pub(in crate::memory) fn reserve(_: u64, _: u64, _: u64) -> Option<Self> {
            None
        }

        pub(in crate::memory) fn map_file(&self, _: u64, _: u64, _: &File, _: u64) -> bool {
            false
        }

        pub(in crate::memory) fn unmap_file(&self, _: u64, _: u64) -> bool {
            false
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) use system::replace;
pub(super) use system::{clear, create, duplicate, has_memory, identity, is_written, sealed_len};

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use crate::memory::shared::*;

    #[test]
    fn only_reserved_addresses_are_mapped() {
        const PAGE_BYTES: u64 = 1 << 16;
        let file = create(c"test", 4 * PAGE_BYTES).expect("a file in memory");
        // Only the middle part; the addresses around it belong to another reservation.
        let all = Addresses::reserve(4 * PAGE_BYTES, PAGE_BYTES, 0).expect("addresses");
        let start = all.start + PAGE_BYTES;
        let own = std::mem::ManuallyDrop::new(Addresses { start, len: 2 * PAGE_BYTES });
        for (at, len) in [
            (start - PAGE_BYTES, PAGE_BYTES),
            (start - PAGE_BYTES, 2 * PAGE_BYTES),
            (start + 2 * PAGE_BYTES, PAGE_BYTES),
            (start + PAGE_BYTES, 2 * PAGE_BYTES),
            (start, 3 * PAGE_BYTES),
            (start + PAGE_BYTES, u64::MAX - PAGE_BYTES),
            (0, PAGE_BYTES),
        ] {
            assert!(!own.map_file(at, len, &file, 0), "{:x} {len:x}", at - all.start.min(at));
            assert!(!own.unmap_file(at, len), "{:x} {len:x}", at - all.start.min(at));
        }
        assert!(
            own.map_file(start, 2 * PAGE_BYTES, &file, 0)
                && own.unmap_file(start + PAGE_BYTES, PAGE_BYTES)
        );
        assert!(own.unmap_file(start, PAGE_BYTES));
    }
}
