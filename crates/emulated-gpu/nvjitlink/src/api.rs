//! The exported functions, as `nvJitLink.h` declares them.
//!
//! The header has a name for each function and version (`__nvJitLinkCreate_12_4`), which it calls in inline
//! functions under the plain name; NVIDIA's bindings look up the plain ones.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::link::{Link, Log};
use crate::nvidia;
use crate::registry;
use crate::status::{Header, Status, guard};

/// `nvJitLinkHandle`: a number that is no address.
type Handle = *mut c_void;

/// The version of nvJitLink that this says it is where NVIDIA's isn't behind it: see `lib.rs`.
const VERSION: (c_uint, c_uint) = (12, 2);

/// Exports a function under the names of versions.
macro_rules! versions {
    ($function:ident, $body:ident, $arguments:tt, $header:expr, $($version:literal)*) => {$(
        versions!(@one $body, $arguments, $header, concat!("__", stringify!($function), "_", $version));
    )*};
    (@one $body:ident, ($($argument:ident: $type:ty,)*), $header:expr, $name:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported($($argument: $type),*) -> c_int {
                // SAFETY: the caller of the C function vouches for its arguments.
                guard($header, move || unsafe { $body($($argument),*) })
            }
        };
    };
}

/// Exports functions that return a result: under their names, and under those of the versions that have
/// them, which are in the first line for each.
macro_rules! export {
    ($(
        $(#[$meta:meta])*
        fn $name:ident = $body:ident($($argument:ident: $type:ty),* $(,)?) $since:ident $work:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function has it: pointers lead to what they are said to lead to, or
        /// are null.
        #[allow(unused_unsafe, reason = "not every function has pointers")]
        unsafe fn $body($($argument: $type),*) -> Result<(), Status> {
            // SAFETY: the caller's promise.
            unsafe { $work }
        }

        versions!(@one $body, ($($argument: $type,)*), Header::Twelve, stringify!($name));
        export!(@$since $name, $body, ($($argument: $type,)*));
    )*};
    (@always $name:ident, $body:ident, $arguments:tt) => {
        versions!($name, $body, $arguments, Header::Twelve,
            "12_0" "12_1" "12_2" "12_3" "12_4" "12_5" "12_6" "12_7" "12_8" "12_9");
        export!(@thirteen $name, $body, $arguments);
    };
    (@thirteen $name:ident, $body:ident, $arguments:tt) => {
        versions!($name, $body, $arguments, Header::Thirteen,
            "13_0" "13_1" "13_2" "13_3" "13_4" "13_5");
    };
    (@plain $name:ident, $body:ident, $arguments:tt) => {};
}

/// Writes to where the caller wants a result, at any address.
///
/// # Safety
/// A place that is not null is writable.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::NullInput);
    }
    // SAFETY: the caller's promise.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// A C string of the caller.
