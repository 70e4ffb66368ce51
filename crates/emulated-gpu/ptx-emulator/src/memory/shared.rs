//! Memory that lies at several addresses at once: pages of a file that is nowhere but in memory
//! (memfd_create(2)), and reserved addresses that they are shown at (mmap(2)).

#![allow(unsafe_code, reason = "asks the operating system for files of memory, and for addresses")]
#![cfg_attr(
    not(all(target_os = "linux", not(miri))),
    allow(dead_code, reason = "only Linux is asked; elsewhere there is none")
)]

use std::fs::File;

/// Addresses that are nobody else's.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) start: u64,
    pub(super) len: u64,
}

/// Which of a system's files a file is: two descriptors of the same one have the same.
pub(super) type Identity = (u64, u64);

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ffi::CStr;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::MetadataExt;

    use crate::memory::shared::{Addresses, File, Identity};

    const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

    /// A file of this many zeros, whose length nobody can change any longer, so that no page of it is
    /// ever missing. The system gives its pages when they are touched.
    pub(in crate::memory) fn create(name: &CStr, len: u64) -> Option<File> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is written to a place for one.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
        // A longer file would end the process (SIGXFSZ).
        if is_known && limit.rlim_cur != libc::RLIM_INFINITY && len > limit.rlim_cur {
            return None;
        }
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // Linux before 6.3 does not know the first; some systems want it.
        let file = [flags | libc::MFD_NOEXEC_SEAL, flags].into_iter().find_map(|flags| {
            // SAFETY: the name ends in NUL; what comes back is a new descriptor or an error.
            let descriptor = unsafe { libc::memfd_create(name.as_ptr(), flags) };
            // SAFETY: it is nobody else's.
            (descriptor >= 0).then(|| unsafe { File::from_raw_fd(descriptor) })
        })?;
        file.set_len(len).ok()?;
        // SAFETY: this asks something of an open file.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) };
        (sealed == 0).then_some(file)
    }

    /// Whether the system would promise this much memory.
    pub(in crate::memory) fn has_room(len: u64) -> bool {
        let Ok(size) = usize::try_from(len) else { return false };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new addresses are asked for, given back at once, and touched by nobody.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), size, rights, kind, -1, 0);
            start != libc::MAP_FAILED && libc::munmap(start, size) == 0
        }
    }

    /// Gives the pages of a part of a file back to the system: it is zero then.
    pub(in crate::memory) fn clear(file: &File, offset: u64, len: u64) -> bool {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (Ok(offset), Ok(len)) = (offset.try_into(), len.try_into()) else { return false };
        // SAFETY: this asks something of an open file.
        unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, len) == 0 }
    }

    /// Which file it is.
    pub(in crate::memory) fn identity(file: &File) -> Option<Identity> {
        file.metadata().ok().map(|data| (data.dev(), data.ino()))
    }

    /// Another descriptor of a file, and what this process knows it by in `/proc`.
    pub(in crate::memory) fn duplicate(descriptor: i32) -> Option<(File, String)> {
        // SAFETY: a number that is no open file is an error.
        let own = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return None;
        }
        let name = std::fs::read_link(format!("/proc/self/fd/{own}")).unwrap_or_default();
        // SAFETY: it was made just now, and is nobody else's.
        Some((unsafe { File::from_raw_fd(own) }, name.to_string_lossy().into_owned()))
    }

    /// The length of a file of memory that can be read, written, and neither shrunk nor sealed against
    /// writing.
    pub(in crate::memory) fn sealed_len(file: &File) -> Option<u64> {
        let read_only = libc::F_SEAL_WRITE | libc::F_SEAL_FUTURE_WRITE;
        // SAFETY: these ask for numbers, or are errors.
        let (seals, flags) = unsafe {
            let descriptor = file.as_raw_fd();
            (libc::fcntl(descriptor, libc::F_GET_SEALS), libc::fcntl(descriptor, libc::F_GETFL))
        };
        let is_whole = seals >= 0 && seals & SEALS == SEALS && seals & read_only == 0;
        let is_open = flags >= 0 && flags & libc::O_ACCMODE == libc::O_RDWR;
        (is_whole && is_open).then(|| file.metadata().ok().map(|data| data.len()))?
    }

    /// Whether a byte of a file was written, and not given back since.
    pub(in crate::memory) fn is_there(file: &File, offset: u64) -> bool {
        let Ok(offset) = offset.try_into() else { return false };
        // SAFETY: this asks something of an open file, whose position nobody uses.
        unsafe { libc::lseek(file.as_raw_fd(), offset, libc::SEEK_DATA) == offset }
    }

    /// Lays a part of a file where memory was: whether it is there.
    ///
    /// # Safety
    /// The memory is the caller's, and nobody needs what was in it.
    pub(in crate::memory) unsafe fn replace(at: u64, len: usize, file: &File, offset: u64) -> bool {
        let Ok(offset) = offset.try_into() else { return false };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the caller vouches for that.
        let start =
            unsafe { libc::mmap(at as *mut _, len, rights, kind, file.as_raw_fd(), offset) };
        start != libc::MAP_FAILED
    }

    const ANONYMOUS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

    impl Addresses {
        /// This many addresses, whole pages, at a multiple of `align` (a power of two): those at `hint`, if
        /// they are free and `hint` is such a multiple. Nothing is there.
        pub(in crate::memory) fn reserve(len: u64, align: u64, hint: u64) -> Option<Self> {
            let size = usize::try_from(len).ok().filter(|size| *size > 0)?;
            if hint != 0 && hint.is_multiple_of(align) {
                let kind = ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                // SAFETY: addresses that are free are asked for, and nothing that is there is changed.
                let start =
                    unsafe { libc::mmap(hint as *mut _, size, libc::PROT_NONE, kind, -1, 0) };
                if start != libc::MAP_FAILED {
                    let own = Self { start: start as u64, len };
                    // Linux before 4.17 takes the flag for nothing, and gives other addresses; they
                    // go back here.
                    if own.start == hint {
                        return Some(own);
                    }
                }
            }
            let whole = size.checked_add(usize::try_from(align).ok()?)?;
            // SAFETY: as above.
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
                    // SAFETY: a part of what was just given, which nobody knows of.
                    unsafe { libc::munmap(from as *mut _, (to - from) as usize) };
                }
            }
            Some(Self { start: own, len })
        }

        /// Whether these are some of the addresses. MAP_FIXED replaces what is at others.
        fn hold(&self, at: u64, len: u64) -> bool {
            at.checked_sub(self.start)
                .is_some_and(|offset| offset.checked_add(len).is_some_and(|end| end <= self.len))
        }

        /// Shows a part of a file at some of these addresses: whether it is there. False if they are not
        /// all of them.
        pub(in crate::memory) fn show(&self, at: u64, len: u64, file: &File, offset: u64) -> bool {
            // SAFETY: the addresses are this one's own, as has been checked, and whoever maps them has made
            // sure that nothing of theirs is there.
            self.hold(at, len) && unsafe { replace(at, len as usize, file, offset) }
        }

        /// Takes away what is shown at some of these addresses: whether it is gone. False if they are not
        /// all of them.
        pub(in crate::memory) fn hide(&self, at: u64, len: u64) -> bool {
            if !self.hold(at, len) {
                return false;
            }
            let kind = ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: the addresses are this one's own, as has been checked, and nobody has a pointer to them
            // any longer.
            let start =
                unsafe { libc::mmap(at as *mut _, len as usize, libc::PROT_NONE, kind, -1, 0) };
            start != libc::MAP_FAILED
        }
    }

    impl Drop for Addresses {
        fn drop(&mut self) {
            // SAFETY: they are this one's own, and nothing is shown there any longer.
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

    pub(in crate::memory) fn has_room(_: u64) -> bool {
        false
    }

    pub(in crate::memory) fn clear(_: &File, _: u64, _: u64) -> bool {
        false
    }

    pub(in crate::memory) fn identity(_: &File) -> Option<Identity> {
        None
    }

    pub(in crate::memory) fn is_there(_: &File, _: u64) -> bool {
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

        pub(in crate::memory) fn show(&self, _: u64, _: u64, _: &File, _: u64) -> bool {
            false
        }

        pub(in crate::memory) fn hide(&self, _: u64, _: u64) -> bool {
            false
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) use system::replace;
pub(super) use system::{clear, create, duplicate, has_room, identity, is_there, sealed_len};

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use crate::memory::shared::*;

    #[test]
    fn only_reserved_addresses_are_mapped() {
        const PAGE: u64 = 1 << 16;
        let file = create(c"test", 4 * PAGE).expect("a file in memory");
        // The part in the middle; what is around it belongs to another.
        let all = Addresses::reserve(4 * PAGE, PAGE, 0).expect("addresses");
        let start = all.start + PAGE;
        let own = std::mem::ManuallyDrop::new(Addresses { start, len: 2 * PAGE });
        for (at, len) in [
            (start - PAGE, PAGE),
            (start - PAGE, 2 * PAGE),
            (start + 2 * PAGE, PAGE),
            (start + PAGE, 2 * PAGE),
            (start, 3 * PAGE),
            (start + PAGE, u64::MAX - PAGE),
            (0, PAGE),
        ] {
            assert!(!own.show(at, len, &file, 0), "{:x} {len:x}", at - all.start.min(at));
            assert!(!own.hide(at, len), "{:x} {len:x}", at - all.start.min(at));
        }
        assert!(own.show(start, 2 * PAGE, &file, 0) && own.hide(start + PAGE, PAGE));
        assert!(own.hide(start, PAGE));
    }
}
