//! Pages of addresses that are asked for before there is memory behind them (mmap(2), mprotect(2)).

#![allow(unsafe_code, reason = "asks the operating system for pages")]
#![cfg_attr(
    not(all(target_os = "linux", not(miri))),
    allow(dead_code, reason = "only Linux is asked; elsewhere nothing is reserved")
)]

/// Addresses that are nobody else's, of which the first ones are memory.
#[derive(Debug)]
pub(super) struct Pages {
    start: u64,
    len: u64,
    /// The end of what is memory.
    end: u64,
    /// Bytes of one page.
    page: u64,
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Pages {
    /// So many bytes of addresses, with no memory behind them yet. `None` where the process may not
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
            Self { start, len, end: start, page }
        })
    }

    /// Makes everything below `end` memory, in steps: whether the system has so much to promise.
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
            self.end = start;
        }
        is_given
    }

    /// Writes zeros over a range of what is memory; where it is long, by having the system take its pages.
    pub(super) fn clear(&self, address: u64, len: u64) {
        let end = address + len;
        let (first, last) = (address.next_multiple_of(self.page), end / self.page * self.page);
        let pages = last.saturating_sub(first);
        let is_taken = pages >= 16 * self.page
            // SAFETY: nobody has anything in this range, and it is this one's own.
            && unsafe { libc::madvise(first as *mut _, pages as usize, libc::MADV_DONTNEED) } == 0;
        let (front, back) = if is_taken { (first, last) } else { (end, end) };
        for (from, to) in [(address, front), (back, end)] {
            // SAFETY: as above; it is memory.
            unsafe { std::ptr::write_bytes(from as *mut u8, 0, (to - from) as usize) };
        }
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

    pub(super) fn clear(&self, _: u64, _: u64) {}
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
