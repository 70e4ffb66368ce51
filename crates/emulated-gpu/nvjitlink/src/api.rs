//! The exported functions, as `nvJitLink.h` declares them.
//!
//! The header has a versioned name for each function (`__nvJitLinkCreate_12_4`), which its inline
//! functions with the plain names call. NVIDIA's bindings look up the plain names.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::{Mutex, PoisonError};

use c_abi::Registry;

use crate::link::{Link, Log};
use crate::nvidia;
use crate::status::{Header, In, Out, Result, Status, Text, guard};

/// The handle `nvJitLinkHandle`, which is a number here, not an address.
type Handle = usize;

/// All existing links. A handle that isn't in this registry is refused.
static LINKS: Registry<Mutex<Link>> = Registry::new(0);

/// The version reported if NVIDIA's library isn't used; `lib.rs` explains the choice.
const VERSION: (c_uint, c_uint) = (12, 2);

/// Exports a function under its versioned names.
macro_rules! versions {
    ($function:ident, $body:ident, $arguments:tt, $header:expr, $($version:literal)*) => {$(
        versions!(@one $body, $arguments, $header, concat!("__", stringify!($function), "_", $version));
    )*};
    (@one $body:ident, ($($argument:ident: $type:ty,)*), $header:expr, $name:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported($($argument: $type),*) -> c_int {
                // SAFETY: the caller of the C function guarantees that its arguments are valid.
                guard($header, move || unsafe { $body($($argument),*) })
            }
        };
    };
}