///
/// # Safety
/// A pointer that is not null leads to a text that ends in a zero.
unsafe fn string(from: *const c_char) -> Result<String, Status> {
    if from.is_null() {
        return Err(Status::NullInput);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
}

/// Copies bytes to where the caller has room for them.
///
/// # Safety
/// A place that is not null has room for as many bytes as the function for the size says.
unsafe fn copy(bytes: &[u8], to: *mut u8) -> Result<(), Status> {
    if bytes.is_empty() {
        return Ok(());
    }
    if to.is_null() {
        return Err(Status::NullInput);
    }
    // SAFETY: the caller's promise.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Something of a link of a handle.
fn of<T>(handle: Handle, work: impl FnOnce(&mut Link) -> Result<T, Status>) -> Result<T, Status> {
    registry::with(handle as usize, work)
}

fn log(handle: Handle, which: fn(&Link) -> &Log) -> Result<Vec<u8>, Status> {
    of(handle, |link| Ok(which(link).bytes()))
}

/// By this function, which NVIDIA's library doesn't have, it is known for what it is.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn emulatedNvJitLink() -> *const c_char {
    c"ptx-emulator".as_ptr()
}

// Of each, NVIDIA's documentation says what its pointers have to lead to.
export! {
    /// The version.
    fn nvJitLinkVersion = version(major: *mut c_uint, minor: *mut c_uint) plain {
        if major.is_null() || minor.is_null() {
            return Err(Status::NullInput);
        }
        let nvidias = nvidia::library().ok().flatten().and_then(nvidia::Nvidia::version);
        let version = nvidias.unwrap_or(VERSION);
        put(major, version.0)?;
        put(minor, version.1)
    }

    /// Begins a link. Where the options are wrong, there is a handle all the same, for the log.
    fn nvJitLinkCreate = create(
        handle: *mut Handle,
        count: u32,
        options: *const *const c_char,
    ) always {
        if handle.is_null() || (count > 0 && options.is_null()) {
            return Err(Status::NullInput);
        }
        let options =
            (0..count as usize).map(|index| string(options.add(index).read_unaligned()));
        let (link, status) = Link::new(&options.collect::<Result<Vec<_>, _>>()?);
        put(handle, registry::keep(link) as Handle)?;
        status
    }

    /// Ends a link.
    fn nvJitLinkDestroy = destroy(handle: *mut Handle) always {
        if handle.is_null() {
            return Err(Status::NullInput);
        }
        registry::forget(handle.read_unaligned() as usize)?;
        put(handle, std::ptr::null_mut())
    }

    /// Adds what is in memory. It may have no name.
    fn nvJitLinkAddData = add_data(
        handle: Handle,
        kind: c_int,
        data: *const u8,
        size: usize,
        name: *const c_char,
    ) always {
        let name = string(name).unwrap_or_else(|_| "input".to_owned());
        of(handle, |link| {
            let bytes = if size == 0 || data.is_null() || isize::try_from(size).is_err() {
                &[]
            } else {
                std::slice::from_raw_parts(data, size)
            };
            link.add(kind, bytes, &name)
        })
    }

    /// Adds what is in a file.
    fn nvJitLinkAddFile = add_file(handle: Handle, kind: c_int, path: *const c_char) always {
        of(handle, |link| link.add_file(kind, &string(path)?))
    }

    /// Links.
    fn nvJitLinkComplete = complete(handle: Handle) always {
        of(handle, Link::complete)
    }

    /// Bytes of the linked image.
    fn nvJitLinkGetLinkedCubinSize = cubin_size(handle: Handle, size: *mut usize) always {
        of(handle, |link| put(size, link.image()?.len()))
    }

    /// The linked image: a fatbin with PTX.
    fn nvJitLinkGetLinkedCubin = cubin(handle: Handle, image: *mut u8) always {
        of(handle, |link| copy(link.image()?, image))
    }

    /// Bytes of the linked PTX, its zero among them.
    fn nvJitLinkGetLinkedPtxSize = ptx_size(handle: Handle, size: *mut usize) always {
        of(handle, |link| put(size, link.ptx()?.len()))
    }

    /// The linked PTX.
    fn nvJitLinkGetLinkedPtx = ptx(handle: Handle, text: *mut u8) always {
        of(handle, |link| copy(link.ptx()?, text))
    }

    /// Refused.
    fn nvJitLinkGetLinkedLTOIRSize = lto_ir_size(handle: Handle, _size: *mut usize) thirteen {
        of(handle, |link| Err(link.lto_ir()))
    }

    /// Refused.
    fn nvJitLinkGetLinkedLTOIR = lto_ir(handle: Handle, _image: *mut u8) thirteen {
        of(handle, |link| Err(link.lto_ir()))
    }

    /// Bytes of the log of what went wrong, its zero among them; 0 where nothing was said.
    fn nvJitLinkGetErrorLogSize = error_log_size(handle: Handle, size: *mut usize) always {
        put(size, log(handle, Link::errors)?.len())
    }

    /// What went wrong.
    fn nvJitLinkGetErrorLog = error_log(handle: Handle, text: *mut u8) always {
        copy(&log(handle, Link::errors)?, text)
    }

    /// Bytes of the log of what else was said, its zero among them; 0 where nothing was.
    fn nvJitLinkGetInfoLogSize = info_log_size(handle: Handle, size: *mut usize) always {
        put(size, log(handle, Link::infos)?.len())
    }

    /// What else was said.
    fn nvJitLinkGetInfoLog = info_log(handle: Handle, text: *mut u8) always {
        copy(&log(handle, Link::infos)?, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NVIDIA's library on x86 takes them.
    #[test]
    fn arrays_and_results_may_be_at_odd_addresses() {
        let options = [c"-arch=sm_80".as_ptr(), c"-O3".as_ptr()];
        let (mut list, mut bytes) = ([0u8; 17], [0u8; 9]);
        let (list, odd) = (list.as_mut_ptr().wrapping_add(1), bytes.as_mut_ptr().wrapping_add(1));
        let place: *mut Handle = odd.cast();
        // SAFETY: two pointers are inside of the list from its second byte on, and a pointer or a number inside
        // of the other array.
        unsafe {
            list.cast::<[*const c_char; 2]>().write_unaligned(options);
            create(place, 2, list.cast()).unwrap();
            let handle = place.read_unaligned();
            complete(handle).unwrap();
            cubin_size(handle, odd.cast()).unwrap();
            assert!(odd.cast::<usize>().read_unaligned() > 0);
            place.write_unaligned(handle);
            destroy(place).unwrap();
            assert!(place.read_unaligned().is_null());
        }
    }
}
