//! Fallible allocation of host memory for sizes that are chosen by a program, a kernel, or a command line.
//! Running out of memory is an error and never ends the process.

#![allow(unsafe_code, reason = "asks the system's allocator for memory that may not be there")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The error for an allocation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: {size} bytes can't be allocated; free something or allocate less")]
pub struct OutOfMemory {
    /// The size of the allocation in bytes.
    pub size: u64,
}

/// The alignment of the system's allocator. It can return pages that are already zero only for this alignment;
/// for a larger one it would write to every page.
const SYSTEM_ALIGNMENT: usize = 16;

/// Zeroed bytes. The system provides each page when it is first accessed, so allocated but unused pages take no
/// memory.
#[derive(Debug)]
pub struct Zeroed {
    /// The first byte, aligned.
    start: NonNull<u8>,
    len: usize,
    /// The pointer and layout of the allocation.
    allocation: (NonNull<u8>, Layout),
}

// SAFETY: `Zeroed` owns its memory, as a `Box<[u8]>` does, and gives references to it by the usual rules.
unsafe impl Send for Zeroed {}
// SAFETY: as for `Send`.
unsafe impl Sync for Zeroed {}

impl Zeroed {
    /// Allocates `len` zeroed bytes at a multiple of `align`, which must be a power of two.
    ///
    /// # Errors
    /// If the host is out of memory.
    pub fn new(len: usize, align: usize) -> Result<Self, OutOfMemory> {
        Self::allocate(len, align).ok_or(OutOfMemory { size: len as u64 })
    }

    fn allocate(len: usize, align: usize) -> Option<Self> {
        let align = align.max(1);
        let slack = if align > SYSTEM_ALIGNMENT { align } else { 0 };
        let layout =
            Layout::from_size_align(len.max(1).checked_add(slack)?, SYSTEM_ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not zero.
        let given = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let front = given.align_offset(align);
        debug_assert!(front <= slack, "a power of two");
        // SAFETY: `front` is at most the slack, which is inside the allocation.
        let start = unsafe { given.add(front.min(slack)) };
        Some(Self { start, len, allocation: (given, layout) })
    }

    /// The first byte.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        let (start, layout) = self.allocation;
        // SAFETY: the memory was allocated with this layout, and this is its only owner.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}

/// An empty vector with capacity for `count` elements.
///
/// # Errors
/// If the host is out of memory.
pub fn vector<T>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vector = Vec::new();
    let size = (count as u64).saturating_mul(size_of::<T>() as u64);
    vector.try_reserve_exact(count).map_err(|_| OutOfMemory { size })?;
    Ok(vector)
}

/// A vector of `count` copies of a value.
///
/// # Errors
/// If the host is out of memory.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vector = vector(count)?;
    vector.resize(count, value);
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_and_zero() {
        for align in [1, 16, 128, 256, 4096, 1 << 20] {
            let room = Zeroed::new(1000, align).unwrap();
            assert!((room.as_ptr() as usize).is_multiple_of(align), "{align}");
            // SAFETY: the allocation has this many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(room.as_ptr(), room.len()) };
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        assert!(Zeroed::new(0, 8).unwrap().is_empty());
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        for size in [usize::MAX, isize::MAX as usize, 1 << 60] {
            assert_eq!(Zeroed::new(size, 256).unwrap_err(), OutOfMemory { size: size as u64 });
            assert_eq!(vector::<u8>(size).unwrap_err(), OutOfMemory { size: size as u64 });
        }
        assert_eq!(vector::<u64>(usize::MAX).unwrap_err(), OutOfMemory { size: u64::MAX });
        assert_eq!(filled(7_u8, 3).unwrap(), [7, 7, 7]);
    }
}
