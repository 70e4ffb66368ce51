//! Reserved pages of addresses that become memory on demand (mmap(2), mprotect(2)). Pages can be
//! moved to an in-memory file, so that other processes can map them (memfd_create(2)).

#![allow(unsafe_code, reason = "system calls that map pages")]
#![cfg_attr(
    not(all(target_os = "linux", not(miri))),
    allow(dead_code, reason = "only used on Linux; other systems reserve no addresses")
)]

use std::fs::File;

use super::ranges::Ranges;
#[cfg(all(target_os = "linux", not(miri)))]
use super::shared;

/// The smallest page size of Linux on the supported processors, in bytes. Pinned and managed memory
/// starts at a multiple of it.
pub(super) const PAGE_BYTES: u64 = 4096;

/// A reserved address range; its beginning is backed by memory.
#[derive(Debug)]
pub(super) struct Pages {
    start: u64,
    len: u64,
    /// The end of the part that is backed by memory.
    end: u64,
    /// The page size in bytes.
    page: u64,
    /// The file with the pages that other processes can map, created with the first such page. Byte
    /// 0 corresponds to the first address.
    file: Option<File>,
    /// The pages that belong to the file.
    shared: Ranges,
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Pages {
    /// Reserves `len` bytes of addresses without memory. Returns `None` if that is impossible. Also
    /// returns `None` if the process has a limit on its address space (`ulimit -v`), because the
    /// reservation would use up that limit.
    pub(super) fn reserve(len: u64) -> Option<Self> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid destination.
        let is_limited = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } != 0
            || limit.rlim_cur != libc::RLIM_INFINITY;
        // SAFETY: `sysconf` only returns a number.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        if is_limited || !page.is_power_of_two() {
            return None;
        }
        let len = len.next_multiple_of(page);
        let (size, kind) = (usize::try_from(len).ok()?, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: this maps new addresses and changes no existing mapping.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, kind, -1, 0) };
        (start != libc::MAP_FAILED).then(|| {
            let start = start as u64;
            Self { start, len, end: start, page, file: None, shared: Ranges::default() }
        })
    }

    /// Backs everything below `end` with memory, in steps. Returns false if the system is out of
    /// memory.
    pub(super) fn grow(&mut self, end: u64) -> bool {
        /// The bytes that are mapped at once.
        const STEP: u64 = 1 << 20;
        if end <= self.end {
            return true;
        }
        let most = self.start + self.len;
        for step in [STEP, self.page] {
            let to = end.next_multiple_of(step).min(most);
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the range belongs to this object, and is unused.
            let code =
                unsafe { libc::mprotect(self.end as *mut _, (to - self.end) as usize, rights) };
            if code == 0 {
                self.end = to;
                return true;
            }
        }
        false
    }

    /// Returns the memory from `start` on to the system if it is large enough. Returns whether it
    /// did.
    pub(super) fn shrink(&mut self, start: u64) -> bool {
        /// The bytes that are kept, because they are likely to be needed again soon.
        const KEPT_BYTES: u64 = 16 << 20;
        let start = start.next_multiple_of(self.page);
        if self.end.saturating_sub(start) < KEPT_BYTES {
            return false;
        }
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let len = (self.end - start) as usize;
        // SAFETY: the range belongs to this object, and nothing points into it.
        let mapped = unsafe { libc::mmap(start as *mut _, len, libc::PROT_NONE, kind, -1, 0) };
        let is_given = mapped != libc::MAP_FAILED;
        if is_given {
            self.forget(start, self.end);
            self.end = start;
        }
        is_given
    }

    /// Zeroes a range that is backed by memory. In long ranges this drops the pages. Whole pages
    /// are no longer shared with other processes afterwards.
    pub(super) fn clear(&mut self, address: u64, len: u64) {
        let end = address + len;
        let (first, last) = (address.next_multiple_of(self.page), end / self.page * self.page);
        let pages = last.saturating_sub(first);
        let is_own = pages == 0 || self.unshare(first, last);
        let is_taken = is_own
            && pages >= 16 * self.page
            // SAFETY: the range belongs to this object, and nothing points into it.
            && unsafe { libc::madvise(first as *mut _, pages as usize, libc::MADV_DONTNEED) } == 0;
        let (front, back) = if is_taken { (first, last) } else { (end, end) };
        for (from, to) in [(address, front), (back, end)] {
            // SAFETY: as above; it is backed by memory.
            unsafe { std::ptr::write_bytes(from as *mut u8, 0, (to - from) as usize) };
        }
    }

    /// Moves all pages in a range, with their content, to the in-memory file, so that other
    /// processes can map them, and returns the file. The range must be backed by memory. Returns
    /// `None` if the file can't be created or there is not enough memory.
    ///
    /// No thread may write to these pages meanwhile.
    pub(super) fn share(&mut self, start: u64, end: u64) -> Option<&File> {
        /// The bytes that are copied at once, and so exist twice for a moment.
        const STEP: usize = 16 << 20;
        let (first, last) = (start / self.page * self.page, end.next_multiple_of(self.page));
        if self.file.is_none() {
            self.file = Some(shared::create(c"emulated-gpu memory of allocations", self.len)?);
        }
        let file = self.file.as_ref()?;
        for (from, to) in self.shared.outside(first, last) {
            for from in (from..to).step_by(STEP) {
                let to = to.min(from + STEP as u64);
                let (offset, len) = (from - self.start, (to - from) as usize);
                // SAFETY: the range belongs to this object and is backed by memory that no thread
                // writes to.
                let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, len) };
                std::os::unix::fs::FileExt::write_all_at(file, bytes, offset).ok()?;
                // SAFETY: the new mapping has the same content.
                if !unsafe { shared::replace(from, len, file, offset) } {
                    shared::clear(file, offset, len as u64);
                    return None;
                }
                self.shared.add(from, to);
            }
        }
        Some(file)
    }

    /// The file, if all pages of a range belong to it.
    pub(super) fn shared(&self, start: u64, end: u64) -> Option<&File> {
        let (first, last) = (start / self.page * self.page, end.next_multiple_of(self.page));
        self.file.as_ref().filter(|_| self.shared.outside(first, last).is_empty())
    }

    /// Replaces shared pages in a range by private, zeroed ones. Returns whether all pages are now
    /// private.
    fn unshare(&mut self, first: u64, last: u64) -> bool {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let mut is_own = true;
        for (from, to) in self.shared.inside(first, last) {
            let len = (to - from) as usize;
            // SAFETY: the range belongs to this object, and nothing points into it.
            let mapped = unsafe { libc::mmap(from as *mut _, len, rights, kind, -1, 0) };
            if mapped == libc::MAP_FAILED {
                is_own = false;
            } else {
                self.forget(from, to);
            }
        }
        is_own
    }

    /// Returns file pages that are no longer mapped here to the system.
    fn forget(&mut self, start: u64, end: u64) {
        for (from, to) in self.shared.inside(start, end) {
            if let Some(file) = &self.file {
                shared::clear(file, from - self.start, to - from);
            }
        }
        self.shared.remove(start, end);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Pages {
    pub(super) fn reserve(_: u64) -> Option<Self> {
        None
    }

    pub(super) fn grow(&mut self, _: u64) -> bool {
        false
    }

    pub(super) fn shrink(&mut self, _: u64) -> bool {
        false
    }

    pub(super) fn clear(&mut self, _: u64, _: u64) {}

    pub(super) fn share(&mut self, _: u64, _: u64) -> Option<&File> {
        None
    }

    pub(super) fn shared(&self, _: u64, _: u64) -> Option<&File> {
        None
    }
}

impl Pages {
    /// The start and length of the reserved range.
    pub(super) fn range(&self) -> (u64, u64) {
        (self.start, self.len)
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range belongs to this object, and every user of a part keeps it alive.
        unsafe { libc::munmap(self.start as *mut _, self.len as usize) };
    }
}
