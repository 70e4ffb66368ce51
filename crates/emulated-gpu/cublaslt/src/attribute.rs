//! Opaque structures, and access to their attributes by number.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emulated_blas::{Rejection, Result, reject_if};

use crate::ffi::Out;

/// A structure that programs only access through a pointer. It may be in the program's memory
/// (`cublasLt…Init`), so it must not contain pointers to this library's memory, and fits into the
/// size that NVIDIA reserves.
///
/// # Safety
/// The first four bytes of the structure must be its magic number, and all its bytes plain numbers.
pub(crate) unsafe trait Opaque: Copy {
    /// The structure's description in messages.
    const DESCRIPTION: &'static str;
    /// The prefix of the names of the structure's attributes.
    const ATTRIBUTE_PREFIX: &'static str;
    /// The magic number that identifies the structure.
    const MAGIC: u32;
    /// The minimum number of bytes that NVIDIA's headers reserve for the structure.
    const SIZE: usize;

    /// The address of an attribute's field, and its size in bytes.
    fn field(&mut self, attribute: c_int) -> Option<(*mut u8, usize)>;
}

/// The address of a field, and its size in bytes.
pub(crate) fn field_pointer<T>(field: &mut T) -> Option<(*mut u8, usize)> {
    Some(((&raw mut *field).cast(), size_of::<T>()))
}

