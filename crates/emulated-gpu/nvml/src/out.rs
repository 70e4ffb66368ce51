//! Places in the caller's memory, for as long as the caller's call lasts.
//!
//! The values are arguments of C functions, whose caller vouches for what they lead to.

use std::ffi::c_uint;

use crate::ffi::{Out, Result, Status};

/// Reads a structure whose first field is its version; the caller has written the version, which includes the size.
///
/// # Safety
/// The caller of the C function has written such a structure there, of some version.
///
/// # Errors
/// `INVALID_ARGUMENT` for a null pointer, `ARGUMENT_VERSION_MISMATCH` for another version.
pub(crate) unsafe fn versioned<const VERSION: c_uint, T: Copy>(out: Out<'_, T>) -> Result<T> {
    // SAFETY: only the first field may be read before it is known what this is; all such structures have it.
    let version = unsafe { out.cast::<c_uint>().get()? };
    if version != size_of::<T>() as c_uint | VERSION << 24 {
        return Err(Status::ArgumentVersionMismatch);
    }
    // SAFETY: the caller's promise, and it is of this version.
    unsafe { out.get() }
}

/// The caller's place for a text.
#[derive(Clone, Copy)]
pub(crate) struct TextOut<'call> {
    to: Out<'call, u8>,
    /// Its bytes.
    len: c_uint,
}

impl<'call> TextOut<'call> {
    /// A place of so many bytes.
    ///
    /// # Safety
    /// It is null, or has as many.
    pub(crate) unsafe fn new(to: Out<'call, u8>, len: c_uint) -> Self {
        Self { to, len }
    }

    /// Writes a text that ends in NUL.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a null pointer, `INSUFFICIENT_SIZE` where the text doesn't fit.
    pub(crate) fn set(self, text: &str) -> Result {
        self.to.required()?;
        if (self.len as usize) <= text.len() {
            return Err(Status::InsufficientSize);
        }
        self.write(text.as_bytes())
    }

    /// Writes as much of it as there is place for.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a null pointer or a place of no bytes.
    pub(crate) fn set_cropped(self, text: &[u8]) -> Result {
        self.to.required()?;
        let most = (self.len as usize).checked_sub(1).ok_or(Status::InvalidArgument)?;
        self.write(&text[..text.len().min(most)])
    }

    fn write(self, text: &[u8]) -> Result {
        // SAFETY: both callers have asked whether it has place for all of the text, and one more.
        unsafe {
            self.to.set_list(text)?;
            self.to.offset(text.len()).set(0)
        }
    }
}

/// A text as a field of a structure: the rest is NUL.
pub(crate) fn field<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().take(N - 1).zip(text.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bytes: &mut [u8]) -> TextOut<'_> {
        // SAFETY: the slice has as many bytes, and is borrowed for as long.
        unsafe { TextOut::new(Out::new(bytes.as_mut_ptr()), bytes.len() as c_uint) }
    }

    #[test]
    fn a_text_needs_place_for_its_end() {
        let mut bytes = *b"******";
        assert_eq!(place(&mut bytes[..3]).set("abc"), Err(Status::InsufficientSize));
        assert_eq!(&bytes, b"******", "nothing is written");
        place(&mut bytes[..4]).set("abc").unwrap();
        assert_eq!(&bytes, b"abc\0**");
    }

    #[test]
    fn a_text_is_cropped_where_that_is_what_the_function_does() {
        let mut bytes = *b"******";
        place(&mut bytes[..3]).set_cropped(b"abc").unwrap();
        assert_eq!(&bytes, b"ab\0***");
        assert_eq!(place(&mut []).set_cropped(b"abc"), Err(Status::InvalidArgument));
    }

    #[test]
    fn a_field_ends_in_nul() {
        assert_eq!(field::<4>("abcd"), *b"abc\0");
        assert_eq!(field::<4>("a"), *b"a\0\0\0");
    }
}
