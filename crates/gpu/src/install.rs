//! Makes a shared library the one that cudarc opens, before cudarc asks for it: it panics where
//! there is none.
#![allow(unsafe_code, reason = "loading a library runs its initialisers")]

use std::ffi::{c_int, c_uint};
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::library::{candidates, passed_over, reason};
use crate::{GpuError, Result};

/// Loads an emulated library. Its SONAME is the plain one, `libcuda.so`, so glibc answers the next
/// `dlopen` of that name, which is cudarc's first, with it, even where a real one is installed.
///
/// # Errors
/// What the loader says.
///
/// # Safety
/// The library's initialisers may run in any process, and its functions have the types that cudarc
/// gives those of the library that it stands in for.
pub(crate) unsafe fn emulated(path: &Path) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe { load(path) }.map_err(|reason| GpuError::NoEmulator { reason })
}

/// Asks the emulated driver, which is loaded and not initialised yet, for this many cards; where
/// `EMULATED_GPU_DEVICES` says how many there are, that counts.
///
/// # Errors
/// When there can't be that many.
pub(crate) fn emulated_devices(count: usize) -> Result<()> {
    type SetDevices = unsafe extern "C" fn(c_uint) -> c_int;
    let refused = |reason: String| GpuError::NoEmulator { reason };
    let wanted = c_uint::try_from(count).unwrap_or(c_uint::MAX);
    // SAFETY: it is loaded already and goes by this name.
    let library = unsafe { Library::new("libcuda.so") }.map_err(|error| refused(reason(&error)))?;
    // SAFETY: emulated_gpu.h: `CUresult emulatedGpuSetDevices(unsigned int count)`.
    let code = unsafe {
        let function = library.get::<SetDevices>("emulatedGpuSetDevices");
        function.map_err(|error| refused(reason(&error)))?(wanted)
    };
    match code {
        0 => Ok(()),
        _ => Err(refused(format!("it can't have {count} devices (CUDA error {code})"))),
    }
}

/// Loads one of NVIDIA's libraries, such as `cublas`, from wherever it is, and makes sure that
/// cudarc will find it.
///
/// # Errors
/// When it is nowhere, or has a version that cudarc does not ask for.
pub(crate) fn nvidia(library: &str) -> Result<()> {
    let error = |reason| GpuError::NoLibrary { library: library.into(), reason };
    let mut said = String::new();
    // SAFETY: CUDA's libraries may be loaded into any process, and a file of such a name is one: it is
    // in a folder of the system, or the user named it.
    let load = |path: &Path| unsafe { load(path) };
    let found = candidates(library).into_iter().find(|path| match load(path) {
        Ok(()) => true,
        Err(reason) => {
            said = reason;
            false
        }
    });
    let Some(found) = found else {
        return Err(error(format!("last tried: {said}{}", passed_over(library))));
    };
    // The names that cudarc tries, which glibc finds among what is loaded.
    if cudarc::get_lib_name_candidates(library).iter().any(|name| load(Path::new(name)).is_ok()) {
        return Ok(());
    }
    Err(error(format!(
        "{} is there, but not under a name that cudarc asks for: make a folder with a link \
         lib{library}.so to it, and name that folder in LD_LIBRARY_PATH",
        host::shown(&found)
    )))
}

/// Loads a library for as long as the process lives.
///
/// # Safety
/// The library's initialisers may run in any process.
unsafe fn load(path: &Path) -> Result<(), String> {
    // SAFETY: as the caller promises.
    let library = unsafe { Library::new(PathBuf::from(path)) }.map_err(|error| reason(&error))?;
    std::mem::forget(library);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_with_the_way_to_get_it() {
        let said = nvidia("nosuchlibrary").unwrap_err().to_string();
        for words in ["nosuchlibrary", "FOUR_LEVELS_NOSUCHLIBRARY", "cannot open"] {
            assert!(said.contains(words), "{said}");
        }
        // SAFETY: there is no such file.
        let said = unsafe { emulated(Path::new("/nowhere/libcublas.so")) };
        let said = said.unwrap_err().to_string();
        assert!(said.contains("/nowhere/libcublas.so"), "{said}");
    }
}
