//! The caller's pointers, as arguments of exported functions.
//!
//! A value of these types is a promise: it is null, or leads to what its type says, aligned or not, while `'a` lasts.
//! C makes them, in its call of an exported function, whose caller vouches for them; in Rust, only functions that
//! are `unsafe` do. `E` is the library's error. A null pointer is [`Fault::Null`], of the argument of that name
//! where the name is given.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use crate::Fault;

const RESULT: &str = "a pointer for the result";
const ARGUMENT: &str = "a pointer to an argument";
const TEXT: &str = "a text";

/// Where a result is written: null, or at room for a `T`.
#[repr(transparent)]
pub struct Out<'a, T, E>(*mut T, PhantomData<(&'a (), E)>);

/// What is read: null, or a `T`.
#[repr(transparent)]
pub struct In<'a, T, E>(*const T, PhantomData<(&'a (), E)>);

/// A text: null, or it ends in NUL.
#[repr(transparent)]
pub struct Text<'a, E>(In<'a, c_char, E>);

macro_rules! copied {
    ($($pointer:ident<$($parameter:ident),*>),*) => {$(
        impl<$($parameter),*> Clone for $pointer<'_, $($parameter),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameter),*> Copy for $pointer<'_, $($parameter),*> {}
    )*};
}

copied!(Out<T, E>, In<T, E>, Text<E>);

macro_rules! nullable {
    ($($pointer:ident: $null:ident;)*) => {$(
        impl<T, E: From<Fault>> $pointer<'_, T, E> {
            /// A null pointer.
            pub const fn null() -> Self {
                Self(std::ptr::$null(), PhantomData)
            }

            /// Whether it is null.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }

            /// Its address.
            pub fn address(self) -> usize {
                self.0 as usize
            }

            /// Checks that the argument of that name is there.
            ///
            /// # Errors
            /// [`Fault::Null`]
            pub fn required_as(self, name: &'static str) -> Result<(), E> {
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
    /// A place.
    ///
    /// # Safety
    /// It is null, or writable for a `T` while `'a` lasts.
    pub const unsafe fn new(place: *mut T) -> Self {
        Self(place, PhantomData)
    }

    /// The pointer itself, for functions of C's.
    pub const fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Checks the pointer, before anything is done that would need undoing.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn required(self) -> Result<(), E> {
        self.required_as(RESULT)
    }

    /// Writes the result.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn set(self, value: T) -> Result<(), E> {
        self.set_as(value, RESULT)
    }

    /// Writes the result to the argument of that name.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn set_as(self, value: T, name: &'static str) -> Result<(), E> {
        self.required_as(name)?;
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes the result, unless the pointer is null.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: it is not null, so there is room for a `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Writes results one after another.
    ///
    /// # Safety
    /// There is room for as many.
    pub unsafe fn set_all(self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }

    /// Writes a list.
    ///
    /// # Safety
    /// Unless the pointer is null, there is room for as many.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub unsafe fn set_list(self, values: &[T]) -> Result<(), E>
    where
        T: Copy,
    {
        self.required()?;
        let (from, to) = (values.as_ptr().cast::<u8>(), self.0.cast::<u8>());
        // SAFETY: the caller's promise; bytes are aligned anywhere.
        unsafe { to.copy_from_nonoverlapping(from, size_of_val(values)) };
        Ok(())
    }

    /// What the caller has written there.
    ///
    /// # Safety
    /// Unless the pointer is null, the caller has written a `T`.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub unsafe fn get(self) -> Result<T, E>
    where
        T: Copy,
    {
        // SAFETY: the caller's promise.
        self.required().map(|()| unsafe { self.0.read_unaligned() })
    }

    /// The same place, to be read.
    ///
    /// # Safety
    /// As of [`get`](Self::get).
    pub const unsafe fn read_only(self) -> In<'a, T, E> {
        In(self.0, PhantomData)
    }

    /// The same place, for something of another type.
    ///
    /// # Safety
    /// Unless it is null, there is room for a `U`.
    pub const unsafe fn cast<U>(self) -> Out<'a, U, E> {
        Out(self.0.cast(), PhantomData)
    }

    /// The place `count` elements further.
    ///
    /// # Safety
    /// Unless it is null, there is room for as many, and one more.
    pub const unsafe fn offset(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count), PhantomData)
    }
}

impl<'a, T, E: From<Fault>> In<'a, T, E> {
    /// A place.
    ///
    /// # Safety
    /// It is null, or a `T` is there while `'a` lasts.
    pub const unsafe fn new(place: *const T) -> Self {
        Self(place, PhantomData)
    }

    /// The same place, as something of another type.
    ///
    /// # Safety
    /// Unless it is null, a `U` is there.
    pub const unsafe fn cast<U>(self) -> In<'a, U, E> {
        In(self.0.cast(), PhantomData)
    }
}

impl<'a, T: Copy, E: From<Fault>> In<'a, T, E> {
    /// What is there.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn get(self) -> Result<T, E> {
        self.get_as(ARGUMENT)
    }

    /// What is there, at the argument of that name.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn get_as(self, name: &'static str) -> Result<T, E> {
        // SAFETY: it is not null, so a `T` is there.
        self.required_as(name).map(|()| unsafe { self.0.read_unaligned() })
    }

    /// What is there, unless the pointer is null.
    pub fn get_if_given(self) -> Option<T> {
        // SAFETY: it is not null, so a `T` is there.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// As many elements, one after another.
    ///
    /// # Safety
    /// Unless it is null, there are as many while the iterator is used.
    ///
    /// # Errors
    /// [`Fault::Null`] if it is null and there are to be some.
    pub unsafe fn elements(
        self,
        count: usize,
    ) -> Result<impl Iterator<Item = T> + use<'a, T, E>, E> {
        if count > 0 {
            self.required_as(ARGUMENT)?;
        }
        // SAFETY: the caller's promise.
        Ok((0..count).map(move |index| unsafe { self.0.add(index).read_unaligned() }))
    }
}

