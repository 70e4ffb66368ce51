//! Registered host memory: checks that its pages are still mapped.
//!
//! NVIDIA's driver pins the pages, so that the device can access them even after the program has
//! unmapped them. A process can't pin its own pages against `munmap`: `mlock` doesn't do it, a
//! second mapping (`mremap` with an old size of 0) only works for shared memory, and notifications
//! of `munmap` (`userfaultfd`) need privileges. A handler of `SIGSEGV` belongs to the program. So
//! there are two checks instead:
//!
//! - [`populate`], on registration, does the check that pinning would do: the kernel faults in
//!   every page for writing. It fails for a hole, for read-only memory and for a file that is too
//!   short.
//! - [`is_mapped`], each time an access finds registered memory in the table: if part of the range
//!   has been unmapped since, the access is reported as a fault.
//!
//! The remaining cases are errors of the program: while a kernel runs on such memory it unmaps it
//! (CUDA requires that it is unregistered first, and unregistering waits for the kernel), changes
//! its protection, or maps something else in its place.

#![allow(unsafe_code, reason = "system calls that check addresses")]

use super::pages::PAGE_BYTES;

/// The start and length of the whole pages that contain a range.
fn pages(address: u64, len: u64) -> Option<(u64, u64)> {
    let first = address / PAGE_BYTES * PAGE_BYTES;
    let end = address.checked_add(len)?.checked_next_multiple_of(PAGE_BYTES)?;
    Some((first, end - first))
}

/// Whether all of a range can be read and, if `writable`, written.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn populate(address: u64, len: u64, writable: bool) -> bool {
    let Some((first, bytes)) = pages(address, len) else { return false };
    let advice = if writable { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    // SAFETY: this doesn't change the memory; the kernel checks the addresses.
    if unsafe { libc::madvise(first as *mut _, bytes as usize, advice) } == 0 {
        return true;
    }
    // Linux before 5.14 doesn't know the advice (EINVAL). An inaccessible page is EFAULT or
    // EHWPOISON, a hole is ENOMEM.
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::EPERM) => {
            let maps = std::fs::read_to_string("/proc/self/maps");
            maps.map_or(true, |maps| is_covered(&maps, (first, bytes), writable))
        }
        _ => false,
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn populate(address: u64, len: u64, _: bool) -> bool {
    pages(address, len).is_some()
}

/// Whether the mappings listed in `/proc/self/maps` cover a range without a hole.
#[cfg_attr(
    not(all(target_os = "linux", not(miri))),
    allow(dead_code, reason = "Linux has that file")
)]
fn is_covered(maps: &str, (first, bytes): (u64, u64), writable: bool) -> bool {
    let end = first.saturating_add(bytes);
    let mut reached = first;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let (Some((from, to)), Some(rights)) = (range, words.next()) else { continue };
        let number = |digits| u64::from_str_radix(digits, 16).unwrap_or(0);
        let (from, to) = (number(from), number(to));
        // The mappings are sorted by address.
        if from > reached || reached >= end {
            break;
        }
        if to <= reached {
            continue;
        }
        if !rights.starts_with('r') || writable && !rights.starts_with("rw") {
            return false;
        }
        reached = to;
    }
    reached >= end
}

/// Whether all of a range is mapped. This walks the mappings in the range (usually one) and touches
/// no page.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn is_mapped(address: u64, len: u64) -> bool {
    let Some((first, bytes)) = pages(address, len) else { return false };
    // MS_ASYNC does nothing except this check (msync(2), "ENOMEM The indicated memory (or part of
    // it) was not mapped").
    // SAFETY: msync changes no memory; the kernel checks the addresses.
    let code = unsafe { libc::msync(first as *mut _, bytes as usize, libc::MS_ASYNC) };
    code == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOMEM)
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn is_mapped(_: u64, _: u64) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
10000-20000 rw-p 00000000 00:00 0
20000-30000 r--p 00000000 00:00 0   /usr/lib/a file
30000-31000 ---p 00000000 00:00 0
40000-50000 rw-s 00000000 00:00 0
";

    #[test]
    fn mappings_cover_a_range_or_leave_holes() {
        assert!(is_covered(MAPS, (0x10000, 0x10000), true));
        assert!(is_covered(MAPS, (0x11000, 0x1000), true));
        assert!(is_covered(MAPS, (0x18000, 0x10000), false));
        assert!(!is_covered(MAPS, (0x18000, 0x10000), true), "read-only at its end");
        assert!(!is_covered(MAPS, (0x28000, 0x9000), false), "not readable at its end");
        assert!(!is_covered(MAPS, (0x40000, 0x11000), false), "beyond the last");
        assert!(!is_covered(MAPS, (0x31000, 0x1000), false), "in a hole");
        assert!(!is_covered(MAPS, (0xf000, 0x2000), false), "begins before the first");
        assert!(!is_covered("", (0xf000, 0x1000), false));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn mappings_of_this_process_are_found() {
        let mut own = vec![1u8; 3 * PAGE_BYTES as usize];
        let address = own.as_mut_ptr() as u64;
        assert!(populate(address, own.len() as u64, true));
        assert!(is_mapped(address, own.len() as u64));
        assert!(own.iter().all(|&byte| byte == 1));
        // A string constant can be read, but not written.
        let text = MAPS.as_ptr() as u64;
        assert!(populate(text, 1, false) && is_mapped(text, 1));
        assert!(!populate(text, 1, true));
        assert!(!populate(8, 8, false) && !is_mapped(8, 8), "nothing is mapped at null");
        assert!(!is_mapped(u64::MAX - 8, 100));
    }
}
