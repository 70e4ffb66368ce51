//! Places in the caller's memory, for as long as the caller's call lasts.
//!
//! The values are arguments of C functions, whose caller vouches for what they lead to.

use std::ffi::{CStr, c_char, c_uint};
use std::marker::PhantomData;

use crate::status::{Result, Status};

/// Where a result is written to, at any address: null, or readable and writable.
#[repr(transparent)]
pub(crate) struct Out<'call, T>(*mut T, PhantomData<&'call mut T>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<T> Out<'_, T> {
    /// A place at an address.
    ///
    /// # Safety
    /// It is null, or readable and writable for as long as the value is used.
    unsafe fn new(to: *mut T) -> Self {
        Self(to, PhantomData)
    }

    /// A null pointer is an error; to be asked before anything is written.
    pub(crate) fn required(self) -> Result {
        if self.0.is_null() { Err(Status::InvalidArgument) } else { Ok(()) }
    }

    /// Writes the result.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) fn set(self, value: T) -> Result {
        self.required()?;
        // SAFETY: it is not null.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// What stands there.
    ///
    /// # Errors
    /// When the pointer is null.
    pub(crate) fn get(self) -> Result<T>
    where
        T: Copy,
    {
        self.required()?;
        // SAFETY: as above.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// One of several that follow each other.
    ///
    /// # Safety
    /// It is null, or there are more than `index`: the caller of the C function has said how many.
    pub(crate) unsafe fn at(self, index: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::new(self.0.wrapping_add(index)) }
    }
}

/// A structure that begins with its version, which the caller writes there.
pub(crate) trait Versioned: Copy {
    /// Which of the structure's versions it is.
    const VERSION: c_uint;
    /// What stands in its first field.
    fn version(&self) -> c_uint;
}

/// What stands in a versioned structure, whose size is part of its version.
///
/// # Errors
/// `INVALID_ARGUMENT` for a null pointer, `ARGUMENT_VERSION_MISMATCH` for another version.
pub(crate) fn versioned<T: Versioned>(out: Out<'_, T>) -> Result<T> {
    // SAFETY: only the first field may be read before it is known what this is; all such structures have it.
    let version = unsafe { Out::new(out.0.cast::<c_uint>()) }.get()?;
    if version != size_of::<T>() as c_uint | T::VERSION << 24 {
        return Err(Status::ArgumentVersionMismatch);
    }
    let read = out.get()?;
    debug_assert_eq!(read.version(), version);
    Ok(read)
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
        self.write(text.bytes())
    }

    /// Writes as much of it as there is place for.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a null pointer or a place of no bytes.
    pub(crate) fn set_cropped(self, text: &[u8]) -> Result {
        self.to.required()?;
        let most = (self.len as usize).checked_sub(1).ok_or(Status::InvalidArgument)?;
        self.write(text.iter().copied().take(most))
    }

    fn write(self, text: impl Iterator<Item = u8>) -> Result {
        // SAFETY: both callers have asked whether it has place for all of the text.
        text.chain([0])
            .enumerate()
            .try_for_each(|(index, byte)| unsafe { self.to.at(index) }.set(byte))
    }
}

/// A text of the caller's: null, or it ends in NUL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text<'call>(*const c_char, PhantomData<&'call c_char>);

impl Text<'_> {
    /// Its characters.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a null pointer.
    pub(crate) fn get(&self) -> Result<String> {
        if self.0.is_null() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: it is not null.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
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
