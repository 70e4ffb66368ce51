//! Argument types for the caller's pointers.
//!
//! A value of these types is null or points to a value of its type, aligned or not, that is valid during `'a`. C
//! callers create them by calling an exported function, and are responsible for their validity. In Rust, only
//! `unsafe` functions create them. `E` is the library's error type. A null pointer yields [`Fault::Null`] with the
//! argument's name, if given.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use crate::Fault;

const RESULT: &str = "the pointer to the result";
const ARGUMENT: &str = "the pointer to an argument";
const TEXT: &str = "the string";

/// A pointer to memory for a result: null, or writable for a `T`.
#[repr(transparent)]
pub struct Out<'a, T, E>(*mut T, PhantomData<(&'a (), E)>);

/// A pointer to an argument: null, or readable as a `T`.
#[repr(transparent)]
pub struct In<'a, T, E>(*const T, PhantomData<(&'a (), E)>);

/// A string: null, or NUL-terminated.
#[repr(transparent)]
pub struct Text<'a, E>(In<'a, c_char, E>);

macro_rules! impl_copy {
    ($($pointer:ident<$($parameter:ident),*>),*) => {$(
        impl<$($parameter),*> Clone for $pointer<'_, $($parameter),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameter),*> Copy for $pointer<'_, $($parameter),*> {}
    )*};
}

impl_copy!(Out<T, E>, In<T, E>, Text<E>);

macro_rules! nullable {
    ($($pointer:ident: $null:ident;)*) => {$(
        impl<T, E: From<Fault>> $pointer<'_, T, E> {
            /// A null pointer.
            pub const fn null() -> Self {
                Self(std::ptr::$null(), PhantomData)
            }

            /// Whether the pointer is null.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }

            /// The address as a number.
            pub fn address(self) -> usize {
                self.0 as usize
            }

            /// Returns [`Fault::Null`] with this argument name if the pointer is null.
            ///
            /// # Errors
            /// [`Fault::Null`] for a null pointer.
            pub fn require_as(self, name: &'static str) -> Result<(), E> {
                if self.is_null() { Err(Fault::Null(name).into()) } else { Ok(()) }
            }
        }
    )*};
}

nullable! {
    Out: null_mut;
    In: null;
}

impl<'a, T, E: From<Fault>> Out<'a, T, E> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// It must be null, or writable for a `T` during `'a`.
    pub const unsafe fn new(place: *mut T) -> Self {
        Self(place, PhantomData)
    }

    /// The raw pointer, to pass to a C function.
    pub const fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Returns [`Fault::Null`] if the pointer is null. Callers use it to check the pointer before they make changes
    /// that an error would have to undo.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn required(self) -> Result<(), E> {
        self.require_as(RESULT)
    }

    /// Writes the result.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn set(self, value: T) -> Result<(), E> {
        self.set_as(value, RESULT)
    }

    /// Writes the result to the argument with this name.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn set_as(self, value: T, name: &'static str) -> Result<(), E> {
        self.require_as(name)?;
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes the result, unless the pointer is null.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the pointer is not null, so it is writable for a `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Writes consecutive results.
    ///
    /// # Safety
    /// There must be room for all of them.
    pub unsafe fn set_all(self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }

    /// Writes all elements of a slice.
    ///
    /// # Safety
    /// The pointer must be null or have room for all elements.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub unsafe fn set_list(self, values: &[T]) -> Result<(), E>
    where
        T: Copy,
    {
        self.required()?;
        let (from, to) = (values.as_ptr().cast::<u8>(), self.0.cast::<u8>());
        // SAFETY: guaranteed by the caller; bytes need no alignment.
        unsafe { to.copy_from_nonoverlapping(from, size_of_val(values)) };
        Ok(())
    }

    /// Reads a value that the caller has written there.
    ///
    /// # Safety
    /// The pointer must be null, or the caller must have written a `T`.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub unsafe fn get(self) -> Result<T, E>
    where
        T: Copy,
    {
        // SAFETY: guaranteed by the caller.
        self.required().map(|()| unsafe { self.0.read_unaligned() })
    }

    /// Converts to a pointer to an argument, for reading.
    ///
    /// # Safety
    /// See [`get`](Self::get).
    pub const unsafe fn read_only(self) -> In<'a, T, E> {
        In(self.0, PhantomData)
    }

    /// Casts the pointer to another type.
    ///
    /// # Safety
    /// The pointer must be null or have room for a `U`.
    pub const unsafe fn cast<U>(self) -> Out<'a, U, E> {
        Out(self.0.cast(), PhantomData)
    }

    /// The pointer to the element `count` places further on.
    ///
    /// # Safety
    /// The pointer must be null or have room for `count + 1` elements.
    pub const unsafe fn offset(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count), PhantomData)
    }
}

impl<'a, T, E: From<Fault>> In<'a, T, E> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// It must be null, or readable as a `T` during `'a`.
    pub const unsafe fn new(place: *const T) -> Self {
        Self(place, PhantomData)
    }

    /// Casts the pointer to another type.
    ///
    /// # Safety
    /// The pointer must be null or readable as a `U`.
    pub const unsafe fn cast<U>(self) -> In<'a, U, E> {
        In(self.0.cast(), PhantomData)
    }
}

