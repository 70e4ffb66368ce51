//! Checked reads of the program's memory: a pointer that a program passes by mistake should give an error code and
//! not crash the process.

#![allow(unsafe_code, reason = "asks the kernel to read memory that may not be mapped")]

use ptx_emulator::room::filled;

use crate::abi::error::{Code, Error, Result, out_of_memory};

/// Whether the first and the last byte of a range can be read. Also true if the system can't check that.
pub(crate) fn is_readable(address: usize, len: usize) -> bool {
    if len == 0 {
        return true;
    }
    if address == 0 || address.checked_add(len).is_none() {
        return false;
    }
    let mut bytes = [0; 2];
    copy_by_kernel(&[(address, 1), (address + (len - 1), 1)], &mut bytes).unwrap_or(true)
}

/// Checks that a range can be read.
pub(crate) fn check(address: usize, len: usize) -> Result {
    if is_readable(address, len) { Ok(()) } else { Err(wild(address, len)) }
}

fn wild(address: usize, len: usize) -> Error {
    Code::INVALID_VALUE
        .because(format!("{len} bytes at host address {address:#x} can't be accessed"))
}

/// Copies `count` words of 8 bytes; the address may be unaligned.
///
/// # Safety
/// See [`gather`].
///
/// # Errors
/// `INVALID_VALUE` if the words can't be read, `OUT_OF_MEMORY` if the host is out of memory.
pub(crate) unsafe fn words(address: usize, count: usize) -> Result<Vec<usize>> {
    let len = count.checked_mul(8).ok_or_else(|| wild(address, usize::MAX))?;
    check(address, len)?;
    let mut bytes = filled(0, len).map_err(out_of_memory)?;
    // SAFETY: guaranteed by the caller.
    if count > 0 && !unsafe { gather(&[(address, len)], &mut bytes) } {
        return Err(wild(address, len));
    }
    let word = |chunk: &[u8]| usize::from_ne_bytes(chunk.try_into().unwrap_or_default());
    Ok(bytes.chunks_exact(8).map(word).collect())
}

/// Copies ranges one after another; false if one of them can't be read.
///
/// # Safety
/// Every range whose address isn't 0 is readable, or the system can detect that it isn't. A system can't detect that in
/// a sandbox that forbids `process_vm_readv`, so there the program must pass readable ranges.
pub(crate) unsafe fn gather(ranges: &[(usize, usize)], into: &mut [u8]) -> bool {
    debug_assert_eq!(ranges.iter().map(|(_, len)| len).sum::<usize>(), into.len());
    let mut rest = into;
    // The kernel takes at most 1024 ranges at once (IOV_MAX).
    for ranges in ranges.chunks(1024) {
        let total = ranges.iter().map(|(_, len)| len).sum();
        let Some((target, after)) = rest.split_at_mut_checked(total) else { return false };
        rest = after;
        match copy_by_kernel(ranges, target) {
            Some(true) => {}
            Some(false) => return false,
            None => {
                // SAFETY: guaranteed by the caller.
                if !unsafe { copy_unchecked(ranges, target) } {
                    return false;
                }
            }
        }
    }
    true
}

/// Copies with a system call, because the operating system checks that the ranges can be read. `None` if the system has
/// no such call.
#[cfg(target_os = "linux")]
fn copy_by_kernel(ranges: &[(usize, usize)], into: &mut [u8]) -> Option<bool> {
    let remote: Vec<libc::iovec> = ranges
        .iter()
        .map(|&(address, len)| libc::iovec { iov_base: address as *mut _, iov_len: len })
        .collect();
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let count = remote.len() as libc::c_ulong;
    // SAFETY: the kernel only writes to `into`, and checks the ranges that it reads.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), count, 0) };
    if copied >= 0 {
        return Some(copied as usize == into.len());
    }
    // A sandbox may forbid the call, even for the calling process itself.
    let error = std::io::Error::last_os_error().raw_os_error();
    (!matches!(error, Some(libc::ENOSYS | libc::EPERM | libc::EACCES))).then_some(false)
}

#[cfg(not(target_os = "linux"))]
fn copy_by_kernel(_: &[(usize, usize)], _: &mut [u8]) -> Option<bool> {
    None
}

/// Copies ranges without checking that they are readable, as NVIDIA's driver does; only null is detected.
///
/// # Safety
/// Each range can be read, unless its address is 0.
unsafe fn copy_unchecked(ranges: &[(usize, usize)], into: &mut [u8]) -> bool {
    let mut rest = into;
    for &(address, len) in ranges {
        let Some((target, after)) = rest.split_at_mut_checked(len) else { return false };
        if address == 0 {
            return false;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { std::ptr::copy(address as *const u8, target.as_mut_ptr(), len) };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_addresses_are_detected() {
        let here = [1u8, 2, 3];
        assert!(is_readable(here.as_ptr() as usize, 3));
        assert!(!is_readable(0, 1));
        assert!(!is_readable(usize::MAX - 1, 3));
        assert!(!is_readable(0xdead_0000_0000, 8));
        assert!(is_readable(0, 0));
    }

    #[test]
    fn ranges_are_gathered_in_order() {
        let (a, b) = ([1u8, 2], [3u8; 3]);
        let mut into = [0; 5];
        let ranges = [(a.as_ptr() as usize, 2), (b.as_ptr() as usize, 3)];
        // SAFETY: both ranges are arrays of this function.
        assert!(unsafe { gather(&ranges, &mut into) });
        assert_eq!(into, [1, 2, 3, 3, 3]);
        if copy_by_kernel(&ranges, &mut into).is_some() {
            // SAFETY: the system detects that the second range can't be read.
            assert!(!unsafe { gather(&[(a.as_ptr() as usize, 2), (8, 3)], &mut into) });
        }
    }
}
