//! Attributes of opaque structures, by number, as bytes.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emulated_blas::Rejection;

use crate::ffi::Out;

/// A field of a structure that an attribute stands for.
pub(crate) enum Field<'structure> {
    I8(&'structure mut i8),
    U16(&'structure mut u16),
    I32(&'structure mut i32),
    I64(&'structure mut i64),
    F32(&'structure mut f32),
}

impl Field<'_> {
    fn place(&mut self) -> (*mut u8, usize) {
        match self {
            Self::I8(field) => ((&raw mut **field).cast(), 1),
            Self::U16(field) => ((&raw mut **field).cast(), 2),
            Self::I32(field) => ((&raw mut **field).cast(), 4),
            Self::I64(field) => ((&raw mut **field).cast(), 8),
            Self::F32(field) => ((&raw mut **field).cast(), 4),
        }
    }
}

/// A structure that programs know by a pointer alone. It may lie in memory of theirs
/// (`cublasLt…Init`), so it holds no pointers of ours and fits NVIDIA's size.
///
/// # Safety
/// The first four bytes of the structure are its mark, and all its bytes are plain numbers.
pub(crate) unsafe trait Opaque: Copy {
    /// What it is, in messages.
    const WHAT: &'static str;
    /// The names of its attributes begin with this.
    const PREFIX: &'static str;
    /// Tells it from other memory.
    const MARK: u32;
    /// Bytes that NVIDIA's headers reserve for it, at least.
    const SIZE: usize;

    /// The field of an attribute.
    fn field(&mut self, attribute: c_int) -> Option<Field<'_>>;
}

/// A copy of the structure that a program passes, which may be at any address.
///
/// # Safety
/// A pointer that is not null leads to as many bytes as the structure has.
pub(crate) unsafe fn read<T: Opaque>(pointer: *const T, name: &str) -> Result<T, Rejection> {
    // SAFETY: the caller's promise.
    unsafe {
        check(pointer, name)?;
        Ok(pointer.read_unaligned())
    }
}

/// # Safety
/// As of [`read`], of the mark.
unsafe fn check<T: Opaque>(pointer: *const T, name: &str) -> Result<(), Rejection> {
    if pointer.is_null() {
        return Err(Rejection::invalid(format!("{name} is a null pointer")));
    }
    // SAFETY: the caller's promise.
    if unsafe { pointer.cast::<u32>().read_unaligned() } != T::MARK {
        return Err(Rejection::invalid(format!(
            "{name} is no {}: it was destroyed, or never made",
            T::WHAT
        )));
    }
    Ok(())
}

/// The addresses of the structures that [`create`] made: a program may pass others, with the same mark.
fn created() -> MutexGuard<'static, BTreeSet<usize>> {
    static CREATED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands out a new structure.
pub(crate) fn create<T: Opaque>(
    place: Out<'_, *mut T>,
    value: T,
    name: &'static str,
) -> Result<(), Rejection> {
    place.required_as(name)?;
    let structure = Box::into_raw(Box::new(value));
    created().insert(structure as usize);
    place.set(structure)
}

/// Writes a new structure into memory of the program's.
///
/// # Safety
/// The place is null, or has `size` bytes.
pub(crate) unsafe fn initialise<T: Opaque>(
    place: *mut T,
    size: usize,
    value: T,
    name: &'static str,
) -> Result<(), Rejection> {
    const { assert!(size_of::<T>() <= T::SIZE, "it fits where programs reserve NVIDIA's size") };
    if size < size_of::<T>() {
        return Err(Rejection::invalid(format!(
            "size is {size}: {name} needs {} bytes",
            size_of::<T>()
        )));
    }
    // SAFETY: the caller's promise, and `size` was just checked.
    unsafe { Out::new(place) }.set_as(value, name)
}

/// Frees what [`create`] made.
///
/// # Safety
/// As of [`read`]; nothing else uses the structure.
pub(crate) unsafe fn destroy<T: Opaque>(pointer: *mut T, name: &str) -> Result<(), Rejection> {
    // SAFETY: the caller's promise.
    unsafe { check(pointer, name)? };
    if !created().remove(&(pointer as usize)) {
        return Err(Rejection::invalid(format!(
            "{name} is memory of the program's, which is not to be destroyed: forget it"
        )));
    }
    // SAFETY: it has the mark of its type, `create` made it, and it has not been freed.
    unsafe {
        pointer.cast::<u32>().write(0);
        drop(Box::from_raw(pointer));
    }
    Ok(())
}

/// Sets an attribute.
///
/// # Safety
/// As of [`read`]; the structure is writable, and the buffer, if it is not null, readable for `size` bytes.
pub(crate) unsafe fn set<T: Opaque>(
    pointer: *mut T,
    attribute: c_int,
    buffer: *const c_void,
    size: usize,
    name: &str,
) -> Result<(), Rejection> {
    // SAFETY: the caller's promise.
    let mut copy = unsafe { read(pointer, name)? };
    let (field, own) = place(&mut copy, attribute)?;
    check_buffer::<T>(attribute, buffer.is_null(), size, own)?;
    // SAFETY: both sides have `size` bytes, and the caller's promise.
    unsafe {
        field.copy_from(buffer.cast::<u8>(), size);
        pointer.write_unaligned(copy);
    }
    Ok(())
}

/// Hands out an attribute, or with a size of 0 how many bytes it has.
///
/// # Safety
/// As of [`read`]; the buffer, if it is not null, is writable for `size` bytes.
pub(crate) unsafe fn get<T: Opaque>(
    pointer: *const T,
    attribute: c_int,
    buffer: *mut c_void,
    size: usize,
    written: Out<'_, usize>,
    name: &str,
) -> Result<(), Rejection> {
    // SAFETY: the caller's promise.
    let mut copy = unsafe { read(pointer, name)? };
    let (field, own) = place(&mut copy, attribute)?;
    if size == 0 {
        return written.set_as(own, "sizeWritten");
    }
    check_buffer::<T>(attribute, buffer.is_null(), size, own)?;
    // SAFETY: both sides have `size` bytes, and the caller's promise.
    unsafe { buffer.cast::<u8>().copy_from(field, size) };
    written.set_if_wanted(own);
    Ok(())
}

fn check_buffer<T: Opaque>(
    attribute: c_int,
    is_null: bool,
    size: usize,
    own: usize,
) -> Result<(), Rejection> {
    if is_null {
        return Err(Rejection::invalid("buf is a null pointer"));
    }
    if size == own {
        return Ok(());
    }
    Err(Rejection::invalid(format!(
        "sizeInBytes is {size}: attribute {attribute} of {} has {own} bytes",
        T::PREFIX
    )))
}

fn place<T: Opaque>(value: &mut T, attribute: c_int) -> Result<(*mut u8, usize), Rejection> {
    match value.field(attribute) {
        Some(mut field) => Ok(field.place()),
        None => Err(Rejection::invalid(format!(
            "attr is {attribute}, which the emulated library does not have among {}",
            T::PREFIX
        ))),
    }
}

/// Declares the exported functions that all structures have, which call the structure by a name: two make it, by
/// arguments of its `new`, one frees it, one sets an attribute of it, and one hands an attribute out.
macro_rules! export_structure {
    (
        $structure:ident, $name:literal, new($($argument:ident: $type:ty),*);
        $create:ident, $initialise:ident, $destroy:ident, $set:ident, $get:ident
    ) => {
        c_abi::export! {
            #[doc = concat!("Makes a [`", stringify!($structure), "`].")]
            fn $create(place: $crate::ffi::Out<'_, *mut $structure>, $($argument: $type),*) {
                $crate::attribute::create(place, $structure::new($($argument),*), $name)
            }

            #[doc = concat!("Makes a [`", stringify!($structure), "`] in memory of the program's.")]
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

            /// Hands out an attribute.
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
