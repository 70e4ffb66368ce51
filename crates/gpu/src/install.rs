//! Loading of shared libraries before cudarc opens them by name, because cudarc panics if one is missing.
#![allow(unsafe_code, reason = "loading a library runs its initialisers")]

use std::ffi::{c_int, c_uint};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::library::{candidates, reason, unloaded_file_hint};
use crate::{GpuError, Result};

/// Loads an emulated library. Its SONAME has no version (`libcuda.so`), so when cudarc opens that name, glibc returns
/// this library, even if a real one is installed.
///
/// # Errors
/// [`GpuError::NoEmulator`] with the error of the search or of the loader.
///
/// # Safety
/// The library's initialisers may run in any process, and its functions have the types that cudarc declares for the
/// library that it replaces.
pub(crate) unsafe fn load_emulated(path: Result<PathBuf, impl Display>) -> Result<()> {
    let path = path.map_err(|reason| GpuError::NoEmulator(reason.to_string()))?;
    // SAFETY: as the caller promises.
    unsafe { load(&path) }.map_err(GpuError::NoEmulator)
}

/// Sets the number of devices of the emulated driver, which has been loaded but not yet initialised. The
/// variable `EMULATED_GPU_DEVICES` has precedence.
///
/// # Errors
/// [`GpuError::NoEmulator`] if the driver rejects the number.
pub(crate) fn emulated_devices(count: usize) -> Result<()> {
    type SetDevices = unsafe extern "C" fn(c_uint) -> c_int;
    let refused = |error| GpuError::NoEmulator(reason(&error));
    let wanted = c_uint::try_from(count).unwrap_or(c_uint::MAX);
    // SAFETY: the library of this name has already been loaded.
    let library = unsafe { Library::new("libcuda.so") }.map_err(refused)?;
    // SAFETY: emulated_gpu.h: `CUresult emulatedGpuSetDevices(unsigned int count)`.
    match unsafe { library.get::<SetDevices>("emulatedGpuSetDevices").map_err(refused)?(wanted) } {
        0 => Ok(()),
        code => {
            Err(GpuError::NoEmulator(format!("it can't have {count} devices (CUDA error {code})")))
        }
    }
}

/// Finds and loads one of NVIDIA's libraries, such as `cublas`, and checks that cudarc will find it.
///
/// # Errors
/// [`GpuError::NoLibrary`] if it isn't found, or has a version that cudarc doesn't look for.
pub(crate) fn load_nvidia(library: &str) -> Result<()> {
    let error = |reason| GpuError::NoLibrary { library: library.into(), reason };
    let mut said = String::new();
    // SAFETY: CUDA's libraries may be loaded into any process. A file of such a name is one of them: it is
    // in a folder of the system, or the user named it.
    let load = |path: &Path| unsafe { load(path) };
    let mut candidates = candidates(library).into_iter();
    let Some(found) = candidates.find(|path| load(path).map_err(|why| said = why).is_ok()) else {
        return Err(error(format!("last tried: {said}{}", unloaded_file_hint(library))));
    };
    // Tries the names that cudarc will open: glibc resolves them to loaded libraries.
    if cudarc::get_lib_name_candidates(library).iter().any(|name| load(Path::new(name)).is_ok()) {
        return Ok(());
    }
    Err(error(format!(
        "{} exists, but not under a name that cudarc looks for: make a folder with a link \
        lib{library}.so to it, and add that folder to LD_LIBRARY_PATH",
        host::shown(&found)
    )))
}

/// Loads a library and keeps it until the process ends.
///
/// # Safety
/// The library's initialisers may run in any process.
unsafe fn load(path: &Path) -> Result<(), String> {
    // SAFETY: as the caller promises.
    unsafe { Library::new(path) }.map(std::mem::forget).map_err(|error| reason(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_missing_library_has_the_remedy() {
        let said = load_nvidia("nosuchlibrary").unwrap_err().to_string();
        for words in ["nosuchlibrary", "FOUR_LEVELS_NOSUCHLIBRARY", "cannot open"] {
            assert!(said.contains(words), "{said}");
        }
        // SAFETY: the file does not exist, so no code of a library is run.
        let said = unsafe { load_emulated(Ok::<_, String>("/nowhere/libcublas.so".into())) };
        let said = said.unwrap_err().to_string();
        assert!(said.contains("/nowhere/libcublas.so"), "{said}");
    }
}