impl<'a, E: From<Fault>> Text<'a, E> {
    /// A text.
    ///
    /// # Safety
    /// It is null, or ends in NUL, while `'a` lasts.
    pub const unsafe fn new(text: *const c_char) -> Self {
        Self(In(text, PhantomData))
    }

    /// Checks that the argument of that name is there.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn required_as(self, name: &'static str) -> Result<(), E> {
        self.0.required_as(name)
    }

    /// The text.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn c_str(self) -> Result<&'a CStr, E> {
        self.0.required_as(TEXT)?;
        // SAFETY: it is not null, so it ends in NUL.
        Ok(unsafe { CStr::from_ptr(self.0.0) })
    }

    /// Its bytes, without the NUL.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn bytes(self) -> Result<&'a [u8], E> {
        self.c_str().map(CStr::to_bytes)
    }

    /// The text as a string; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// [`Fault::Null`]
    pub fn get(self) -> Result<String, E> {
        self.c_str().map(|text| text.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Number<'a> = Out<'a, u32, Fault>;

    #[test]
    fn a_null_pointer_is_an_error_that_names_it() {
        assert_eq!(Number::null().set(1), Err(Fault::Null(RESULT)));
        assert_eq!(Number::null().set_as(1, "count"), Err(Fault::Null("count")));
        Number::null().set_if_wanted(1);
        let none = In::<u32, Fault>::null();
        assert_eq!((none.get(), none.get_if_given()), (Err(Fault::Null(ARGUMENT)), None));
        // SAFETY: null.
        unsafe {
            assert!(none.elements(1).is_err());
            assert_eq!(none.elements(0).unwrap().count(), 0);
        }
        assert_eq!(Text::<Fault>(In::null()).get(), Err(Fault::Null(TEXT)));
    }

    #[test]
    fn pointers_may_be_unaligned() {
        let mut bytes = [0u8; 13];
        // SAFETY: three numbers are inside of the array from its second byte on.
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
    fn a_text_ends_before_its_nul() {
        // SAFETY: it lives, and ends in NUL.
        let text = unsafe { Text::<Fault>::new(c"a\xffb".as_ptr()) };
        assert_eq!((text.bytes(), text.get()), (Ok(&b"a\xffb"[..]), Ok("a\u{fffd}b".to_owned())));
    }
}