/// Exports functions that return a result, under their plain and their versioned names. `$since`
/// selects the versions that have the function.
macro_rules! export {
    ($(
        $(#[$meta:meta])*
        fn $name:ident = $body:ident($($argument:ident: $type:ty),* $(,)?) $since:ident $work:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// The caller must follow NVIDIA's documentation: every pointer is null or points to an
        /// object of the documented kind.
        unsafe fn $body($($argument: $type),*) -> Result $work

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

fn status_of_missing_link(handle: Handle) -> Status {
    if handle == 0 { Status::NullInput } else { Status::InvalidInput }
}

/// Calls `work` with the link of a handle. Other links can be used at the same time.
fn with_link<T>(handle: Handle, work: impl FnOnce(&mut Link) -> Result<T>) -> Result<T> {
    let link = LINKS.get(handle).ok_or_else(|| status_of_missing_link(handle))?;
    let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut link)
}

fn log(handle: Handle, which: fn(&Link) -> &Log) -> Result<Vec<u8>> {
    with_link(handle, |link| Ok(which(link).bytes()))
}

/// Copies bytes to the caller's buffer. If there are none, the buffer may be null.
///
/// # Safety
/// `to` is null or writable for all the bytes.
unsafe fn copy(bytes: &[u8], to: Out<'_, u8>) -> Result {
    // SAFETY: guaranteed by the caller.
    if bytes.is_empty() { Ok(()) } else { unsafe { to.set_list(bytes) } }
}

/// Marker symbol that lets callers recognise the emulated library; NVIDIA's doesn't have it.
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn emulatedNvJitLink() -> *const c_char {
    c"ptx-emulator".as_ptr()
}

// The requirements on pointers are those in NVIDIA's documentation of each function.
export! {
    /// The version of nvJitLink.
    fn nvJitLinkVersion = version(major: Out<'_, c_uint>, minor: Out<'_, c_uint>) plain {
        major.required()?;
        minor.required()?;
        let nvidias = nvidia::library().ok().flatten().and_then(nvidia::Nvidia::version);
        let version = nvidias.unwrap_or(VERSION);
        major.set(version.0)?;
        minor.set(version.1)
    }

    /// Begins a link. If the options are wrong, it still returns a handle, so that the caller can
    /// read the log.
    fn nvJitLinkCreate = create(
        handle: Out<'_, Handle>,
        count: u32,
        options: In<'_, Text<'_>>,
    ) always {
        handle.required()?;
        // SAFETY: the caller guarantees that there are `count` options.
        let options = unsafe { options.elements(count as usize)? };
        let (link, status) = Link::new(&options.map(Text::get).collect::<Result<Vec<_>>>()?);
        handle.set(LINKS.insert(Mutex::new(link)))?;
        status
    }

    /// Ends a link.
    fn nvJitLinkDestroy = destroy(handle: Out<'_, Handle>) always {
        // SAFETY: the caller guarantees that `handle` points to a handle.
        let number = unsafe { handle.get()? };
        LINKS.remove(number).ok_or_else(|| status_of_missing_link(number))?;
        handle.set(0)
    }

    /// Adds an input from memory. Its name may be null.
    fn nvJitLinkAddData = add_data(
        handle: Handle,
        kind: c_int,
        data: *const u8,
        size: usize,
        name: Text<'_>,
    ) always {
        let name = name.get().unwrap_or_else(|_| "input".to_owned());
        with_link(handle, |link| {
            let bytes = if size == 0 || data.is_null() || isize::try_from(size).is_err() {
                &[]
            } else {
                // SAFETY: the caller guarantees `size` bytes.
                unsafe { std::slice::from_raw_parts(data, size) }
            };
            link.add(kind, bytes, &name)
        })
    }

    /// Adds an input from a file.
    fn nvJitLinkAddFile = add_file(handle: Handle, kind: c_int, path: Text<'_>) always {
        with_link(handle, |link| link.add_file(kind, &path.get()?))
    }

    /// Links all inputs.
    fn nvJitLinkComplete = complete(handle: Handle) always {
        with_link(handle, Link::complete)
    }

    /// The size of the linked image in bytes.
    fn nvJitLinkGetLinkedCubinSize = cubin_size(handle: Handle, size: Out<'_, usize>) always {
        with_link(handle, |link| size.set(link.image()?.len()))
    }

    /// The linked image: a fatbin with PTX.
    fn nvJitLinkGetLinkedCubin = cubin(handle: Handle, image: Out<'_, u8>) always {
        // SAFETY: the buffer has the size that `nvJitLinkGetLinkedCubinSize` returns.
        with_link(handle, |link| unsafe { copy(link.image()?, image) })
    }

    /// The size of the linked PTX in bytes, including the final zero.
    fn nvJitLinkGetLinkedPtxSize = ptx_size(handle: Handle, size: Out<'_, usize>) always {
        with_link(handle, |link| size.set(link.ptx()?.len()))
    }

    /// The linked PTX.
    fn nvJitLinkGetLinkedPtx = ptx(handle: Handle, text: Out<'_, u8>) always {
        // SAFETY: the buffer has the size that `nvJitLinkGetLinkedPtxSize` returns.
        with_link(handle, |link| unsafe { copy(link.ptx()?, text) })
    }

    /// Always fails: linked LTO-IR is not available.
    fn nvJitLinkGetLinkedLTOIRSize = lto_ir_size(handle: Handle, _size: Out<'_, usize>) thirteen {
        with_link(handle, |link| Err(link.lto_ir()))
    }

    /// Always fails: linked LTO-IR is not available.
    fn nvJitLinkGetLinkedLTOIR = lto_ir(handle: Handle, _image: Out<'_, u8>) thirteen {
        with_link(handle, |link| Err(link.lto_ir()))
    }

    /// The size of the error log in bytes, including the final zero; 0 if it is empty.
    fn nvJitLinkGetErrorLogSize = error_log_size(handle: Handle, size: Out<'_, usize>) always {
        size.set(log(handle, Link::error_log)?.len())
    }

    /// The error log.
    fn nvJitLinkGetErrorLog = error_log(handle: Handle, text: Out<'_, u8>) always {
        // SAFETY: the buffer has the size that `nvJitLinkGetErrorLogSize` returns.
        unsafe { copy(&log(handle, Link::error_log)?, text) }
    }

    /// The size of the info log in bytes, including the final zero; 0 if it is empty.
    fn nvJitLinkGetInfoLogSize = info_log_size(handle: Handle, size: Out<'_, usize>) always {
        size.set(log(handle, Link::info_log)?.len())
    }

    /// The info log.
    fn nvJitLinkGetInfoLog = info_log(handle: Handle, text: Out<'_, u8>) always {
        // SAFETY: the buffer has the size that `nvJitLinkGetInfoLogSize` returns.
        unsafe { copy(&log(handle, Link::info_log)?, text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NVIDIA's library on x86 accepts unaligned pointers, too.
    #[test]
    fn pointers_to_arrays_and_results_may_be_unaligned() {
        let options = [c"-arch=sm_80".as_ptr(), c"-O3".as_ptr()];
        let (mut list, mut bytes) = ([0u8; 17], [0u8; 9]);
        let (list, odd) = (list.as_mut_ptr().wrapping_add(1), bytes.as_mut_ptr().wrapping_add(1));
        // SAFETY: from its second byte on, the first array has room for two pointers; the second
        // array has room for a pointer or a number.
        unsafe {
            let (place, size) = (Out::new(odd.cast::<Handle>()), Out::new(odd.cast::<usize>()));
            list.cast::<[*const c_char; 2]>().write_unaligned(options);
            create(place, 2, In::new(list.cast())).unwrap();
            let handle = place.get().unwrap();
            complete(handle).unwrap();
            cubin_size(handle, size).unwrap();
            assert!(size.get().unwrap() > 0);
            place.set(handle).unwrap();
            destroy(place).unwrap();
            assert_eq!(place.get(), Ok(0));
        }
    }
}
