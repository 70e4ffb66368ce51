//! Functions of NVIDIA's own library, whose file an environment variable names.

use std::ffi::{c_int, c_void};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Loads the library that an environment variable names; `None` if the variable is unset or empty. An emulated library
/// is detected by its function `emulated_only`, which NVIDIA's lacks, and rejected.
///
/// # Errors
/// If the library can't be loaded, or is an emulated one. The message names the variable, the file and the reason; the
/// caller adds the remedy.
pub fn load_named<T>(
    variable: &str,
    emulated_only: &str,
    find: impl FnOnce(Library) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some(file) = std::env::var_os(variable).filter(|file| !file.is_empty()) else {
        return Ok(None);
    };
    // SAFETY: the user who sets the variable asserts that the file is NVIDIA's library.
    let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) };
    let functions = library.map_err(|error| error.to_string()).and_then(|library| {
        // SAFETY: the symbol is only looked up, not called.
        if unsafe { library.get::<unsafe extern "C" fn()>(emulated_only) }.is_ok() {
            return Err("that is this library itself".to_owned());
        }
        find(library)
    });
    functions.map(Some).map_err(|why| format!("{variable} names {}: {why}", file.display()))
}

/// Declares a struct of function pointers into NVIDIA's library, with a constructor `find` that looks them up.
/// Functions listed in `optional` may be missing.
#[macro_export]
macro_rules! nvidia_functions {
    (
        $(#[$meta:meta])*
        struct $name:ident;
        required { $($field:ident = $symbol:ident($($type:ty),*);)* }
        optional { $($other:ident = $other_symbol:ident($($other_type:ty),*);)* }
    ) => {
        $(#[$meta])*
        pub(crate) struct $name {
            $(pub(crate) $field: unsafe extern "C" fn($($type),*) -> std::ffi::c_int,)*
            $(pub(crate) $other: Option<unsafe extern "C" fn($($other_type),*) -> std::ffi::c_int>,)*
            /// Keeps the library loaded, so that the function pointers stay valid.
            _library: $crate::Library,
        }

        impl $name {
            /// # Errors
            /// If a function is missing. The error is its name.
            fn find(library: $crate::Library) -> std::result::Result<Self, String> {
                let missing = |name: &str| format!("it has no {name}");
                Ok(Self {
                    // SAFETY: the types are from NVIDIA's header.
                    $($field: unsafe { library.get(stringify!($symbol)) }
                        .map(|symbol| *symbol)
                        .map_err(|_| missing(stringify!($symbol)))?,)*
                    // SAFETY: the types are from NVIDIA's header.
                    $($other: unsafe { library.get(stringify!($other_symbol)) }
                        .map(|symbol| *symbol)
                        .ok(),)*
                    _library: library,
                })
            }
        }
    };
}

/// A pair of functions that read bytes of an object: the first returns their number, the second copies them.
pub type SizeAndCopy = (
    unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
    unsafe extern "C" fn(*mut c_void, *mut u8) -> c_int,
);

/// An object of NVIDIA's library, destroyed on drop.
#[derive(Debug)]
pub struct NvidiaObject {
    /// The handle; null until the object has been created.
    pub handle: *mut c_void,
    destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
}

impl NvidiaObject {
    /// An object with a null handle, which the caller then sets.
    ///
    /// # Safety
    /// `destroy` must accept the handles that are then stored in `handle`.
    #[must_use]
    pub const unsafe fn new(destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int) -> Self {
        Self { handle: std::ptr::null_mut(), destroy }
    }

    /// Bytes of the object; `None` if the library returns an error or the host is out of memory.
    ///
    /// # Safety
    /// The functions must belong to the object's library and to its type.
    #[must_use]
    pub unsafe fn bytes(&self, (size_of, copy): SizeAndCopy) -> Option<Vec<u8>> {
        let (mut size, mut bytes) = (0, Vec::new());
        // SAFETY: guaranteed by the caller; `size` is a valid place for the result.
        let status = unsafe { size_of(self.handle, &raw mut size) };
        if status != 0 || bytes.try_reserve_exact(size).is_err() {
            return None;
        }
        bytes.resize(size, 0u8);
        // SAFETY: guaranteed by the caller; the vector has as many bytes as the library needs.
        let copied = unsafe { copy(self.handle, bytes.as_mut_ptr()) };
        (copied == 0).then_some(bytes)
    }
}

impl Drop for NvidiaObject {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: `new` requires that `destroy` fits the handle, which is destroyed only here.
            unsafe { (self.destroy)(&raw mut self.handle) };
        }
    }
}