/// Declares an [`Opaque`] structure, with its description in messages, the prefix of its
/// attributes' names, its magic number, and the number of bytes that NVIDIA's headers reserve for
/// it. Each field is a number or an array of numbers. A field has an initial value, which may
/// depend on the arguments of `new`, and the numbers of the attributes that it or its elements
/// store. `others` finds further attributes.
macro_rules! opaque {
    (
        $(#[$meta:meta])*
        $name:ident: $what:literal, $prefix:literal, $magic:literal, $size:literal;
        $(#[$new_meta:meta])*
        new($($argument:ident: $argument_type:ty),*);
        others: $others:expr;
        $(
            $(#[$field_meta:meta])*
            $visibility:vis $field:ident: $type:ty = $value:expr $(, $attribute:literal)?
            $(, [$($of_element:literal),*])?;
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        pub(crate) struct $name {
            magic: u32,
            $($(#[$field_meta])* $visibility $field: $type,)*
        }

        // SAFETY: the magic number is the first field, and all fields are numbers.
        unsafe impl $crate::attribute::Opaque for $name {
            const DESCRIPTION: &'static str = $what;
            const ATTRIBUTE_PREFIX: &'static str = $prefix;
            const MAGIC: u32 = u32::from_be_bytes(*$magic);
            const SIZE: usize = $size;

            fn field(&mut self, attribute: std::ffi::c_int) -> Option<(*mut u8, usize)> {
                $(
                    $(if attribute == $attribute {
                        return $crate::attribute::field_pointer(&mut self.$field);
                    })?
                    $(if let Some(index) = [$($of_element),*].iter().position(|own| *own == attribute) {
                        return $crate::attribute::field_pointer(&mut self.$field[index]);
                    })?
                )*
                let others: fn(&mut Self, std::ffi::c_int) -> Option<(*mut u8, usize)> = $others;
                others(self, attribute)
            }
        }

        impl $name {
            $(#[$new_meta])*
            pub(crate) fn new($($argument: $argument_type),*) -> Self {
                Self { magic: <Self as $crate::attribute::Opaque>::MAGIC, $($field: $value),* }
            }
        }
    };
}
pub(crate) use opaque;

/// Copies a structure that a program passes by address; the address may be unaligned.
///
/// # Safety
/// A non-null pointer must point to as many readable bytes as the structure has.
pub(crate) unsafe fn read<T: Opaque>(pointer: *const T, name: &str) -> Result<T> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        check(pointer, name)?;
        Ok(pointer.read_unaligned())
    }
}

/// # Safety
/// See [`read`]; only the magic number must be readable.
unsafe fn check<T: Opaque>(pointer: *const T, name: &str) -> Result {
    reject_if!(pointer.is_null(), invalid, "{name} is a null pointer");
    // SAFETY: guaranteed by the caller.
    if unsafe { pointer.cast::<u32>().read_unaligned() } != T::MAGIC {
        return Err(Rejection::invalid(format!(
            "{name} is not a {}: it was destroyed, or never created",
            T::DESCRIPTION
        )));
    }
    Ok(())
}

/// The addresses of the structures that [`create`] allocated. A program may also pass copies, which
/// have the same magic number.
fn created_structures() -> MutexGuard<'static, BTreeSet<usize>> {
    static CREATED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates a structure, and writes its address to `place`.
pub(crate) fn create<T: Opaque>(place: Out<'_, *mut T>, value: T, name: &'static str) -> Result {
    place.require_as(name)?;
    let structure = Box::into_raw(Box::new(value));
    created_structures().insert(structure as usize);
    place.set(structure)
}

/// Initialises a structure in the program's memory.
///
/// # Safety
/// `place` must be null or have `size` writable bytes.
pub(crate) unsafe fn initialise<T: Opaque>(
    place: *mut T,
    size: usize,
    value: T,
    name: &'static str,
) -> Result {
    const { assert!(size_of::<T>() <= T::SIZE, "the structure fits into the size that NVIDIA reserves") };
    if size < size_of::<T>() {
        return Err(Rejection::invalid(format!(
            "size is {size}: {name} needs {} bytes",
            size_of::<T>()
        )));
    }
    // SAFETY: `place` is writable, as the caller promises, and `size` was just checked.
    unsafe { Out::new(place) }.set_as(value, name)
}

/// Frees a structure that [`create`] allocated.
///
/// # Safety
/// See [`read`]; nothing else may use the structure.
pub(crate) unsafe fn destroy<T: Opaque>(pointer: *mut T, name: &str) -> Result {
    // SAFETY: guaranteed by the caller.
    unsafe { check(pointer, name)? };
    if !created_structures().remove(&(pointer as usize)) {
        return Err(Rejection::invalid(format!(
            "{name} is in the program's memory and must not be destroyed"
        )));
    }
    // SAFETY: the structure has the magic number of its type, `create` allocated it, and it has not
    // been freed.
    unsafe {
        pointer.cast::<u32>().write(0);
        drop(Box::from_raw(pointer));
    }
    Ok(())
}

/// Sets an attribute.
///
/// # Safety
/// See [`read`]; the structure must be writable, and a non-null buffer readable for `size` bytes.
pub(crate) unsafe fn set<T: Opaque>(
    pointer: *mut T,
    attribute: c_int,
    buffer: *const c_void,
    size: usize,
    name: &str,
) -> Result {
    // SAFETY: guaranteed by the caller.
    let mut copy = unsafe { read(pointer, name)? };
    let (field, field_size) = attribute_field(&mut copy, attribute)?;
    check_buffer::<T>(attribute, buffer.is_null(), size, field_size)?;
    // SAFETY: the field and the buffer have `size` bytes, and the buffer is readable, as the caller
    // promises.
    unsafe {
        field.copy_from(buffer.cast::<u8>(), size);
        pointer.write_unaligned(copy);
    }
    Ok(())
}

/// Returns an attribute or, if `size` is 0, only its size in bytes.
///
/// # Safety
/// See [`read`]; a non-null buffer must be writable for `size` bytes.
pub(crate) unsafe fn get<T: Opaque>(
    pointer: *const T,
    attribute: c_int,
    buffer: *mut c_void,
    size: usize,
    written: Out<'_, usize>,
    name: &str,
) -> Result {
    // SAFETY: guaranteed by the caller.
    let mut copy = unsafe { read(pointer, name)? };
    let (field, field_size) = attribute_field(&mut copy, attribute)?;
    if size == 0 {
        return written.set_as(field_size, "sizeWritten");
    }
    check_buffer::<T>(attribute, buffer.is_null(), size, field_size)?;
    // SAFETY: the field and the buffer have `size` bytes, and the buffer is writable, as the caller
    // promises.
    unsafe { buffer.cast::<u8>().copy_from(field, size) };
    written.set_if_wanted(field_size);
    Ok(())
}

fn check_buffer<T: Opaque>(
    attribute: c_int,
    is_null: bool,
    size: usize,
    field_size: usize,
) -> Result {
    reject_if!(is_null, invalid, "buf is a null pointer");
    if size == field_size {
        return Ok(());
    }
    Err(Rejection::invalid(format!(
        "sizeInBytes is {size}: attribute {attribute} of {} has {field_size} bytes",
        T::ATTRIBUTE_PREFIX
    )))
}

fn attribute_field<T: Opaque>(value: &mut T, attribute: c_int) -> Result<(*mut u8, usize)> {
    value.field(attribute).ok_or_else(|| {
        Rejection::invalid(format!(
            "attr is {attribute}, which the emulated library does not support among {}",
            T::ATTRIBUTE_PREFIX
        ))
    })
}

/// Declares the exported functions of a structure: two to create it with the arguments of `new`,
/// one to free it, one to set an attribute, and one to return an attribute. `$name` is the
/// structure's name in messages.
macro_rules! export_structure {
    (
        $structure:ident, $name:literal, new($($argument:ident: $type:ty),*);
        $create:ident, $initialise:ident, $destroy:ident, $set:ident, $get:ident
    ) => {
        c_abi::export! {
            #[doc = concat!("Creates a [`", stringify!($structure), "`].")]
            fn $create(place: $crate::ffi::Out<'_, *mut $structure>, $($argument: $type),*) {
                $crate::attribute::create(place, $structure::new($($argument),*), $name)
            }

            #[doc = concat!("Creates a [`", stringify!($structure), "`] in the program's memory.")]
            fn $initialise(place: *mut $structure, size: usize, $($argument: $type),*) {
                $crate::attribute::initialise(place, size, $structure::new($($argument),*), $name)
            }

            #[doc = concat!("Frees a [`", stringify!($structure), "`].")]
            fn $destroy(structure: *mut $structure) {
                if structure.is_null() {
                    return Ok(());
                }
                $crate::attribute::destroy(structure, $name)
            }

            /// Sets an attribute.
            fn $set(
                structure: *mut $structure,
                attr: std::ffi::c_int,
                buf: *const std::ffi::c_void,
                size: usize,
            ) {
                $crate::attribute::set(structure, attr, buf, size, $name)
            }

            /// Returns an attribute.
            fn $get(
                structure: *const $structure,
                attr: std::ffi::c_int,
                buf: *mut std::ffi::c_void,
                size: usize,
                written: $crate::ffi::Out<'_, usize>,
            ) {
                $crate::attribute::get(structure, attr, buf, size, written, $name)
            }
        }
    };
}
pub(crate) use export_structure;
