//! NVIDIA's own library, where the environment names its file.

use std::ffi::{c_int, c_void};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Loads the library that a variable of the environment names; `None` where it names none. An emulated library is
/// known by a function `own` that NVIDIA's doesn't have, and refused.
///
/// # Errors
/// The variable, the file, and why it can't serve; without what to do instead.
pub fn load_named<T>(
    variable: &str,
    own: &str,
    find: impl FnOnce(Library) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some(file) = std::env::var_os(variable).filter(|file| !file.is_empty()) else {
        return Ok(None);
    };
    // SAFETY: whoever names the file says that it is NVIDIA's.
    let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) };
    let found = library.map_err(|error| error.to_string()).and_then(|library| {
        // SAFETY: it is only looked for.
        if unsafe { library.get::<unsafe extern "C" fn()>(own) }.is_ok() {
            return Err("that is this library itself".to_owned());
        }
        find(library)
    });
    found.map(Some).map_err(|why| format!("{variable} names {}: {why}", file.display()))
}

/// Declares a structure of functions of NVIDIA's library, and its `find`, which looks them up. Those in `optional`
/// may be missing.
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
            /// The functions are its own.
            _library: $crate::Library,
        }

        impl $name {
            /// # Errors
            /// Which function is missing.
            fn find(library: $crate::Library) -> std::result::Result<Self, String> {
                let missing = |name: &str| format!("it has no {name}");
                Ok(Self {
                    // SAFETY: the types are those of NVIDIA's header.
                    $($field: unsafe { library.get(stringify!($symbol)) }
                        .map(|symbol| *symbol)
                        .map_err(|_| missing(stringify!($symbol)))?,)*
                    // SAFETY: as above.
                    $($other: unsafe { library.get(stringify!($other_symbol)) }
                        .map(|symbol| *symbol)
                        .ok(),)*
                    _library: library,
                })
            }
        }
    };
}

/// Two functions that hand out bytes of an object: one says how many, the other copies them.
pub type Part = (
    unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
    unsafe extern "C" fn(*mut c_void, *mut u8) -> c_int,
);

/// An object of NVIDIA's library, which is destroyed with this value.
#[derive(Debug)]
pub struct Object {
    /// Null where none was made.
    pub handle: *mut c_void,
    destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
}

impl Object {
    /// None yet.
    ///
    /// # Safety
    /// `destroy` takes what is then put into `handle`.
    #[must_use]
    pub const unsafe fn new(destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int) -> Self {
        Self { handle: std::ptr::null_mut(), destroy }
    }

    /// Bytes of it; `None` where it has none to give, or the host has no memory for them.
    ///
    /// # Safety
    /// The functions are of the object's library, for its kind.
    #[must_use]
    pub unsafe fn bytes(&self, (size_of, copy): Part) -> Option<Vec<u8>> {
        let (mut size, mut bytes) = (0, Vec::new());
        // SAFETY: the caller's promise, and a place for the result.
        let status = unsafe { size_of(self.handle, &raw mut size) };
        if status != 0 || bytes.try_reserve_exact(size).is_err() {
            return None;
        }
        bytes.resize(size, 0u8);
        // SAFETY: the caller's promise, and there is room for as many bytes as it said.
        let copied = unsafe { copy(self.handle, bytes.as_mut_ptr()) };
        (copied == 0).then_some(bytes)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: by `new`, an object of that library, which lives, once.
            unsafe { (self.destroy)(&raw mut self.handle) };
        }
    }
}