impl<'a, T: Copy, E: From<Fault>> In<'a, T, E> {
    /// Reads the value.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn get(self) -> Result<T, E> {
        self.get_as(ARGUMENT)
    }

    /// Reads the value of the argument with this name.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn get_as(self, name: &'static str) -> Result<T, E> {
        // SAFETY: the pointer is not null, so it is readable as a `T`.
        self.require_as(name).map(|()| unsafe { self.0.read_unaligned() })
    }

    /// Reads the value, unless the pointer is null.
    pub fn get_if_given(self) -> Option<T> {
        // SAFETY: the pointer is not null, so it is readable as a `T`.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// Iterates over consecutive elements.
    ///
    /// # Safety
    /// The pointer must be null or readable for `count` elements while the iterator is used.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer and a count above 0.
    pub unsafe fn elements(
        self,
        count: usize,
    ) -> Result<impl Iterator<Item = T> + use<'a, T, E>, E> {
        if count > 0 {
            self.require_as(ARGUMENT)?;
        }
        // SAFETY: guaranteed by the caller.
        Ok((0..count).map(move |index| unsafe { self.0.add(index).read_unaligned() }))
    }
}

impl<'a, E: From<Fault>> Text<'a, E> {
    /// Wraps a string.
    ///
    /// # Safety
    /// It must be null, or NUL-terminated and valid during `'a`.
    pub const unsafe fn new(text: *const c_char) -> Self {
        Self(In(text, PhantomData))
    }

    /// Returns [`Fault::Null`] with this argument name if the pointer is null.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn require_as(self, name: &'static str) -> Result<(), E> {
        self.0.require_as(name)
    }

    /// The string.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn c_str(self) -> Result<&'a CStr, E> {
        self.0.require_as(TEXT)?;
        // SAFETY: the pointer is not null, so the string is NUL-terminated.
        Ok(unsafe { CStr::from_ptr(self.0.0) })
    }

    /// The bytes of the string, without the NUL.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn bytes(self) -> Result<&'a [u8], E> {
        self.c_str().map(CStr::to_bytes)
    }

    /// The string; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// [`Fault::Null`] for a null pointer.
    pub fn get(self) -> Result<String, E> {
        self.c_str().map(|text| text.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Number<'a> = Out<'a, u32, Fault>;

    #[test]
    fn null_pointers_are_errors_with_the_argument_name() {
        assert_eq!(Number::null().set(1), Err(Fault::Null(RESULT)));
        assert_eq!(Number::null().set_as(1, "count"), Err(Fault::Null("count")));
        Number::null().set_if_wanted(1);
        let none = In::<u32, Fault>::null();
        assert_eq!((none.get(), none.get_if_given()), (Err(Fault::Null(ARGUMENT)), None));
        // SAFETY: the pointer is null.
        unsafe {
            assert!(none.elements(1).is_err());
            assert_eq!(none.elements(0).unwrap().count(), 0);
        }
        assert_eq!(Text::<Fault>(In::null()).get(), Err(Fault::Null(TEXT)));
    }

    #[test]
    fn pointers_may_be_unaligned() {
        let mut bytes = [0u8; 13];
        // SAFETY: from its second byte on, the array has room for three numbers.
        unsafe {
            let place = Number::new(bytes.as_mut_ptr().add(1).cast());
            place.set_all([1]);
            place.offset(1).set_list(&[2, 3]).unwrap();
            assert_eq!(place.read_only().elements(3).unwrap().collect::<Vec<_>>(), [1, 2, 3]);
            assert_eq!(place.offset(1).get(), Ok(2));
        }
        assert_eq!(bytes[1], 1);
    }

    #[test]
    fn strings_exclude_their_nul() {
        // SAFETY: the literal is static and NUL-terminated.
        let text = unsafe { Text::<Fault>::new(c"a\xffb".as_ptr()) };
        assert_eq!((text.bytes(), text.get()), (Ok(&b"a\xffb"[..]), Ok("a\u{fffd}b".to_owned())));
    }
}
