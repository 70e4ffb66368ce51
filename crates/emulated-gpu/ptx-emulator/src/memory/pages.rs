//! Pages of addresses that are asked for before there is memory behind them (mmap(2), mprotect(2)), and of
//! which some can be shown to other processes (memfd_create(2)).

#![allow(unsafe_code, reason = "asks the operating system for pages")]
#![cfg_attr(
    not(all(target_os = "linux", not(miri))),
    allow(dead_code, reason = "only Linux is asked; elsewhere nothing is reserved")
)]

use std::fs::File;

use super::ranges::Ranges;
#[cfg(all(target_os = "linux", not(miri)))]
use super::shared;

/// The smallest pages of Linux on the processors that it is emulated on, in bytes: pinned and managed memory
/// begins at one.
pub(super) const PAGE: u64 = 4096;

/// Addresses that are nobody else's, of which the first ones are memory.
#[derive(Debug)]
pub(super) struct Pages {
    start: u64,
    len: u64,
    /// The end of what is memory.
    end: u64,
    /// Bytes of one page.
    page: u64,
    /// The file that pages are of which other processes may have, made with the first of them: byte 0 is
    /// that of the first address.
    file: Option<File>,
    /// Which pages those are.
    shared: Ranges,
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Pages {
    /// This many bytes of addresses, with no memory behind them yet. `None` where the process may not
    /// have them: a limit of its addresses (`ulimit -v`) is meant for something else.
    pub(super) fn reserve(len: u64) -> Option<Self> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is written to a place for one.
        let is_limited = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } != 0
            || limit.rlim_cur != libc::RLIM_INFINITY;
        // SAFETY: this asks for a number.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        if is_limited || !page.is_power_of_two() {
            return None;
        }
        let len = len.next_multiple_of(page);
        let (size, kind) = (usize::try_from(len).ok()?, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new addresses are asked for, and nothing that is there is changed.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, kind, -1, 0) };
        (start != libc::MAP_FAILED).then(|| {
            let start = start as u64;
            Self { start, len, end: start, page, file: None, shared: Ranges::default() }
        })
    }

    /// Makes everything below `end` memory, in steps: whether the system has this much to promise.
    pub(super) fn grow(&mut self, end: u64) -> bool {
        /// Bytes that are asked for at once.
        const STEP: u64 = 1 << 20;
        if end <= self.end {
            return true;
        }
        let most = self.start + self.len;
        for step in [STEP, self.page] {
            let to = end.next_multiple_of(step).min(most);
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the range is this one's own, and nothing lies there.
            let code =
                unsafe { libc::mprotect(self.end as *mut _, (to - self.end) as usize, rights) };
            if code == 0 {
                self.end = to;
                return true;
            }
        }
        false
    }

    /// Gives the memory from `start` on back to the system, where that is worth it: whether it did.
    pub(super) fn shrink(&mut self, start: u64) -> bool {
        /// Bytes that are kept, because they will soon be asked for again.
        const KEPT: u64 = 16 << 20;
        let start = start.next_multiple_of(self.page);
        if self.end.saturating_sub(start) < KEPT {
            return false;
        }
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let len = (self.end - start) as usize;
        // SAFETY: the range is this one's own, and nobody has anything in it.
        let made = unsafe { libc::mmap(start as *mut _, len, libc::PROT_NONE, kind, -1, 0) };
        let is_given = made != libc::MAP_FAILED;
        if is_given {
            self.forget(start, self.end);
            self.end = start;
        }
        is_given
    }

    /// Writes zeros over a range of what is memory; where it is long, by having the system take its pages.
    /// Other processes no longer share it with this one, but for pages of which there is more.
    pub(super) fn clear(&mut self, address: u64, len: u64) {
        let end = address + len;
        let (first, last) = (address.next_multiple_of(self.page), end / self.page * self.page);
        let pages = last.saturating_sub(first);
        let is_own = pages == 0 || self.unshare(first, last);
        let is_taken = is_own
            && pages >= 16 * self.page
            // SAFETY: nobody has anything in this range, and it is this one's own.
            && unsafe { libc::madvise(first as *mut _, pages as usize, libc::MADV_DONTNEED) } == 0;
        let (front, back) = if is_taken { (first, last) } else { (end, end) };
        for (from, to) in [(address, front), (back, end)] {
            // SAFETY: as above; it is memory.
            unsafe { std::ptr::write_bytes(from as *mut u8, 0, (to - from) as usize) };
        }
    }

    /// Makes pages with all that is there those of a file, so that other processes can have them: the file.
    /// They are whole ones, and memory. `None` where there can be no such file, or not that much memory.
    ///
    /// Nobody may write to them meanwhile.
    pub(super) fn share(&mut self, start: u64, end: u64) -> Option<&File> {
        /// Bytes that are there twice for a moment.
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
                // SAFETY: it is memory of this one's own, which nobody writes to.
                let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, len) };
                std::os::unix::fs::FileExt::write_all_at(file, bytes, offset).ok()?;
                // SAFETY: the same bytes come to where they were.
                if !unsafe { shared::replace(from, len, file, offset) } {
                    shared::clear(file, offset, len as u64);
                    return None;
                }
                self.shared.add(from, to);
            }
        }
        Some(file)
    }

    /// The file, where all pages of a range are of it.
    pub(super) fn shared(&self, start: u64, end: u64) -> Option<&File> {
        let (first, last) = (start / self.page * self.page, end.next_multiple_of(self.page));
        self.file.as_ref().filter(|_| self.shared.outside(first, last).is_empty())
    }

    /// Makes whole pages this process's alone, and zero, as far as they were not: whether all of them are.
    fn unshare(&mut self, first: u64, last: u64) -> bool {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let mut is_own = true;
        for (from, to) in self.shared.inside(first, last) {
            let len = (to - from) as usize;
            // SAFETY: nobody has anything in this range, and it is this one's own.
            let made = unsafe { libc::mmap(from as *mut _, len, rights, kind, -1, 0) };
            if made == libc::MAP_FAILED {
                is_own = false;
            } else {
                self.forget(from, to);
            }
        }
        is_own
    }

    /// Gives what is not shared any longer back to the system.
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
    /// The first address, and how many there are.
    pub(super) fn range(&self) -> (u64, u64) {
        (self.start, self.len)
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it is this one's own, and who has a part of it keeps it alive.
        unsafe { libc::munmap(self.start as *mut _, self.len as usize) };
    }
}
