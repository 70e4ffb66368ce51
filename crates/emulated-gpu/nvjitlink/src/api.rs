//! The exported functions, as `nvJitLink.h` declares them.
//!
//! The header has a name for each function and version (`__nvJitLinkCreate_12_4`), which it calls in inline
//! functions under the plain name; NVIDIA's bindings look up the plain ones.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::{Mutex, PoisonError};

use c_abi::Registry;

use crate::link::{Link, Log};
use crate::nvidia;
use crate::status::{Header, In, Out, Result, Status, Text, guard};

/// `nvJitLinkHandle`: a number that is no address.
type Handle = usize;

/// The links that there are; what isn't here is no link, whatever a caller passes.
static LINKS: Registry<Mutex<Link>> = Registry::new(0);

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

fn missing(handle: Handle) -> Status {
    if handle == 0 { Status::NullInput } else { Status::InvalidInput }
}

/// Something of a link of a handle. Others can be linked at the same time.
fn of<T>(handle: Handle, work: impl FnOnce(&mut Link) -> Result<T>) -> Result<T> {
    let link = LINKS.get(handle).ok_or_else(|| missing(handle))?;
    let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut link)
}

fn log(handle: Handle, which: fn(&Link) -> &Log) -> Result<Vec<u8>> {
    of(handle, |link| Ok(which(link).bytes()))
}

/// Copies bytes to where the caller has room for them; where there are none, it need not have any.
///
/// # Safety
/// A place that is not null has room for as many bytes as the function for the size says.
unsafe fn copy(bytes: &[u8], to: Out<'_, u8>) -> Result {
    // SAFETY: the caller's promise.
    if bytes.is_empty() { Ok(()) } else { unsafe { to.set_list(bytes) } }
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
    fn nvJitLinkVersion = version(major: Out<'_, c_uint>, minor: Out<'_, c_uint>) plain {
        major.required()?;
        minor.required()?;
        let nvidias = nvidia::library().ok().flatten().and_then(nvidia::Nvidia::version);
        let version = nvidias.unwrap_or(VERSION);
        major.set(version.0)?;
        minor.set(version.1)
    }

    /// Begins a link. Where the options are wrong, there is a handle all the same, for the log.
    fn nvJitLinkCreate = create(
        handle: Out<'_, Handle>,
        count: u32,
        options: In<'_, Text<'_>>,
    ) always {
        handle.required()?;
        // SAFETY: the caller vouches for as many.
        let options = unsafe { options.elements(count as usize)? };
        let (link, status) = Link::new(&options.map(Text::get).collect::<Result<Vec<_>>>()?);
        handle.set(LINKS.insert(Mutex::new(link)))?;
        status
    }

    /// Ends a link.
    fn nvJitLinkDestroy = destroy(handle: Out<'_, Handle>) always {
        // SAFETY: the caller has a handle there.
        let number = unsafe { handle.get()? };
        LINKS.remove(number).ok_or_else(|| missing(number))?;
        handle.set(0)
    }

    /// Adds what is in memory. It may have no name.
    fn nvJitLinkAddData = add_data(
        handle: Handle,
        kind: c_int,
        data: *const u8,
        size: usize,
        name: Text<'_>,
    ) always {
        let name = name.get().unwrap_or_else(|_| "input".to_owned());
        of(handle, |link| {
            let bytes = if size == 0 || data.is_null() || isize::try_from(size).is_err() {
                &[]
            } else {
                // SAFETY: the caller vouches for as many bytes.
                unsafe { std::slice::from_raw_parts(data, size) }
            };
            link.add(kind, bytes, &name)
        })
    }

    /// Adds what is in a file.
    fn nvJitLinkAddFile = add_file(handle: Handle, kind: c_int, path: Text<'_>) always {
        of(handle, |link| link.add_file(kind, &path.get()?))
    }

    /// Links.
    fn nvJitLinkComplete = complete(handle: Handle) always {
        of(handle, Link::complete)
    }

    /// Bytes of the linked image.
    fn nvJitLinkGetLinkedCubinSize = cubin_size(handle: Handle, size: Out<'_, usize>) always {
        of(handle, |link| size.set(link.image()?.len()))
    }

    /// The linked image: a fatbin with PTX.
    fn nvJitLinkGetLinkedCubin = cubin(handle: Handle, image: Out<'_, u8>) always {
        // SAFETY: the caller has room for as many bytes as the function before says.
        of(handle, |link| unsafe { copy(link.image()?, image) })
    }

    /// Bytes of the linked PTX, its zero among them.
    fn nvJitLinkGetLinkedPtxSize = ptx_size(handle: Handle, size: Out<'_, usize>) always {
        of(handle, |link| size.set(link.ptx()?.len()))
    }

    /// The linked PTX.
    fn nvJitLinkGetLinkedPtx = ptx(handle: Handle, text: Out<'_, u8>) always {
        // SAFETY: the caller has room for as many bytes as the function before says.
        of(handle, |link| unsafe { copy(link.ptx()?, text) })
    }

    /// Refused.
    fn nvJitLinkGetLinkedLTOIRSize = lto_ir_size(handle: Handle, _size: Out<'_, usize>) thirteen {
        of(handle, |link| Err(link.lto_ir()))
    }

    /// Refused.
    fn nvJitLinkGetLinkedLTOIR = lto_ir(handle: Handle, _image: Out<'_, u8>) thirteen {
        of(handle, |link| Err(link.lto_ir()))
    }

    /// Bytes of the log of what went wrong, its zero among them; 0 where nothing was said.
    fn nvJitLinkGetErrorLogSize = error_log_size(handle: Handle, size: Out<'_, usize>) always {
        size.set(log(handle, Link::errors)?.len())
    }

    /// What went wrong.
    fn nvJitLinkGetErrorLog = error_log(handle: Handle, text: Out<'_, u8>) always {
        // SAFETY: the caller has room for as many bytes as the function before says.
        unsafe { copy(&log(handle, Link::errors)?, text) }
    }

    /// Bytes of the log of what else was said, its zero among them; 0 where nothing was.
    fn nvJitLinkGetInfoLogSize = info_log_size(handle: Handle, size: Out<'_, usize>) always {
        size.set(log(handle, Link::infos)?.len())
    }

    /// What else was said.
    fn nvJitLinkGetInfoLog = info_log(handle: Handle, text: Out<'_, u8>) always {
        // SAFETY: the caller has room for as many bytes as the function before says.
        unsafe { copy(&log(handle, Link::infos)?, text) }
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
        // SAFETY: two pointers are inside of the list from its second byte on, and a pointer or a number inside
        // of the other array.
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
