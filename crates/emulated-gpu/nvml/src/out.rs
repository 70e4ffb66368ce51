//! Results written to the caller's memory.
//!
//! The values are arguments of C functions, whose callers are responsible for the pointers.

use std::ffi::c_uint;

use crate::ffi::{Out, Result, Status};

/// Reads a structure that begins with its version. The caller has written the version, which includes the size.
///
/// # Safety
/// The caller of the C function must have written such a structure, in any version.
///
/// # Errors
/// `INVALID_ARGUMENT` for a null pointer, `ARGUMENT_VERSION_MISMATCH` for another version.
pub(crate) unsafe fn versioned<const VERSION: c_uint, T: Copy>(out: Out<'_, T>) -> Result<T> {
    // SAFETY: only the first field, common to all versions, may be read before the version is checked.
    let version = unsafe { out.cast::<c_uint>().get()? };
    if version != size_of::<T>() as c_uint | VERSION << 24 {
        return Err(Status::ArgumentVersionMismatch);
    }
    // SAFETY: guaranteed by the caller, and the version is the expected one.
    unsafe { out.get() }
}

/// The caller's buffer for a string.
#[derive(Clone, Copy)]
pub(crate) struct TextOut<'call> {
    to: Out<'call, u8>,
    /// The buffer's size in bytes.
    len: c_uint,
}

impl<'call> TextOut<'call> {
    /// Wraps a buffer.
    ///
    /// # Safety
    /// It must be null or have room for `len` bytes.
    pub(crate) unsafe fn new(to: Out<'call, u8>, len: c_uint) -> Self {
        Self { to, len }
    }

    /// Writes a NUL-terminated string.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a null pointer, `INSUFFICIENT_SIZE` if the string doesn't fit.
    pub(crate) fn set(self, text: &str) -> Result {
        self.to.required()?;
        if (self.len as usize) <= text.len() {
            return Err(Status::InsufficientSize);
        }
        self.write(text.as_bytes())
    }

    /// Writes a string, truncated to the buffer.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a null pointer or a buffer of no bytes.
    pub(crate) fn set_truncated(self, text: &[u8]) -> Result {
        self.to.required()?;
        let max = (self.len as usize).checked_sub(1).ok_or(Status::InvalidArgument)?;
        self.write(&text[..text.len().min(max)])
    }

    fn write(self, text: &[u8]) -> Result {
        // SAFETY: both callers have checked that the string and its NUL fit.
        unsafe {
            self.to.set_list(text)?;
            self.to.offset(text.len()).set(0)
        }
    }
}

/// A string as a field of a structure, padded with NULs.
pub(crate) fn padded_field<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().take(N - 1).zip(text.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(bytes: &mut [u8]) -> TextOut<'_> {
        // SAFETY: the slice has `len` bytes and stays borrowed.
        unsafe { TextOut::new(Out::new(bytes.as_mut_ptr()), bytes.len() as c_uint) }
    }

    #[test]
    fn strings_need_room_for_their_nul() {
        let mut bytes = *b"******";
        assert_eq!(buffer(&mut bytes[..3]).set("abc"), Err(Status::InsufficientSize));
        assert_eq!(&bytes, b"******", "nothing is written");
        buffer(&mut bytes[..4]).set("abc").unwrap();
        assert_eq!(&bytes, b"abc\0**");
    }

    #[test]
    fn truncated_strings_end_in_nul() {
        let mut bytes = *b"******";
        buffer(&mut bytes[..3]).set_truncated(b"abc").unwrap();
        assert_eq!(&bytes, b"ab\0***");
        assert_eq!(buffer(&mut []).set_truncated(b"abc"), Err(Status::InvalidArgument));
    }

    #[test]
    fn fields_end_in_nul() {
        assert_eq!(padded_field::<4>("abcd"), *b"abc\0");
        assert_eq!(padded_field::<4>("a"), *b"a\0\0\0");
    }
}
