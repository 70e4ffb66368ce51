//! Memory of the program's own: read with care, since a pointer that a program passes by mistake
//! should be an error code and not the end of the process.

#![allow(unsafe_code, reason = "asks the kernel for memory that may not be there")]

use ptx_emulator::room::filled;

use crate::abi::error::{Code, Error, Result, out_of_memory};

/// Whether the first and the last byte of a range can be read, as far as the system tells.
pub(crate) fn is_readable(address: usize, len: usize) -> bool {
    if len == 0 {
        return true;
    }
    if address == 0 || address.checked_add(len).is_none() {
        return false;
    }
    let mut bytes = [0; 2];
    ask_kernel(&[(address, 1), (address + (len - 1), 1)], &mut bytes).unwrap_or(true)
}

/// A range that can't be read is an error of the caller's.
pub(crate) fn check(address: usize, len: usize) -> Result {
    if is_readable(address, len) { Ok(()) } else { Err(wild(address, len)) }
}

fn wild(address: usize, len: usize) -> Error {
    Code::INVALID_VALUE
        .because(format!("{len} bytes at host address {address:#x} can't be accessed"))
}

/// Copies `count` words of 8 bytes, aligned or not.
///
/// # Safety
/// As of [`gather`].
///
/// # Errors
/// `INVALID_VALUE` when they can't be read.
pub(crate) unsafe fn words(address: usize, count: usize) -> Result<Vec<usize>> {
    let len = count.checked_mul(8).ok_or_else(|| wild(address, usize::MAX))?;
    check(address, len)?;
    let mut bytes = filled(0, len).map_err(out_of_memory)?;
    // SAFETY: the caller's promise.
    if count > 0 && !unsafe { gather(&[(address, len)], &mut bytes) } {
        return Err(wild(address, len));
    }
    let word = |chunk: &[u8]| usize::from_ne_bytes(chunk.try_into().unwrap_or_default());
    Ok(bytes.chunks_exact(8).map(word).collect())
}

/// Copies ranges one after another; false when one of them can't be read.
///
/// # Safety
/// The system can tell of each range that it can't be read, or it can be, unless its address is 0: in a sandbox
/// that forbids `process_vm_readv`, only the program knows.
pub(crate) unsafe fn gather(ranges: &[(usize, usize)], into: &mut [u8]) -> bool {
    debug_assert_eq!(ranges.iter().map(|(_, len)| len).sum::<usize>(), into.len());
    let mut rest = into;
    // The kernel takes at most 1024 ranges at once (IOV_MAX).
    for ranges in ranges.chunks(1024) {
        let total = ranges.iter().map(|(_, len)| len).sum();
        let Some((target, after)) = rest.split_at_mut_checked(total) else { return false };
        rest = after;
        match ask_kernel(ranges, target) {
            Some(true) => {}
            Some(false) => return false,
            None => {
                // SAFETY: the caller's promise.
                if !unsafe { trust(ranges, target) } {
                    return false;
                }
            }
        }
    }
    true
}

/// Has the kernel copy, which knows what can be read; `None` where it does not do that.
#[cfg(target_os = "linux")]
fn ask_kernel(ranges: &[(usize, usize)], into: &mut [u8]) -> Option<bool> {
    let remote: Vec<libc::iovec> = ranges
        .iter()
        .map(|&(address, len)| libc::iovec { iov_base: address as *mut _, iov_len: len })
        .collect();
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let count = remote.len() as libc::c_ulong;
    // SAFETY: the kernel writes to `into` alone, and checks what it reads.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), count, 0) };
    if copied >= 0 {
        return Some(copied as usize == into.len());
    }
    // A sandbox may forbid the call, even on the own process.
    let error = std::io::Error::last_os_error().raw_os_error();
    (!matches!(error, Some(libc::ENOSYS | libc::EPERM | libc::EACCES))).then_some(false)
}

#[cfg(not(target_os = "linux"))]
fn ask_kernel(_: &[(usize, usize)], _: &mut [u8]) -> Option<bool> {
    None
}

/// Copies what the program vouches for, as NVIDIA's driver does; only null is found out.
///
/// # Safety
/// Each range can be read, unless its address is 0.
unsafe fn trust(ranges: &[(usize, usize)], into: &mut [u8]) -> bool {
    let mut rest = into;
    for &(address, len) in ranges {
        let Some((target, after)) = rest.split_at_mut_checked(len) else { return false };
        if address == 0 {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(address as *const u8, target.as_mut_ptr(), len) };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wild_addresses_are_not_read() {
        let here = [1u8, 2, 3];
        assert!(is_readable(here.as_ptr() as usize, 3));
        assert!(!is_readable(0, 1));
        assert!(!is_readable(usize::MAX - 1, 3));
        assert!(!is_readable(0xdead_0000_0000, 8));
        assert!(is_readable(0, 0));
    }

    #[test]
    fn ranges_come_one_behind_another() {
        let (a, b) = ([1u8, 2], [3u8; 3]);
        let mut into = [0; 5];
        let ranges = [(a.as_ptr() as usize, 2), (b.as_ptr() as usize, 3)];
        // SAFETY: both are there.
        assert!(unsafe { gather(&ranges, &mut into) });
        assert_eq!(into, [1, 2, 3, 3, 3]);
        if ask_kernel(&ranges, &mut into).is_some() {
            // SAFETY: the system tells of the second that it is not.
            assert!(!unsafe { gather(&[(a.as_ptr() as usize, 2), (8, 3)], &mut into) });
        }
    }
}
